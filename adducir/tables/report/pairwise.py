"""Tests of all pairs of systems on a measure, for the figures that show them.

Where the table tested all pairs, these are its tests. Elsewhere, and where it tested those of each
section alone, paired t-tests with Holm's correction over all pairs of the measure are made for the
figures alone, which say so; where a system has several runs, they are over topics and runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adducir.statistics.corrections import Holm
from adducir.statistics.settings import CORRECTIONS, TESTS
from adducir.statistics.tests import StudentT
from adducir.statistics.two_level import two_level
from adducir.tables.report.view import Floats, View


@dataclass(frozen=True)
class Pairwise:
    """All pairs of S systems.

    Attributes:
        rows: (S) the rows of the systems, the best first.
        values: (S, T) values per topic.
        p: (S, S) corrected p-values, symmetric.
        differ: (S, S) whether the difference is significant.
        alpha: Significance level.
        how: Test and correction.
    """

    rows: list[int]
    values: Floats
    p: Floats
    differ: NDArray[np.bool_]
    alpha: float
    how: str

    def best(self, most: int) -> "Pairwise":
        """The best systems of more, tested among all."""
        return Pairwise(
            self.rows[:most],
            self.values[:most],
            self.p[:most, :most],
            self.differ[:most, :most],
            self.alpha,
            self.how,
        )


def pairwise(view: View, place: int) -> Pairwise | None:
    """The tests of a column; None where there are no two systems with values on two topics."""
    values = view.values(place)
    rows = view.scored(place)
    if len(rows) < 2 or len(view.topics(place)) < 2:
        return None
    alpha, comparison = view.alpha, view.table.comparison
    scores = np.array([values[at] for at in rows])
    planned = view.pairs
    runs = view.runs(place)
    each = [runs[at] for at in rows] if runs else []
    p = _planned(view, place, rows) if planned else _exploratory(scores, each)
    test, correction = "t", "holm"
    if planned and comparison is not None:
        test, correction = comparison.testing.test, comparison.testing.correction
    corrected = CORRECTIONS.kind(correction).title
    title = "two-level t-test" if runs else TESTS.kind(test).title
    how = f"{title[0].upper()}{title[1:]}, {corrected or 'not corrected'}"
    mean = scores.mean(axis=1)
    differ = (p <= alpha) & (mean[:, None] != mean[None, :])
    return Pairwise(rows, scores, p, differ, alpha, how)


def _planned(view: View, place: int, rows: list[int]) -> Floats:
    """The corrected p-values of the table's own tests."""
    p = np.ones((len(rows), len(rows)))
    numbers = {view.table.rows[at].system: number for number, at in enumerate(rows)}
    for i, at in enumerate(rows):
        for entry in view.table.rows[at].cells[place].tests:
            if entry.p_corrected is not None and entry.reference in numbers:
                p[i, numbers[entry.reference]] = entry.p_corrected
    return p


def _exploratory(values: Floats, runs: Sequence[Floats]) -> Floats:
    """Paired t-tests of all pairs, over topics and perhaps runs, corrected by Holm."""
    upper = np.triu_indices(len(values), 1)
    if runs:
        raw = np.array(
            [two_level(runs[int(i)], runs[int(j)]).p for i, j in zip(*upper, strict=True)]
        )
    else:
        raw = StudentT().pairs(values, *upper)[1]
    p = np.ones((len(values), len(values)))
    p[upper] = Holm().adjusted(raw)
    return np.minimum(p, p.T)
