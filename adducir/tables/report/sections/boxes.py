"""Box plots: how the values of the topics are spread with each system (Tukey, 1977)."""

import numpy as np

from adducir.tables.report.drawing import box, dot, line, path
from adducir.tables.report.frame import for_each_measure
from adducir.tables.report.rows import OPEN, Rows
from adducir.tables.report.view import Floats, Section, View

FEWEST = 5
"""Fewer topics have no spread to show."""
MOST_DOTS = 40
"""Outliers of a system that are drawn, the farthest first."""


def section(view: View) -> Section | None:
    """A plot for each measure; all but the first are folded."""
    drawn = for_each_measure(
        view, lambda place: _plot(view, place), fold=len(view.table.rows) > OPEN
    )
    if not drawn:
        return None
    lead = (
        "The box holds the middle half of the topics, the line in it is the median, the diamond "
        "the mean; whiskers reach to the last topic within 1.5 times the interquartile range."
    )
    return Section("spread", "Spread over topics", lead, drawn)


def _plot(view: View, place: int) -> str:
    if len(view.topics(place)) < FEWEST:
        return ""
    values, rows = view.values(place), view.scored(place)
    low = min(0.0, *(float(values[at].min()) for at in rows))
    high = max(float(values[at].max()) for at in rows)
    high = high if high > low else low + 1.0
    names = [view.names[at] for at in rows]
    lines = Rows(names, (low, high), high=26)
    marks = []
    for number, (at, name) in enumerate(zip(rows, names, strict=True)):
        places = [lines.x(float(value)) for value in values[at]]
        marks += _box(values[at], places, lines.y(number), name)
    systems = f"{len(rows)} system{'s' * (len(rows) != 1)}"
    caption = f"Box plots of {systems} on {view.title(place)}"
    return lines.figure(f"spread-{place}", caption, marks)


def five_numbers(values: Floats) -> tuple[float, float, float, float, float]:
    """Lower whisker, quartiles (linear interpolation) with the median, upper whisker."""
    first, median, third = (float(one) for one in np.quantile(values, [0.25, 0.5, 0.75]))
    reach = 1.5 * (third - first)
    inside = values[(values >= first - reach) & (values <= third + reach)]
    return float(inside.min()), first, median, third, float(inside.max())


def _box(values: Floats, places: list[float], y: float, name: str) -> list[str]:
    numbers = five_numbers(values)
    order = np.argsort(values, kind="stable")
    scaled, ordered = np.array(places)[order], values[order]
    low, first, median, third, high = np.interp(numbers, ordered, scaled)
    tip = f"{name}: quartiles {numbers[1]:.4g}, {numbers[2]:.4g}, {numbers[3]:.4g}"
    middle = float(np.mean(scaled))
    marks = [
        line(low, y, first, y, "whisker"),
        line(third, y, high, y, "whisker"),
        line(low, y - 4, low, y + 4, "whisker"),
        line(high, y - 4, high, y + 4, "whisker"),
        box(first, y - 8, third - first, 16, "box", tip),
        line(median, y - 8, median, y + 8, "median"),
        path(
            [(middle, y - 5), (middle + 5, y), (middle, y + 5), (middle - 5, y)],
            "none",
            closed=True,
        ),
    ]
    outside = [at for at in places if at < low - 1e-6 or at > high + 1e-6]
    outside.sort(key=lambda at: -abs(at - median))
    return marks + [dot(at, y, 2.5, "none") for at in outside[:MOST_DOTS]]
