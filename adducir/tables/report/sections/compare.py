"""Two systems, topic by topic: the differences in order, and one system over the other."""

import numpy as np

from adducir.tables.report.drawing import box, dot, figure, label, line, path, shown, ticks
from adducir.tables.report.frame import framed
from adducir.tables.report.sections.topics import tools as measure_choice
from adducir.tables.report.templates import filled
from adducir.tables.report.view import Floats, Section, View

WIDE, HIGH, LEFT, FOOT, TOP = 560, 220, 46, 26, 10
SIDE = 260
MOST_BARS = 400
"""Differences on more topics are drawn as one outline."""
MOST_DOTS = 2000
"""Of more topics, so many are drawn, chosen at random."""


def section(view: View) -> Section | None:
    """The two systems that the report begins with; the script draws any others."""
    if view.pair is None or not view.with_values:
        return None
    place = view.with_values[0]
    values, (first, second) = view.values(place), view.pair
    if first not in values or second not in values:
        return None
    lead = (
        "Bars: the difference on each topic, the greatest first. Dots: each topic's value with the "
        "one system and with the other. Choose topics by the two sliders to see their means: "
        "nothing is tested there, for they are chosen after looking."
    )
    names = view.names[first], view.names[second]
    base, other = values[first], values[second]
    qids, higher = view.topics(place), view.column(place).higher_is_better
    caption = f"{names[1]} less {names[0]}, {view.title(place)}"
    scatter_title = f"{names[1]} over {names[0]}, {view.title(place)}{_sampled(len(qids))}"
    choices = filled(
        "pair_tools",
        names=view.names,
        first=first,
        second=second,
        measures=measure_choice(view, "compare"),
    )
    body = (
        f"{choices}<div class='plots'>"
        f"{framed(bars(qids, base, other, caption, higher=higher), caption)}"
        f"{framed(scatter(qids, base, other, names, higher=higher), scatter_title)}</div>"
        '<p id="brushed" aria-live="polite"></p>'
    )
    return Section("compare", "Two systems", lead, body)


def drawn_dots(topics: int) -> list[int]:
    """The numbers of the topics that have a dot: all, or a sample that is always the same."""
    if topics <= MOST_DOTS:
        return list(range(topics))
    drawn: list[int] = np.random.default_rng(0).choice(topics, MOST_DOTS, replace=False).tolist()
    return sorted(drawn)


def _sampled(topics: int) -> str:
    return f" ({MOST_DOTS} of {topics}, at random)" if topics > MOST_DOTS else ""


def bars(qids: tuple[str, ...], base: Floats, other: Floats, title: str, *, higher: bool) -> str:
    """A bar for each topic: the second system less the first, the greatest difference first."""
    differences = other - base
    order = np.argsort(-differences, kind="stable")
    reach = float(np.abs(differences).max()) or 0.1
    middle = TOP + HIGH / 2

    def y(value: float) -> float:
        return middle - value / reach * HIGH / 2

    marks = []
    for tick in ticks(-reach, reach, 5):
        marks.append(line(LEFT, y(tick), LEFT + WIDE, y(tick), "grid" if tick else "axis"))
        marks.append(label(LEFT - 6, y(tick), shown(tick, signed=True), "tick", "end"))
    slot = WIDE / len(order)
    good, bad = ("up", "down") if higher else ("down", "up")
    if len(order) > MOST_BARS:
        for role, signed in ((good, np.maximum(differences, 0)), (bad, np.minimum(differences, 0))):
            ends = [(LEFT + slot * (n + 0.5), y(float(signed[at]))) for n, at in enumerate(order)]
            marks.append(path([(LEFT, middle), *ends, (LEFT + WIDE, middle)], role, closed=True))
    else:
        for number, at in enumerate(order):
            value = float(differences[at])
            role = good if value > 0 else bad if value < 0 else "blank"
            tip = f"{qids[at]}: {other[at]:.4g} − {base[at]:.4g} = {value:+.4g}"
            top, tall = min(y(value), middle), max(abs(y(value) - middle), 0.6)
            gap = min(1.0, slot * 0.2)
            marks.append(box(LEFT + slot * number + gap / 2, top, slot - gap, tall, role, tip))
    caption = f"Differences of {len(order)} topics: {title}"
    return figure("compare-bars", LEFT + WIDE + 10, TOP + HIGH + FOOT - 10, caption, marks)


def scatter(
    qids: tuple[str, ...], base: Floats, other: Floats, names: tuple[str, str], *, higher: bool
) -> str:
    """A dot for each topic, with the diagonal of equal values."""
    low = min(0.0, float(base.min()), float(other.min()))
    high = max(float(base.max()), float(other.max()), low + 1e-9)

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * SIDE

    def y(value: float) -> float:
        return TOP + SIDE - (value - low) / (high - low) * SIDE

    marks = []
    for tick in ticks(low, high, 5):
        marks.append(line(x(tick), TOP, x(tick), TOP + SIDE, "grid"))
        marks.append(line(LEFT, y(tick), LEFT + SIDE, y(tick), "grid"))
        marks.append(label(x(tick), TOP + SIDE + 12, shown(tick), "tick", "middle"))
        marks.append(label(LEFT - 6, y(tick), shown(tick), "tick", "end"))
    marks.append(line(x(low), y(low), x(high), y(high), "axis"))
    for at in drawn_dots(len(qids)):
        won = (other[at] > base[at]) == higher
        role = "none" if other[at] == base[at] else "better" if won else "worse"
        tip = f"{qids[at]}: {names[0]} {base[at]:.4g}, {names[1]} {other[at]:.4g}"
        marks.append(dot(x(float(base[at])), y(float(other[at])), 4, role, tip))
    marks.append(label(LEFT + SIDE / 2, TOP + SIDE + 28, names[0][:40], "tick", "middle"))
    marks.append(label(10, TOP + SIDE / 2, names[1][:40], "tick", "middle", -90))
    caption = f"{len(qids)} topics: {names[1]} over {names[0]}{_sampled(len(qids))}"
    return figure("compare-dots", LEFT + SIDE + 14, TOP + SIDE + 40, caption, marks)
