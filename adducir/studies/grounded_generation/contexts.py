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

from adducir.core.errors import UsageError
from adducir.core.json_lines import json_values
from adducir.corpora.records import are_texts, check_keys, read_records, write_records

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
    yield from read_records(path, json_values(path), _context_of)


def write_contexts(contexts: Iterable[GroundedContext], path: Path) -> int:
    """Write contexts; see :func:`.write_records`."""
    return write_records(contexts, path, _record_of)


def _record_of(context: GroundedContext) -> dict[str, Any]:
    record = {name: getattr(context, name) for name in _KEYS}
    return {name: value for name, value in record.items() if value or name in _REQUIRED}


def _context_of(record: Any) -> GroundedContext:
    """The context of a JSON value.

    Raises:
        UsageError: It is none.
    """
    check_keys(record, "context", _REQUIRED, _KEYS)
    if any(not isinstance(record.get(name, ""), str) for name in _TEXTS):
        raise UsageError("'id', 'input' and 'target' must be text.")
    gold, group = record.get("gold", []), record.get("group")
    if not are_texts(gold):
        raise UsageError(f"'gold' must be a list of docnos, not {gold!r}.")
    if group is not None and not isinstance(group, str):
        raise UsageError(f"'group' must be text, not {group!r}.")
    return GroundedContext(
        record["id"], record["input"], record.get("target", ""), tuple(gold), group
    )
