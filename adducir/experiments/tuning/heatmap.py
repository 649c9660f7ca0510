"""The grid as a heat map: one self-contained SVG.

A row of panels for each fold (for more than six folds one row, over all topics); a cell shows the
mean of the objective over the fold's training topics, the figure by which its setting was chosen;
the chosen cell is outlined. The two parameters with the most values are the axes. Of further
parameters each combination has a panel, if there are six at most; else a cell shows the best over
all of them, and the heading says so. Every row has its own scale, because years differ more than
settings do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product

import numpy as np

from adducir.evaluation.judgements import Floats
from adducir.experiments.tuning.grid import Grid, Parameter, plain
from adducir.experiments.tuning.tuning import Tuning, mean

MOST_ROWS = 6
MOST_PANELS = 6
MARGIN, TITLE, GAP, LABEL, LINE = 16, 56, 44, 48, 16
WIDTH = 960
"""Pixels that the panels of a row share."""

_STOPS = ((246, 250, 254), (172, 208, 230), (74, 146, 196), (24, 90, 158), (8, 44, 96))
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.h{font-size:14px;font-weight:600}"
    ".v{font-size:10px;text-anchor:middle;dominant-baseline:central}.l{fill:#fff}"
    ".x{text-anchor:middle}.y{text-anchor:end;dominant-baseline:central}.s{fill:#555}"
    ".c{fill:none;stroke:#d4380d;stroke-width:2.5}"
)


@dataclass(frozen=True)
class _Row:
    """The panels of a fold, or of all topics."""

    title: str
    means: Floats
    chosen: frozenset[int]


@dataclass(frozen=True)
class _Axes:
    """Which parameters are the axes, and which have panels of their own."""

    x: Parameter
    y: Parameter | None
    panels: tuple[Parameter, ...]
    hidden: tuple[Parameter, ...]

    @classmethod
    def of(cls, grid: Grid) -> "_Axes":
        ordered = sorted(grid.open, key=lambda parameter: -len(parameter.values))
        x, y = (*ordered[:2], None, None)[:2]
        rest = tuple(p for p in grid.open if p is not x and p is not y)
        shown = np.prod([len(parameter.values) for parameter in rest]) <= MOST_PANELS
        x = x or grid.parameters[0]
        return cls(x, y, rest if shown else (), () if shown else rest)


def draw(tuning: Tuning) -> str:
    """The heat map of a tuning's grid."""
    axes = _Axes.of(tuning.grid)
    rows = list(_rows(tuning))
    panels = list(product(*(parameter.values for parameter in axes.panels)))
    columns, lines = len(axes.x.values), len(axes.y.values) if axes.y else 1
    cell = max(14, min(48, (WIDTH - len(panels) * GAP) // (len(panels) * columns)))
    height = max(18, min(cell, 32))
    panel = (columns * cell, lines * height)
    step = TITLE + panel[1] + 2 * LINE
    width = MARGIN * 2 + LABEL + len(panels) * (panel[0] + GAP)
    top = MARGIN + 3 * LINE
    marks = list(_heading(tuning, axes))
    for place, row in enumerate(rows):
        y = top + place * step
        marks += _scale(row, MARGIN, y)
        for number, values in enumerate(panels):
            x = MARGIN + LABEL + number * (panel[0] + GAP)
            marks += _panel(tuning.grid, axes, row, values, (x, y + TITLE), (cell, height))
    total = top + len(rows) * step + MARGIN
    width = max(width, 640)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" width="{width}" '
        f'height="{total}" role="img" aria-label="heat map of the grid"><style>{_STYLE}</style>'
        f'<rect width="{width}" height="{total}" fill="#fff"/>{"".join(marks)}</svg>\n'
    )


def _rows(tuning: Tuning) -> Iterator[_Row]:
    folds = tuning.folds
    if len(folds) > MOST_ROWS:
        means = np.array([mean(values) for values in tuning.values])
        yield _Row(f"means over all {len(tuning.pool)} topics", means, frozenset(tuning.chosen))
        return
    for fold, name in enumerate(folds.names):
        title = f"fold {name} held out: means over the {len(folds.train(fold))} other topics"
        yield _Row(title, tuning.training[fold], frozenset({tuning.chosen[fold]}))


def _heading(tuning: Tuning, axes: _Axes) -> Iterator[str]:
    yield _text("h", MARGIN, MARGIN + 4, f"{tuning.objective} of {len(tuning.grid)} settings")
    caption = [f"across: {axes.x.name}" + (f"; down: {axes.y.name}" if axes.y else "")]
    if axes.hidden:
        caption.append(f"best over {', '.join(parameter.name for parameter in axes.hidden)}")
    fixed = [each for each in tuning.grid.parameters if each not in tuning.grid.open]
    caption += [f"{each.name} = {plain(each.values[0])}" for each in fixed]
    many = len(tuning.folds) > MOST_ROWS
    caption.append(
        "outlined: the setting chosen" + (f" in some of {len(tuning.folds)} folds" * many)
    )
    yield _text("s", MARGIN, MARGIN + 4 + LINE, "; ".join(caption))


def _scale(row: _Row, x: int, y: int) -> Iterator[str]:
    low, high = float(row.means.min()), float(row.means.max())
    yield _text("h", x, y + 10, row.title)
    yield _text("s", x, y + 10 + LINE, f"colours from {low:.4f} (light) to {high:.4f} (dark)")


def _panel(
    grid: Grid,
    axes: _Axes,
    row: _Row,
    values: Sequence[float],
    corner: tuple[int, int],
    size: tuple[int, int],
) -> Iterator[str]:
    """One panel: a cell for each pair of values of the axes."""
    (left, top), (wide, high) = corner, size
    low, range_ = float(row.means.min()), float(np.ptp(row.means))
    cells = _cells(grid, axes, row, values)
    for (column, line), (number, chosen) in cells.items():
        value = float(row.means[number])
        share = (value - low) / range_ if range_ else 0.5
        x, y = left + column * wide, top + line * high
        tip = escape(f"{grid.label(number)}: {value:.4f}")
        yield f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="{_colour(share)}">'
        yield f"<title>{tip}</title></rect>"
        if wide >= 34:
            shown = f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
            yield _text("v l" if share > 0.55 else "v", x + wide / 2, y + high / 2, shown)
        if chosen:
            inner = f'width="{wide - 2}" height="{high - 2}"'
            yield f'<rect class="c" x="{x + 1}" y="{y + 1}" {inner}/>'
    yield from _ticks(axes, corner, size)
    caption = ", ".join(
        f"{each.name} = {plain(value)}" for each, value in zip(axes.panels, values, strict=True)
    )
    if caption:
        yield _text("s", left, top - 4, caption)


def _cells(
    grid: Grid, axes: _Axes, row: _Row, values: Sequence[float]
) -> dict[tuple[int, int], tuple[int, bool]]:
    """For each cell of a panel the setting it shows, and whether it holds the chosen one."""
    fixed = dict(zip((each.name for each in axes.panels), values, strict=True))
    found: dict[tuple[int, int], tuple[int, bool]] = {}
    for number, setting in enumerate(grid.settings()):
        if any(setting[name] != value for name, value in fixed.items()):
            continue
        column = axes.x.values.index(setting[axes.x.name])
        line = axes.y.values.index(setting[axes.y.name]) if axes.y else 0
        best, chosen = found.get((column, line), (number, False))
        better = row.means[number] > row.means[best]
        found[column, line] = number if better else best, chosen or number in row.chosen
    return found


def _ticks(axes: _Axes, corner: tuple[int, int], size: tuple[int, int]) -> Iterator[str]:
    (left, top), (wide, high) = corner, size
    lines = len(axes.y.values) if axes.y else 1
    foot = top + lines * high
    longest = max(len(plain(value)) for value in axes.x.values)
    every = max(1, -(-longest * 8 // wide))
    for column, value in enumerate(axes.x.values):
        if column % every == 0:
            yield _text("x", left + (column + 0.5) * wide, foot + 13, plain(value))
    if axes.y:
        for line, value in enumerate(axes.y.values):
            yield _text("y", left - 4, top + (line + 0.5) * high, plain(value))


def _colour(share: float) -> str:
    """The colour at 0 (light) to 1 (dark)."""
    place = min(max(share, 0.0), 1.0) * (len(_STOPS) - 1)
    below = min(int(place), len(_STOPS) - 2)
    part = place - below
    mixed = (
        round(a + (b - a) * part) for a, b in zip(_STOPS[below], _STOPS[below + 1], strict=True)
    )
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'
