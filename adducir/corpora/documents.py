"""Documents and corpora: what an index is built from, and the texts that values of records make."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from adducir.core.errors import InputError
from adducir.core.texts import refuse_text

LONGEST_DOCNO = 1024
"""Bytes of a docno, at most. Lucene's dictionary takes two milliseconds for one of 10,000."""
ARGUMENT_FIELDS = ("conclusion", "premise")
"""What is searched in an argument: the fields of args.me that hold its text."""


class Document(NamedTuple):
    """One document: its docno (no white space in it) and its named texts."""

    docno: str
    fields: dict[str, str]


@runtime_checkable
class Corpus(Protocol):
    """A source of documents that can be read again and again in the same order.

    A malformed record, or no document at all, is an :class:`InputError`.
    """

    @property
    def source(self) -> str:
        """The source as the user named it."""

    @property
    def default_fields(self) -> tuple[str, ...]:
        """The fields to index where the user names none; reads the first documents."""

    def __iter__(self) -> Iterator[Document]: ...

    def identity(self) -> dict[str, Any]:
        """What the documents depend on, for fingerprints: digests, not names."""

    def size_hint(self) -> int | None:
        """The number of documents, or None where counting means reading them all."""

    def places(self, docno: str) -> list[tuple[Path, int]]:
        """Files and 1-based lines of the documents of this docno; empty where not known."""


def text_of(document: Document, fields: Sequence[str]) -> str:
    """The texts of these fields joined by newlines; what is empty or missing takes no line."""
    refuse_text(fields, "fields")
    texts = (document.fields.get(name, "") for name in fields)
    return "\n".join(text for text in texts if text)


def check_docno(docno: str, path: Path | None = None, line: int | None = None) -> None:
    """Refuse a docno that a TREC run cannot hold, or longer than :data:`LONGEST_DOCNO`."""
    if len(docno) > LONGEST_DOCNO / 4 and len(docno.encode(errors="replace")) > LONGEST_DOCNO:
        raise InputError(
            f"the docno {docno[:40]!r}... is longer than {LONGEST_DOCNO:,} bytes.",
            path=path,
            line=line,
            hint="Is it the right field? Name another with --docno-field, or shorten the docnos.",
        )
    if docno.split() != [docno] or "\0" in docno:
        what = f"{docno!r} holds white space or a NUL" if docno.strip() else "is empty"
        raise InputError(
            f"the docno {what}, which a TREC run cannot hold.",
            path=path,
            line=line,
            hint="Give every document a docno without white space.",
        )


def refuse_duplicates(corpus: Corpus) -> Iterator[Document]:
    """Iterate over a corpus; a repeated docno is an error (Lucene keeps both: anserini#258)."""
    hashes = set[int]()
    for document in corpus:
        docno, count = document.docno, len(hashes)
        hashes.add(hash(docno))
        # Two docnos may have the same hash.
        if len(hashes) == count and sum(other.docno == docno for other in corpus) > 1:
            what, hint = f"duplicate docno {docno!r}", "Keep one of the two documents."
            places = corpus.places(docno)
            if len(places) < 2:
                raise InputError(f"{what} in {corpus.source}.", hint=hint)
            (other, first), (path, line) = places[:2]
            what += f", first seen at {other}:{first}."
            raise InputError(what, path=path, line=line, hint=hint)
        yield document


def as_text(value: Any) -> str | None:
    """The text of a value, of a list by lines; None for what has no text to search."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        texts = [None if isinstance(item, list | tuple) else as_text(item) for item in value]
        if None not in texts:
            return "\n".join(text for text in texts if text is not None)
    return None


def fields_of(record: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a record without its docno; of an argument conclusion, premise, stance, topic.

    Args.me's own form (Ajjour et al., 2019) has a list of premises and a context; in the flat one,
    the stance may be a truth value (true: PRO).
    """
    if isinstance(record.get("premises"), list) and "conclusion" in record:
        items = [one if isinstance(one, dict) else {"text": one} for one in record["premises"]]
        texts = [text for item in items if (text := as_text(item.get("text"))) is not None]
        stance = next((str(item["stance"]) for item in items if item.get("stance")), "")
        context = record.get("context")
        about = context if isinstance(context, dict) else {}
        topic = about.get("topic") or about.get("discussionTitle") or about.get("sourceTitle")
        return {
            "conclusion": as_text(record["conclusion"]) or "",
            "premise": "\n".join(texts),
            "stance": stance,
            "topic": as_text(record.get("topic") if topic is None else topic) or "",
        }
    fields = {name: text for name, value in record.items() if (text := as_text(value)) is not None}
    if isinstance(record.get("stance"), bool) and fields.keys() >= set(ARGUMENT_FIELDS):
        fields["stance"] = "PRO" if record["stance"] else "CON"
    return fields


def default_fields_of(names: Collection[str]) -> tuple[str, ...]:
    """The fields to search among these, where the user names none."""
    if set(ARGUMENT_FIELDS) <= set(names):
        return ARGUMENT_FIELDS
    if "contents" in names:
        return ("contents",)
    for main in ("text", "body"):
        if main in names:
            return ("title", main) if "title" in names else (main,)
    return tuple(names)
