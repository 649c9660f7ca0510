"""The matrix of all pairs: differences below the diagonal, topics won, tied and lost above.

The tests are those of :mod:`~adducir.tables.report.pairwise`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adducir.statistics.differences import tolerance
from adducir.tables.report.drawing import (
    CHARACTER,
    box,
    figure,
    label,
    printed_p,
    room_for,
    shortened,
)
from adducir.tables.report.frame import for_each_measure
from adducir.tables.report.pairwise import Pairwise, pairwise
from adducir.tables.report.view import Floats, Section, View

MOST = 40
"""Systems that are shown: the best of more."""
LEGIBLE = 12
"""A matrix of so many systems has texts in its cells."""
NAME = 26
WIDEST = 700
"""Pixels of all columns, where names would make them wider than their numbers do."""


def section(view: View) -> Section | None:
    """A matrix for each measure with values; the first is open."""
    drawn = for_each_measure(view, lambda place: _matrix(view, place))
    if not drawn:
        return None
    how = (
        "The p-values are those of the table's tests of all pairs."
        if view.pairs
        else "These tests (paired t, Holm over all pairs of the measure) are made for this picture "
        "only: the tests that were planned are those of the table."
    )
    lead = (
        "Below the diagonal: mean difference of the row's system less the column's. "
        + "Above: topics that the row's system won, tied and lost. "
        * (len(view.table.rows) <= LEGIBLE)
        + "Strong colours: significant, corrected. "
    )
    return Section("pairs", "All pairs of systems", lead + how, drawn)


class _Frame(NamedTuple):
    """Where the cells stand, and their size, in pixels."""

    left: float
    top: float
    wide: float
    high: float


def _wins(values: Floats, *, higher: bool) -> NDArray[np.int64]:
    """(S, S) topics on which the row's system has the better of (S, T) values."""
    signed = values if higher else -values
    noise = tolerance(values, values).max()
    return np.array([(one - signed > noise).sum(axis=1) for one in signed])


def _matrix(view: View, place: int) -> str:
    every = pairwise(view, place)
    if every is None:
        return ""
    tests = every.best(MOST)
    count = len(tests.rows)
    legible = count <= LEGIBLE
    names = [view.names[at] for at in tests.rows]
    wins = _wins(tests.values, higher=view.column(place).higher_is_better)
    named = max(92, min(room_for(names, NAME), WIDEST / count))
    wide, high = (named, 30) if legible else (20, 20)
    left = room_for(names, NAME) + 16
    top = min(left, 150) if not legible else 34
    marks = []
    for i, name in enumerate(names):
        y = top + high * (i + 0.5)
        marks.append(label(left - 8, y, shortened(name, NAME), "name", "end"))
        x = left + wide * (i + 0.5)
        if legible:
            marks.append(
                label(x, top - 14, shortened(name, int(wide / CHARACTER) + 1), "tick", "middle")
            )
        else:
            marks.append(label(x, top - 8, shortened(name, 20), "tick", "start", -60))
        marks += [
            _cell(view, place, tests, (i, j), wins, _Frame(left, top, wide, high))
            for j in range(count if legible else i + 1)
        ]
    width = left + wide * count + (60 if not legible else 12)
    caption = f"Matrix of all pairs of {count} systems on {view.title(place)}"
    return figure(f"pairs-{place}", width, top + high * count + 8, caption, marks)


def _cell(
    view: View,
    place: int,
    tests: Pairwise,
    at: tuple[int, int],
    wins: NDArray[np.int64],
    frame: _Frame,
) -> str:
    (i, j), (left, top, wide, high) = at, frame
    x, y = left + wide * j, top + high * i
    if i == j:
        return box(x + 1, y + 1, wide - 2, high - 2, "blank")
    won, lost = int(wins[i, j]), int(wins[j, i])
    tied = tests.values.shape[1] - won - lost
    difference = float(tests.values[i].mean() - tests.values[j].mean())
    sure = bool(tests.differ[i, j])
    good = (difference > 0) == view.column(place).higher_is_better
    role = ("up" if good else "down") + ("" if sure else "-pale")
    role = role if difference else "blank"
    title = (
        f"{view.names[tests.rows[i]]} less {view.names[tests.rows[j]]}: {difference:+.4g}; "
        f"{won} wins, {tied} ties, {lost} losses; corrected {printed_p(tests.p[i, j])}"
    )
    drawn = box(x + 1, y + 1, wide - 2, high - 2, role, title)
    if wide < 40:
        return drawn
    text = f"{won}/{tied}/{lost}" if j > i else view.number(difference, signed=True)
    return drawn + label(x + wide / 2, y + high / 2, text, "on" if sure else "name", "middle")
