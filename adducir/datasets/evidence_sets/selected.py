"""Files of selected sets: JSONL, gzipped where the name ends in ``.gz``.

One question a line::

    {"id": "5a71", "chosen": ["Kansas_Song", "University_of_Kansas"], "score": 2.31}

``chosen`` holds ids of the question's passages in the order in which they were taken; ``score``,
which may be left out, is what the system makes of the set.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from adducir.core.errors import InputError
from adducir.core.files import writing_text
from adducir.core.json_lines import json_values

_KEYS = frozenset(("id", "chosen", "score"))


class SelectedSet(NamedTuple):
    """The passages chosen for a question, in the order of choice, and the set's score."""

    id: str
    chosen: tuple[str, ...]
    score: float | None = None


def read_selected(path: Path) -> Iterator[SelectedSet]:
    """Yield the selected sets of a file in its order; blank lines are ignored.

    Raises:
        InputError: A line is no selected set, a passage is chosen twice, or a question comes twice;
            with file and line.
    """
    seen: dict[str, int] = {}
    for number, record in json_values(path):
        error = _error(record)
        if error is None and record["id"] in seen:
            error = f"question {record['id']!r} stands in line {seen[record['id']]} already"
        if error is not None:
            raise InputError(
                f"{error}.",
                path=path,
                line=number,
                hint='A line has the form {"id": "q1", "chosen": ["p3", "p7"], "score": 1.5}.',
            )
        seen[record["id"]] = number
        yield SelectedSet(record["id"], tuple(record["chosen"]), record.get("score"))


def write_selected(sets: Iterable[SelectedSet], path: Path) -> int:
    """Write selected sets, whole or not at all, scores in shortest round-trip form.

    Returns:
        How many there were.

    Raises:
        InputError: A question comes twice, or ``path`` is a folder.
        MachineError: The disk is full, or the place cannot be written.
    """
    seen: set[str] = set()
    with writing_text(path) as handle:
        for one in sets:
            if one.id in seen:
                raise InputError(f"the id {one.id!r} comes twice.", path=path)
            seen.add(one.id)
            record: dict[str, Any] = {"id": one.id, "chosen": one.chosen}
            if one.score is not None:
                record["score"] = one.score
            handle.write(orjson.dumps(record).decode() + "\n")
    return len(seen)


def _error(record: Any) -> str | None:
    """What is wrong with a line's value, or None."""
    if not isinstance(record, dict):
        return f"this is a JSON {type(record).__name__}, not an object"
    unknown = sorted(record.keys() - _KEYS)
    if unknown:
        return f"a selected set has no key {unknown[0]!r}"
    chosen = record.get("chosen")
    if not isinstance(record.get("id"), str) or not record["id"]:
        return "'id' must be text"
    if not isinstance(chosen, list) or not all(isinstance(one, str) for one in chosen):
        return "'chosen' must be a list of passages' ids"
    if len(set(chosen)) < len(chosen):
        return "a passage is chosen twice"
    score = record.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        return "'score' must be a number"
    return None
