"""Files of selected sets: JSONL, gzipped where the name ends in ``.gz``.

One question a line::

    {"id": "5a71", "chosen": ["Kansas_Song", "University_of_Kansas"], "score": 2.31}

``chosen`` holds ids of the question's passages in the order in which they were taken; ``score``,
which may be left out, is what the system makes of the set.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import UsageError
from adducir.core.json_lines import json_values
from adducir.corpora.records import are_texts, check_keys, read_records, write_records


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
    yield from read_records(
        path,
        json_values(path),
        _selected_of,
        hint='A line has the form {"id": "q1", "chosen": ["p3", "p7"], "score": 1.5}.',
    )


def write_selected(sets: Iterable[SelectedSet], path: Path) -> int:
    """Write selected sets, scores in shortest round-trip form; see :func:`.write_records`."""
    return write_records(
        sets, path, lambda one: {k: v for k, v in one._asdict().items() if v is not None}
    )


def _selected_of(record: Any) -> SelectedSet:
    """The selected set of a JSON value.

    Raises:
        UsageError: It is none.
    """
    check_keys(record, "selected set", ("id", "chosen"), SelectedSet._fields)
    name, chosen, score = record["id"], record["chosen"], record.get("score")
    if not isinstance(name, str) or not name:
        raise UsageError("'id' must be text.")
    if not are_texts(chosen):
        raise UsageError("'chosen' must be a list of passages' ids.")
    if len(set(chosen)) < len(chosen):
        raise UsageError("a passage is chosen twice.")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise UsageError("'score' must be a number.")
    return SelectedSet(name, tuple(chosen), score)
