"""Cost against effectiveness, with the systems that no other one beats on both."""

from collections.abc import Sequence
from html import escape
from math import floor, log10

from adducir.tables.material import Cost
from adducir.tables.report.drawing import (
    dot,
    figure,
    label,
    line,
    path,
    room_for,
    shortened,
    shown,
    ticks,
)
from adducir.tables.report.frame import framed
from adducir.tables.report.view import Section, View

WIDE, HIGH, LEFT, TOP = 520, 280, 56, 14


def section(view: View) -> Section | None:
    """A figure of time and the first measure, and a table of all costs."""
    costs = {
        at: view.material.costs[row.system]
        for at, row in enumerate(view.table.rows)
        if row.system in view.material.costs
    }
    timed = [at for at, cost in costs.items() if cost.milliseconds]
    if len(timed) < 2 or not view.rated:
        return None
    place = view.rated[0]
    lead = (
        "Wall-clock time per topic as the metadata of the runs record it (a fused or reranked run: "
        "its own step), on the machine that made them. The line joins the systems that no other "
        "one beats in both time and effectiveness (the Pareto front)."
    )
    drawn = framed(
        _plot(view, place, {at: costs[at] for at in timed}), f"{view.title(place)} and time"
    )
    return Section("costs", "Cost and effectiveness", lead, drawn + _table(view, costs))


def pareto(points: dict[int, tuple[float, float]]) -> list[int]:
    """Those that none beats, of points of cost (less is better) and gain (more is), by cost."""
    front: list[int] = []
    best = float("-inf")
    for at, (_, gain) in sorted(points.items(), key=lambda one: (one[1][0], -one[1][1])):
        if gain > best:
            front.append(at)
            best = gain
    return front


def _plot(view: View, place: int, costs: dict[int, Cost]) -> str:
    sign = 1.0 if view.column(place).higher_is_better else -1.0
    rows = view.table.rows
    known = {
        at: (cost.milliseconds or 0.0, rows[at].cells[place].mean or 0.0)
        for at, cost in costs.items()
    }
    logs = {at: log10(time) for at, (time, _) in known.items()}
    low, high = min(logs.values()), max(logs.values())
    low, high = low - 0.15, max(high, low + 0.5) + 0.35
    gains = [gain for _, gain in known.values()]
    margin = (max(gains) - min(gains) or 0.1) * 0.15
    least, most = min(gains) - margin, max(gains) + margin

    def x(at: float) -> float:
        return LEFT + (at - low) / (high - low) * WIDE

    def y(gain: float) -> float:
        return TOP + HIGH - (gain - least) / (most - least) * HIGH

    marks = [line(LEFT, TOP + HIGH, LEFT + WIDE, TOP + HIGH, "axis")]
    for tick in ticks(least, most):
        marks.append(line(LEFT, y(tick), LEFT + WIDE, y(tick), "grid"))
        marks.append(label(LEFT - 6, y(tick), shown(tick), "tick", "end"))
    for power in range(int(low) - 2, int(high) + 3):
        for step in (1, 2, 5):
            at = power + log10(step)
            if low <= at <= high:
                marks.append(line(x(at), TOP, x(at), TOP + HIGH, "grid"))
                text = shown(float(f"{step * 10.0**power:.6g}"))
                marks.append(label(x(at), TOP + HIGH + 12, text, "tick", "middle"))
    front = pareto({at: (time, sign * gain) for at, (time, gain) in known.items()})
    marks.append(path([(x(logs[at]), y(known[at][1])) for at in front], "front"))
    for at, (time, gain) in known.items():
        tip = f"{view.names[at]}: {time:.3g} ms per topic, {view.number(gain)}"
        role = "other" if at in front else "point"
        marks.append(dot(x(logs[at]), y(gain), 5.5, role, tip))
    places = {at: (x(logs[at]), y(known[at][1])) for at in [*reversed(front), *known]}
    marks += names_apart({at: shortened(view.names[at], 28) for at in places}, places)
    marks.append(label(LEFT + WIDE / 2, TOP + HIGH + 30, "ms per topic", "tick", "middle"))
    caption = f"Time per topic and {view.title(place)} of {len(known)} systems"
    return figure("costs-plot", LEFT + WIDE + 110, TOP + HIGH + 42, caption, marks)


def names_apart(names: dict[int, str], places: dict[int, tuple[float, float]]) -> list[str]:
    """Names to the lower right of their points, where the front, which rises, does not pass.

    One that would stand on a point or an earlier name is left out: its point shows it, and the
    table below.
    """
    # Left, right and middle of what has its place.
    taken = [(left - 6, left + 6, top) for left, top in places.values()]
    marks = []
    for at, (left, top) in places.items():
        x, y, wide = left + 9, top + 10, room_for([names[at]], 28)
        if all(abs(y - below) > 11 or x > end or x + wide < start for start, end, below in taken):
            taken.append((x, x + wide, y))
            marks.append(label(x, y, names[at]))
    return marks


def _table(view: View, costs: dict[int, Cost]) -> str:
    """The costs that are known of any system, each column with the same number of decimals."""
    columns = {
        "ms per topic": [cost.milliseconds for cost in costs.values()],
        "index, MB": [cost.index_bytes and cost.index_bytes / 1e6 for cost in costs.values()],
        "training, s": [cost.training_seconds for cost in costs.values()],
    }
    texts = {name: aligned(many) for name, many in columns.items() if any(many)}
    rows = "".join(
        f'<tr><th scope="row">{escape(view.names[at])}</th>'
        f"{''.join(f'<td>{many[number]}</td>' for many in texts.values())}</tr>"
        for number, at in enumerate(costs)
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in texts)
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="Costs">'
        f'<table class="figures"><thead><tr><td></td>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def aligned(values: Sequence[float | None]) -> list[str]:
    """Numbers with as many decimals as give the least of them two digits, three at most."""
    least = min((value for value in values if value), default=1.0)
    decimals = min(3, max(0, 1 - floor(log10(least))))
    return ["–" if value is None else f"{value:,.{decimals}f}" for value in values]
