"""The matrix of all pairs: differences below the diagonal, topics won, tied and lost above.

Where the table tested all pairs, these are its tests. Elsewhere paired t-tests with Holm's
correction over all pairs of the measure are made for this picture alone, which says so.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adducir.statistics.all_pairs import all_pairs
from adducir.statistics.corrections import correct
from adducir.statistics.differences import tolerance
from adducir.tables.report.drawing import CHARACTER, box, figure, label, room_for, shortened
from adducir.tables.report.frame import framed
from adducir.tables.report.view import Floats, Section, View

MOST = 40
"""Systems that are shown: the best of more."""
LEGIBLE = 12
"""A matrix of so many systems has texts in its cells."""
NAME = 26
WIDEST = 700
"""Pixels of all columns, where names would make them wider than their numbers do."""


class Pairs(NamedTuple):
    """All pairs of S systems: differences (row less column), p corrected, topics won by the row."""

    difference: Floats
    p: Floats
    wins: NDArray[np.int64]
    alpha: float
    topics: int


def section(view: View) -> Section | None:
    """A matrix for each measure with values; the first is open."""
    drawn: list[str] = []
    for place in view.with_values:
        values = view.values(place)
        shown = [at for at in view.ranked(place) if at in values][:MOST]
        if len(shown) < 2 or len(next(iter(values.values()))) < 2:
            continue
        pairs = _pairs(view, place, shown, np.array([values[at] for at in shown]))
        drawn.append(
            framed(_matrix(view, place, shown, pairs), view.title(place), fold=bool(drawn))
        )
    if not drawn:
        return None
    how = (
        "The p-values are those of the table's tests of all pairs."
        if view.table.pairs
        else "These tests (paired t, Holm over all pairs of the measure) are made for this picture "
        "only: the tests that were planned are those of the table."
    )
    lead = (
        "Below the diagonal: mean difference of the row's system less the column's. "
        + "Above: topics that the row's system won, tied and lost. "
        * (len(view.table.rows) <= LEGIBLE)
        + "Strong colours: significant, corrected. "
    )
    return Section("pairs", "All pairs of systems", lead + how, "".join(drawn))


def _pairs(view: View, place: int, shown: list[int], values: Floats) -> Pairs:
    sign = 1.0 if view.column(place).higher_is_better else -1.0
    mean = values.mean(axis=1)
    noise = tolerance(values, values).max()
    wins = np.array([(sign * (one - values) > noise).sum(axis=1) for one in values])
    alpha = float(view.settings(view.column(place).group).get("alpha") or 0.05)
    p = _tested(view, place, shown) if view.table.pairs else _exploratory(values)
    return Pairs(mean[:, None] - mean[None, :], p, wins, alpha, values.shape[1])


def _tested(view: View, place: int, shown: list[int]) -> Floats:
    """The corrected p-values of the table's own tests."""
    p = np.ones((len(shown), len(shown)))
    for i, first in enumerate(shown):
        for j, second in enumerate(shown):
            entry = view.table.rows[first].cells[place].against(view.table.rows[second].system)
            if entry is not None and entry.p_corrected is not None:
                p[i, j] = entry.p_corrected
    return p


def _exploratory(values: Floats) -> Floats:
    """Paired t-tests of all pairs, corrected by Holm."""
    raw = all_pairs(values).p
    upper = np.triu_indices(len(values), 1)
    p = np.ones_like(raw)
    p[upper] = correct(raw[upper], "holm")
    return np.minimum(p, p.T)


def _matrix(view: View, place: int, shown: list[int], pairs: Pairs) -> str:
    count = len(shown)
    legible = count <= LEGIBLE
    names = [view.names[at] for at in shown]
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
            _cell(view, place, pairs, (i, j), names, (left, top, wide, high))
            for j in range(count if legible else i + 1)
        ]
    width = left + wide * count + (60 if not legible else 12)
    told = f"Matrix of all pairs of {count} systems on {view.title(place)}"
    return figure(f"pairs-{place}", width, top + high * count + 8, told, marks)


def _cell(
    view: View,
    place: int,
    pairs: Pairs,
    at: tuple[int, int],
    names: list[str],
    frame: tuple[float, float, float, float],
) -> str:
    (i, j), (left, top, wide, high) = at, frame
    x, y = left + wide * j, top + high * i
    if i == j:
        return box(x + 1, y + 1, wide - 2, high - 2, "blank")
    won, lost = int(pairs.wins[i, j]), int(pairs.wins[j, i])
    tied = pairs.topics - won - lost
    difference = float(pairs.difference[i, j])
    sure = pairs.p[i, j] <= pairs.alpha and difference != 0
    good = (difference > 0) == view.column(place).higher_is_better
    role = ("up" if good else "down") + ("" if sure else "-pale")
    role = role if difference else "blank"
    title = (
        f"{names[i]} less {names[j]}: {difference:+.4g}; {won} wins, {tied} ties, {lost} losses; "
        f"corrected p = {pairs.p[i, j]:.3g}"
    )
    drawn = box(x + 1, y + 1, wide - 2, high - 2, role, title)
    if wide < 40:
        return drawn
    text = f"{won}/{tied}/{lost}" if j > i else view.number(difference, signed=True)
    return drawn + label(x + wide / 2, y + high / 2, text, "on" if sure else "name", "middle")
