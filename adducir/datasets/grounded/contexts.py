"""Files of contexts for grounded generation: JSONL, gzipped where the name ends in ``.gz``.

One context a line::

    {"id": "7", "input": "Who was Vivaldi?", "target": "A composer ...", "gold": ["d4"],
     "group": "music"}

``target`` is missing where it is not known (KILT's test set), ``gold`` where no passage is known,
``group`` where contexts are not grouped; other keys may not stand there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from adducir.core.errors import InputError, UsageError
from adducir.core.files import writing_text
from adducir.core.json_lines import json_values

_REQUIRED = ("id", "input")
_TEXTS = ("id", "input", "target")
_KEYS = ("id", "input", "target", "gold", "group")


@dataclass(frozen=True, slots=True)
class GroundedContext:
    """A context x, the target text y, and what is known about the passage behind it.

    Attributes:
        id: Names the context; no white space.
        input: x: the turns of a conversation, a question.
        target: y; ``""`` where it is not known.
        gold: The docnos of the passages that y draws on; none where they are not known.
        group: Contexts of one group are not independent: tests and splits keep them together.
    """

    id: str
    input: str
    target: str = ""
    gold: tuple[str, ...] = ()
    group: str | None = None

    def __post_init__(self) -> None:
        for name in (self.id, *self.gold):
            if name.split() != [name] or "\0" in name:
                raise UsageError(f"an id must be text without white space, not {name!r}.")
        if len(set(self.gold)) < len(self.gold):
            raise UsageError(f"the context {self.id!r} names a gold passage twice.")


def read_contexts(path: Path) -> Iterator[GroundedContext]:
    """Yield the contexts of a file in its order; blank lines are ignored.

    Raises:
        InputError: A line is no context, or an id comes twice; with file and line.
    """
    seen: dict[str, int] = {}
    for number, record in json_values(path):
        try:
            context = _context_of(record)
        except UsageError as error:
            raise InputError(error.what, path=path, line=number) from None
        if context.id in seen:
            raise InputError(
                f"the id {context.id!r} stands in line {seen[context.id]} already.",
                path=path,
                line=number,
                hint="Every context needs an id of its own.",
            )
        seen[context.id] = number
        yield context


def write_contexts(contexts: Iterable[GroundedContext], path: Path) -> int:
    """Write contexts as JSONL, whole or not at all.

    Returns:
        How many there were.

    Raises:
        InputError: An id comes twice, a text cannot be UTF-8, or ``path`` is a folder.
        MachineError: The disk is full, or the place cannot be written.
    """
    seen: set[str] = set()
    with writing_text(path) as handle:
        for context in contexts:
            if context.id in seen:
                raise InputError(f"the id {context.id!r} comes twice.", path=path)
            seen.add(context.id)
            try:
                handle.write(orjson.dumps(_record_of(context)).decode() + "\n")
            except orjson.JSONEncodeError as error:  # half of a surrogate pair
                what = f"the context {context.id!r} cannot be written: {error}."
                raise InputError(what, path=path) from error
    return len(seen)


def _record_of(context: GroundedContext) -> dict[str, Any]:
    record = {name: getattr(context, name) for name in _KEYS}
    return {name: value for name, value in record.items() if value or name in _REQUIRED}


def _context_of(record: Any) -> GroundedContext:
    """The context of a JSON value.

    Raises:
        UsageError: It is none.
    """
    if not isinstance(record, dict):
        raise UsageError(f"a context must be a JSON object, not a {type(record).__name__}.")
    lacking = [key for key in _REQUIRED if key not in record]
    if lacking:
        raise UsageError(f"this context has no {' and no '.join(map(repr, lacking))}.")
    unknown = sorted(record.keys() - set(_KEYS))
    if unknown:
        raise UsageError(f"a context has no key {unknown[0]!r}.")
    if any(not isinstance(record.get(name, ""), str) for name in _TEXTS):
        raise UsageError("'id', 'input' and 'target' must be text.")
    gold, group = record.get("gold", []), record.get("group")
    if not isinstance(gold, list) or any(not isinstance(one, str) for one in gold):
        raise UsageError(f"'gold' must be a list of docnos, not {gold!r}.")
    if group is not None and not isinstance(group, str):
        raise UsageError(f"'group' must be text, not {group!r}.")
    return GroundedContext(
        record["id"], record["input"], record.get("target", ""), tuple(gold), group
    )
