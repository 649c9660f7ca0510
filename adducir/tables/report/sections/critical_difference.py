"""Critical-difference diagrams (Demšar, JMLR 2006): mean ranks, and bars over what does not differ.

Drawn on request, with the tests of all pairs of :mod:`~adducir.tables.report.pairwise`. Two systems
are under one bar if, and only if, they do not differ significantly: also where the tests join
systems round one that differs from them, which the bar then passes without a dot, or thinly.
"""

from collections.abc import Sequence
from typing import NamedTuple

from adducir.statistics.mean_ranks import groups, mean_ranks
from adducir.tables.report.drawing import (
    CHARACTER,
    dot,
    figure,
    label,
    line,
    path,
    room_for,
    shortened,
    shown,
)
from adducir.tables.report.frame import for_each_measure
from adducir.tables.report.pairwise import pairwise
from adducir.tables.report.rows import NAME, OPEN, Rows, rank_ticks
from adducir.tables.report.view import Section, View

PLOT, LINE, BAR, REACH = 420, 20, 9, 4
"""Pixels: width of the axis, height of a name and of a bar, a bar's overhang."""
MANY = 24
"""More systems stand in lines below each other."""


def section(view: View) -> Section | None:
    """A diagram for each measure; all but the first are folded."""
    if view.table.style.critical_difference == "none":
        return None
    drawn = for_each_measure(
        view, lambda place: _diagram(view, place), fold=len(view.table.rows) > OPEN
    )
    if not drawn:
        why = "No diagram: it takes two systems with values on two topics at least."
        return Section("critical-difference", "Critical differences", why, "")
    lead = (
        "Mean ranks over topics, 1 the best; equal values share a rank. Bars join the systems that "
        "do not differ significantly by "
    )
    lead += (
        "the table's tests of all pairs."
        if view.pairs
        else "tests of all pairs, made for this figure beside the planned tests."
    ) + " A bar that passes a system without a dot, or thinly, does not join it."
    return Section("critical-difference", "Critical differences", lead, drawn)


def _diagram(view: View, place: int) -> str:
    """The ``svg`` element; empty where nothing can be ranked."""
    tests = pairwise(view, place)
    if tests is None:
        return ""
    lower = not view.column(place).higher_is_better
    found = mean_ranks(tests.values, lower_is_better=lower)
    order = sorted(range(len(tests.rows)), key=lambda at: float(found[at]))
    ranks = [float(found[at]) for at in order]
    names = [view.names[tests.rows[at]] for at in order]
    diagram = Diagram(
        f"critical-difference-{place}",
        f"Critical-difference diagram of {len(order)} systems on {view.title(place)}",
        names,
        ranks,
        groups(~tests.differ[order][:, order]),
        f"{tests.how}, alpha = {tests.alpha:g}; {tests.values.shape[1]} topics",
    )
    return diagram.in_lines() if len(names) > MANY else diagram.round_an_axis()


class Diagram(NamedTuple):
    """What is drawn.

    Attributes:
        name: Id of the figure.
        title: What it shows.
        names: Of the systems, the best mean rank first.
        ranks: Their mean ranks.
        bars: The systems below each bar, in order.
        note: What stands at the foot.
    """

    name: str
    title: str
    names: Sequence[str]
    ranks: Sequence[float]
    bars: Sequence[Sequence[int]]
    note: str

    def round_an_axis(self) -> str:
        """Demšar's form: the better half of the names on the left, the others on the right."""
        count, axis = len(self.names), 44
        texts = [
            f"{shortened(name, NAME)} ({rank:.2f})"
            for name, rank in zip(self.names, self.ranks, strict=True)
        ]
        room, half = room_for(texts, NAME + 10) + 24, (count + 1) // 2

        def x(rank: float) -> float:
            return room + (rank - 1) / (count - 1) * PLOT

        lanes = lanes_of([(x(self.ranks[bar[0]]), x(self.ranks[bar[-1]])) for bar in self.bars])
        first = axis + 16 + BAR * (max(lanes, default=-1) + 1)
        marks = [label(room + PLOT / 2, axis - 30, "mean rank", "tick", "middle")]
        marks.append(line(x(1), axis, x(count), axis))
        for tick in rank_ticks(count):
            marks.append(line(x(tick), axis - 5, x(tick), axis))
            marks.append(label(x(tick), axis - 14, shown(tick), "tick", "middle"))
        for at, (text, rank) in enumerate(zip(texts, self.ranks, strict=True)):
            better = at < half
            y = first + LINE * ((at if better else count - 1 - at) + 0.5)
            side = room - 8 if better else room + PLOT + 8
            marks.append(path([(x(rank), axis), (x(rank), y), (side, y)], "whisker"))
            beside, anchor = (side - 6, "end") if better else (side + 6, "start")
            marks.append(label(beside, y, text, "name", anchor))
        for lane, bar in zip(lanes, self.bars, strict=True):
            y, places = axis + 12 + BAR * lane, [x(self.ranks[at]) for at in bar]
            marks.append(line(places[0] - REACH, y, places[-1] + REACH, y, "thick"))
            if len(bar) <= bar[-1] - bar[0]:
                marks += [dot(place, y, 4, "point") for place in places]
        foot = first + LINE * half + 20
        marks.append(label(8, foot, self.note))
        width = max(2 * room + PLOT, 16 + CHARACTER * len(self.note))
        return figure(self.name, round(width), round(foot + 14), self.title, marks)

    def in_lines(self) -> str:
        """A line for each system; bars run down beside the lines, broken at who is not joined."""
        count = len(self.names)
        lines = Rows(self.names, (1, count), width=300, high=18, inset=12)
        marks = [
            dot(lines.x(rank), lines.y(at), 4, "better", f"{name}: mean rank {rank:.2f}")
            for at, (name, rank) in enumerate(zip(self.names, self.ranks, strict=True))
        ]
        lanes = lanes_of([(lines.y(bar[0]), lines.y(bar[-1])) for bar in self.bars], 30)
        for lane, bar in zip(lanes, self.bars, strict=True):
            x = lines.right + 60 + BAR * lane
            if len(bar) <= bar[-1] - bar[0]:
                marks.append(line(x, lines.y(bar[0]), x, lines.y(bar[-1]), "whisker"))
            for start, end in runs(bar):
                marks.append(line(x, lines.y(start) - 7, x, lines.y(end) + 7, "thick"))
        room = 70 + BAR * (max(lanes, default=0) + 1)
        foot = lines.bottom + 44
        marks.append(label(8, foot, self.note))
        return lines.figure(
            self.name,
            self.title,
            marks,
            texts=[f"{rank:.2f}" for rank in self.ranks],
            room=max(room, 16 + CHARACTER * len(self.note) - lines.right),
            at=rank_ticks(count),
            axis="mean rank",
            foot=foot + 14,
        )


def lanes_of(ends: Sequence[tuple[float, float]], apart: float = 16) -> list[int]:
    """For each bar, from one pixel to another, the first lane in which it is so far from others."""
    taken: list[float] = []
    lanes = []
    for low, high in ends:
        lane = next((at for at, end in enumerate(taken) if low - end > apart), len(taken))
        taken[lane:] = [high, *taken[lane + 1 :]]
        lanes.append(lane)
    return lanes


def runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    starts = [at for at in numbers if at - 1 not in numbers]
    return list(zip(starts, (at for at in numbers if at + 1 not in numbers), strict=True))
