"""How far unjudged documents could move a score: rank-biased precision and its residual.

Moffat and Zobel (TOIS 2008); see :mod:`adducir.evaluation.unjudged`.
"""

from adducir.tables.report.drawing import (
    box,
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
PLOT, LINE, TOP = 420, 24, 8
OPEN = 40


def section(view: View) -> Section | None:
    """A figure for each topic set."""
    drawn = []
    for number, (name, topics) in enumerate(view.material.topics.items()):
        ranges = {
            at: topics.bounds[row.system]
            for at, row in enumerate(view.table.rows)
            if row.system in topics.bounds
        }
        if ranges:
            caption = f"{name}: RBP (p = 0.8)" if name else "RBP (p = 0.8)"
            fold = len(ranges) > OPEN
            drawn.append(framed(_plot(view, number, ranges), caption, fold=fold))
    if not drawn:
        return None
    lead = (
        "From rank-biased precision with every unjudged document not relevant (the dot) to that "
        "with all of them relevant, those beyond the run included: the residual. Systems whose "
        "ranges do not meet keep their order whatever the judgements would be."
    )
    return Section("unjudged", "Unjudged documents", lead, "".join(drawn))


def _plot(view: View, number: int, ranges: dict[int, tuple[float, float]]) -> str:
    rows = sorted(ranges, key=lambda at: -ranges[at][0])
    names = [view.names[at] for at in rows]
    left, bottom = room_for(names, NAME) + 14, TOP + LINE * len(rows)

    def x(value: float) -> float:
        return left + value * PLOT

    marks = []
    for tick in ticks(0, 1):
        marks.append(line(x(tick), TOP, x(tick), bottom, "grid"))
        marks.append(label(x(tick), bottom + 12, shown(tick), "tick", "middle"))
    for place, (at, name) in enumerate(zip(rows, names, strict=True)):
        y, (low, high) = TOP + LINE * (place + 0.5), ranges[at]
        tip = f"{name}: {low:.3f} to {high:.3f}"
        marks.append(label(left - 10, y, shortened(name, NAME), "name", "end"))
        marks.append(box(x(low), y - 5, x(high) - x(low), 10, "up-pale", tip))
        marks.append(dot(x(low), y, 4.5, "better", tip))
        text = f"{view.number(low)} to {view.number(high)}"
        marks.append(label(left + PLOT + 12, y, text))
    told = f"Rank-biased precision of {len(rows)} systems, and its residual"
    return figure(f"unjudged-{number}", left + PLOT + 120, bottom + 26, told, marks)
