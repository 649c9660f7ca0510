"""Forest plots: difference to the baseline with its interval, and the band of equivalence.

Difference, significance and equivalence in one picture: a mark is full where the corrected test
says that the difference is real, the whisker is the interval (not corrected), and the band is the
one that the equivalence test was asked for.
"""

from collections.abc import Callable
from typing import NamedTuple

from adducir.tables.report.drawing import box, dot, line, path, printed_p, room_for
from adducir.tables.report.frame import framed
from adducir.tables.report.rows import OPEN, TOP, Rows
from adducir.tables.report.view import Section, View
from adducir.tables.table import Cell, PairResult


class Line(NamedTuple):
    """One system of a plot; the baseline has no comparison."""

    system: str
    name: str
    cell: Cell
    entry: PairResult | None


def section(view: View) -> Section | None:
    """A plot for each measure that was compared with a baseline."""
    base = view.base
    if base is None:
        return None
    plots = [plot for place in view.rated if (plot := _plot(view, place, base))]
    if not plots:
        return None
    name = view.names[base]
    lead = (
        f"Differences to {name}, each with its interval. A filled mark is a significant difference "
        "(corrected), an open one is not"
    )
    drawn = "".join(plots)
    lead += "; shaded: the band of equivalence" * ('class="band"' in drawn)
    lead += "; a ring: equivalent within it" * ('class="equal-ring"' in drawn) + "."
    body = f'<div class="plots">{drawn}</div>'
    return Section("differences", f"Differences to {name}", lead, body)


def _plot(view: View, place: int, base: int) -> str:
    rows, baseline = view.table.rows, view.table.rows[base].system
    lines = [
        Line(row.system, view.names[at], row.cells[place], row.cells[place].against(baseline))
        for at, row in enumerate(rows)
        if row.section == rows[base].section or row.cells[place].against(baseline)
    ]
    lines = [one for one in lines if one.entry or one.name == view.names[base]]
    if len(lines) < 2:
        return ""
    sign = -1 if view.column(place).higher_is_better else 1
    lines.sort(key=lambda one: sign * (one.entry.difference if one.entry else 0.0))
    drawn = _drawn(view, place, lines)
    return framed(drawn, view.title(place), fold=len(lines) > OPEN)


def _band(view: View, lines: list[Line]) -> tuple[float, float] | None:
    """The band of equivalence as differences to the baseline, round whom it is asked for."""
    tested = [one for line in lines if (one := line.cell.equivalence)]
    bound = view.table.comparison and view.table.comparison.testing.equivalence
    if not tested or not bound:
        return None
    entries = {one.system: one.entry for one in lines}
    entry = entries.get(tested[0].reference)
    centre = entry.difference if entry else 0.0
    return centre - bound, centre + bound


def _drawn(view: View, place: int, lines: list[Line]) -> str:
    ends = [
        end
        for line in lines
        if (entry := line.entry)
        for end in (entry.difference, entry.low, entry.high)
        if end is not None
    ]
    band = _band(view, lines)
    low, high = min([0.0, *ends, *(band or ())]), max([0.0, *ends, *(band or ())])
    margin = (high - low or 0.1) * 0.04
    low, high = low - margin, high + margin
    rows = Rows([one.name for one in lines], (low, high), width=300)
    texts = [_figures(view, one) for one in lines]
    below = []
    if band:
        start, end = map(rows.x, band)
        below.append(box(start, TOP, end - start, rows.bottom - TOP, "band"))
    marks = [line(rows.x(0), TOP, rows.x(0), rows.bottom, "axis")]
    for number, one in enumerate(lines):
        marks += _mark(one, rows.x, rows.y(number))
    caption = (
        f"Forest plot: difference to the baseline on {view.title(place)}, {len(lines)} systems"
    )
    return rows.figure(
        f"differences-{place}",
        caption,
        marks,
        texts=texts,
        room=room_for(texts, 60) + 16,
        below=below,
        axis="difference" + " (less is better)" * (not view.column(place).higher_is_better),
        signed=True,
    )


def _figures(view: View, line: Line) -> str:
    if line.entry is None:
        return "baseline"
    text = view.number(line.entry.difference, signed=True)
    if line.entry.low is not None:
        low, high = (view.number(end, signed=True) for end in (line.entry.low, line.entry.high))
        text += f" [{low}, {high}]"
    return text


def _mark(one: Line, x: Callable[[float], float], y: float) -> list[str]:
    drawn = []
    at = x(one.entry.difference if one.entry else 0.0)
    if one.entry and one.entry.low is not None and one.entry.high is not None:
        low, high = x(one.entry.low), x(one.entry.high)
        drawn += [line(low, y, high, y, "whisker")]
        drawn += [line(end, y - 4, end, y + 4, "whisker") for end in (low, high)]
    if one.cell.equivalence and one.cell.equivalence.verdict:
        drawn.append(f'<circle class="equal-ring" cx="{at:.1f}" cy="{y:g}" r="9"/>')
    if one.entry is None:
        corners = [(at, y - 6), (at + 6, y), (at, y + 6), (at - 6, y)]
        drawn.append(path(corners, "none", closed=True))
        return drawn
    p = "" if one.entry.p_corrected is None else f", corrected {printed_p(one.entry.p_corrected)}"
    drawn.append(
        dot(at, y, 5, one.entry.verdict or "none", f"{one.name}: {one.entry.difference:+.4g}{p}")
    )
    return drawn
