"""Bring the scores of several systems into one array, or say why they do not fit."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.core.texts import repeated
from adducir.statistics.differences import FloatArray


class SystemScores(Protocol):
    """Per-topic scores of one system, as ``adducir.evaluation.evaluator`` makes them."""

    @property
    def system(self) -> str:
        """Name of the system."""

    @property
    def qids(self) -> Sequence[str]:
        """All T topics."""

    @property
    def measures(self) -> Sequence[Hashable]:
        """All M measures."""

    @property
    def values(self) -> NDArray[Any]:
        """Scores, shape (T, M)."""

    @property
    def missing(self) -> Sequence[str]:
        """Topics that the run lacks and that count 0."""


@dataclass(frozen=True, slots=True)
class Lineup:
    """The scores of S systems on the same T topics and M measures.

    Attributes:
        systems: S distinct names.
        qids: T topics.
        measures: M measures.
        values: Shape (M, S, T).
        missing: For each system that lacks topics, those.
        runs: For each system of several runs, their scores, shape (R, M, T).
    """

    systems: tuple[str, ...]
    qids: tuple[str, ...]
    measures: tuple[Hashable, ...]
    values: FloatArray
    missing: dict[str, tuple[str, ...]]
    runs: dict[str, FloatArray]


def line_up(scores: Sequence[SystemScores]) -> Lineup:
    """Align topics and measures of all systems to those of the first.

    Raises:
        UsageError: No system; a name twice; other topics or measures; a score that is
            not finite. The message names the systems.
    """
    if not scores:
        raise UsageError("there is no system to compare.")
    first = scores[0]
    systems = tuple(one.system for one in scores)
    twice = repeated(systems)
    if twice:
        raise UsageError(
            f"more than one system is called {', '.join(twice)}.",
            hint="Give each run its own tag or name.",
        )
    for one in scores[1:]:
        _same(first, one, "topics", first.qids, one.qids)
        _same(first, one, "measures", first.measures, one.measures)
    values = np.stack([_aligned(first, one) for one in scores])
    _refuse_unfinite(first, systems, values)
    missing = {one.system: tuple(one.missing) for one in scores if one.missing}
    return Lineup(
        systems,
        tuple(first.qids),
        tuple(first.measures),
        np.ascontiguousarray(values.transpose(2, 0, 1)),
        missing,
        {one.system: _runs(first, one) for one in scores if getattr(one, "runs", None) is not None},
    )


def _same(
    first: SystemScores,
    other: SystemScores,
    what: str,
    expected: Sequence[Hashable],
    found: Sequence[Hashable],
) -> None:
    """Refuse two systems whose topics or measures differ as sets."""
    expected_set, found_set = set(expected), set(found)
    lacking = [str(key) for key in expected if key not in found_set]
    beyond = [str(key) for key in found if key not in expected_set]
    if lacking or beyond:
        parts = [
            f"{name} has {len(keys)} {what} that the other lacks ({', '.join(keys[:3])}"
            f"{', ...' if len(keys) > 3 else ''})"
            for name, keys in ((first.system, lacking), (other.system, beyond))
            if keys
        ]
        raise UsageError(
            f"{first.system} and {other.system} have different {what}: {'; '.join(parts)}.",
            hint="Evaluate all runs with the same qrels and measures.",
        )


def _aligned(first: SystemScores, other: SystemScores) -> FloatArray:
    """The scores (T, M) of ``other`` in the order of ``first``'s topics and measures."""
    values = np.asarray(other.values, dtype=np.float64)
    if values.shape != (len(other.qids), len(other.measures)):
        raise UsageError(
            f"the scores of {other.system} have shape {values.shape}, "
            f"not {len(other.qids)} topics by {len(other.measures)} measures."
        )
    rows = {qid: row for row, qid in enumerate(other.qids)}
    columns = {measure: column for column, measure in enumerate(other.measures)}
    return values[np.ix_([rows[q] for q in first.qids], [columns[m] for m in first.measures])]


def _runs(first: SystemScores, other: SystemScores) -> FloatArray:
    """The scores (R, M, T) of the runs of ``other``, in the order of ``first``."""
    runs = np.asarray(getattr(other, "runs", None), dtype=np.float64)
    each = [_aligned(first, _OneRun(other, values)) for values in runs]
    return np.stack(each).transpose(0, 2, 1)


class _OneRun:
    """One run of a system, with the topics and measures of all of them."""

    def __init__(self, system: SystemScores, values: NDArray[Any]) -> None:
        self.system, self.qids, self.measures = system.system, system.qids, system.measures
        self.values, self.missing = values, system.missing


def _refuse_unfinite(
    first: SystemScores, systems: tuple[str, ...], values: NDArray[np.float64]
) -> None:
    """Refuse (S, T, M) values that hold NaN or infinity, naming where."""
    wrong = np.argwhere(~np.isfinite(values))
    if wrong.size:
        system, topic, measure = wrong[0]
        raise UsageError(
            f"{systems[system]} has no number for {first.measures[measure]} on topic "
            f"{first.qids[topic]}, but {values[system, topic, measure]}."
        )


def named(name: str, systems: Sequence[str], what: str) -> int:
    """Position of a system's name, or UsageError with the nearest names."""
    if name in systems:
        return list(systems).index(name)
    near = get_close_matches(name, systems, n=3, cutoff=0.4) or list(systems[:5])
    raise UsageError(
        f"the {what} {name!r} is not among the systems.", hint=f"Did you mean {' or '.join(near)}?"
    )
