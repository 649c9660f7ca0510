"""Rank intervals, and the set of systems that may be the best.

See :mod:`adducir.statistics.ranking` for both; they are computed for this picture alone.
"""

import numpy as np

from adducir.statistics.ranking import Ranking, ranking
from adducir.tables.report.drawing import (
    dot,
    figure,
    label,
    line,
    room_for,
    shortened,
    shown,
    ticks,
)
from adducir.tables.report.frame import framed
from adducir.tables.report.view import Section, View

NAME = 34
PLOT, LINE, TOP = 360, 24, 8
SAMPLES = 2_000
MOST = 60
"""Ranks of more systems, or over more topics than :data:`MOST_TOPICS`, are not computed here."""
MOST_TOPICS = 5_000


def section(view: View) -> Section | None:
    """A figure for each measure; all but the first are folded."""
    drawn: list[str] = []
    for place in view.with_values:
        values = view.values(place)
        rows = [at for at in view.ranked(place) if at in values]
        topics = len(view.column(place).topics)
        if not (1 < len(rows) <= MOST and 1 < topics <= MOST_TOPICS):
            continue
        found = ranking(
            np.array([values[at] for at in rows]),
            lower_is_better=not view.column(place).higher_is_better,
            alpha=float(view.settings(view.column(place).group).get("alpha") or 0.05),
            samples=SAMPLES,
        )
        drawn.append(framed(_plot(view, place, rows, found), view.title(place), fold=bool(drawn)))
    if not drawn:
        return None
    lead = (
        "Thick: the bootstrap interval of a system's rank. Thin: the interval that holds for all "
        "systems at once. Filled: systems in the model confidence set, which may be the best. "
        f"{SAMPLES:,} samples of topics; computed for this picture, beside the planned tests."
    )
    return Section("ranks", "Which systems may be the best", lead, "".join(drawn))


def _plot(view: View, place: int, rows: list[int], found: Ranking) -> str:
    names = [view.names[at] for at in rows]
    left, bottom = room_for(names, NAME) + 14, TOP + LINE * len(rows)

    def x(rank: float) -> float:
        return left + 12 + (rank - 1) / max(1, len(rows) - 1) * (PLOT - 24)

    marks = []
    for tick in ticks(1, len(rows), 10):
        if tick == int(tick) and tick >= 1:
            marks.append(line(x(tick), TOP, x(tick), bottom, "grid"))
            marks.append(label(x(tick), bottom + 12, shown(tick), "tick", "middle"))
    marks.append(label(left + PLOT / 2, bottom + 28, "rank", "tick", "middle"))
    for number, name in enumerate(names):
        y = TOP + LINE * (number + 0.5)
        ends = found.low[number], found.high[number]
        sure = found.surely_low[number], found.surely_high[number]
        inside = bool(found.best[number])
        tip = f"{name}: rank {ends[0]} to {ends[1]}, surely {sure[0]} to {sure[1]}"
        marks.append(label(left - 10, y, shortened(name, NAME), "name", "end"))
        marks.append(line(x(sure[0]), y, x(sure[1]), y, "whisker"))
        marks.append(line(x(ends[0]), y, x(ends[1]), y, "thick"))
        role = "better" if inside else "none"
        marks.append(dot(x(float(found.rank[number])), y, 5.5, role, tip))
        text = "may be the best" if inside else f"p = {found.p_best[number]:.3g}"
        marks.append(label(left + PLOT + 12, y, text))
    told = f"Rank intervals of {len(rows)} systems on {view.title(place)}"
    return figure(f"ranks-{place}", left + PLOT + 120, bottom + 40, told, marks)
