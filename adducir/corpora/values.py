"""From the values of a record to the named texts of a document."""

from collections.abc import Collection, Mapping
from typing import Any

ARGUMENT_FIELDS = ("conclusion", "premise")
"""What is searched in an argument: the fields of args.me that hold its text."""


def as_text(value: Any) -> str | None:
    """The text of one value, or None where it has no text to search.

    Strings stay as they are; numbers and truth values are written out; lists of these are
    joined by newlines. Null, objects, bytes and lists that hold them give None.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        texts = [as_text(item) for item in value if not isinstance(item, list | tuple)]
        if len(texts) == len(value) and None not in texts:
            return "\n".join(text for text in texts if text is not None)
    return None


def fields_of(record: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a record without its docno; see :func:`as_text`.

    An argument comes in two shapes, which give the same four fields (conclusion, premise,
    stance as PRO or CON, topic): args.me's own, with a list of premises and a context, and the
    flat one, where the stance may be a truth value (true: PRO).
    """
    premises = record.get("premises")
    if isinstance(premises, list) and "conclusion" in record:
        return _native_argument(record, premises)
    fields = {name: text for name, value in record.items() if (text := as_text(value)) is not None}
    stance = record.get("stance")
    if isinstance(stance, bool) and fields.keys() >= set(ARGUMENT_FIELDS):
        fields["stance"] = "PRO" if stance else "CON"
    return fields


def _native_argument(record: Mapping[str, Any], premises: list[Any]) -> dict[str, str]:
    """An argument as args.me publishes it (Ajjour et al., 2019: args.me corpus)."""
    items = [item for item in premises if isinstance(item, dict)]
    stances = [str(item["stance"]) for item in items if item.get("stance")]
    texts = [
        text
        for item in premises
        if (text := as_text(item.get("text") if isinstance(item, dict) else item)) is not None
    ]
    context = record.get("context")
    about = context if isinstance(context, dict) else {}
    topic = about.get("topic") or about.get("discussionTitle") or about.get("sourceTitle")
    return argument_fields(
        as_text(record["conclusion"]) or "",
        texts,
        stances[0] if stances else "",
        as_text(topic if topic is not None else record.get("topic")) or "",
    )


def argument_fields(
    conclusion: str, premises: list[str], stance: str, topic: str
) -> dict[str, str]:
    """The four fields of an argument; premises are joined by newlines."""
    return {
        "conclusion": conclusion,
        "premise": "\n".join(premises),
        "stance": stance,
        "topic": topic,
    }


def default_fields_of(names: Collection[str]) -> tuple[str, ...]:
    """The fields to search among these, where the user names none.

    An argument's conclusion and premise; else ``contents`` (Anserini's name for the whole
    text); else ``text`` or ``body`` with the title; else all.
    """
    if set(ARGUMENT_FIELDS) <= set(names):
        return ARGUMENT_FIELDS
    if "contents" in names:
        return ("contents",)
    for main in ("text", "body"):
        if main in names:
            return ("title", main) if "title" in names else (main,)
    return tuple(names)
