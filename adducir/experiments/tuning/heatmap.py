"""The grid as a heat map, an SVG.

A row of panels for each fold (for more than six folds one row, over all topics); a cell shows the
mean of the objective over the fold's training topics, the figure by which its setting was chosen;
the chosen cell is outlined. The two parameters with the most values are the axes. Of further
parameters each combination has a panel, if there are six at most; else a cell shows the best over
all of them. Every row has its own scale, because years differ more than settings do.
"""

import io
import warnings
from itertools import product
from typing import Any

import numpy as np

from adducir.evaluation.lists import Floats
from adducir.experiments.tuning.grid import Parameter, plain
from adducir.experiments.tuning.tune import Tuning, mean

MOST_ROWS = 6
MOST_PANELS = 6
CHOSEN = "#d4380d"
_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "adducir",  # equal grids give equal bytes
    "text.parse_math": False,
    "font.size": 9,
}


def draw(tuning: Tuning) -> str:
    """The heat map of a tuning's grid."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    grid, folds = tuning.grid, tuning.folds
    if len(folds) > MOST_ROWS:
        means = np.array([mean(values) for values in tuning.values])
        title = f"means over all {len(tuning.pool)} topics; outlined: chosen in some of"
        rows = [(f"{title} {len(folds)} folds", means, list(tuning.chosen))]
    else:
        rows = [
            (
                f"fold {name} held out: means over the {len(folds.train(fold))} other topics",
                tuning.training[fold],
                [tuning.chosen[fold]],
            )
            for fold, name in enumerate(folds.names)
        ]
    across, *rest = sorted(range(len(grid.shape)), key=lambda n: -grid.shape[n])
    down, others = rest[:1], sorted(rest[1:])
    size = (-1, grid.shape[down[0]] if down else 1, grid.shape[across])
    titles = [
        ", ".join(f"{grid.names[n]} = {plain(v)}" for n, v in zip(others, values, strict=True))
        for values in product(*(grid.parameters[n].values for n in others))
    ]
    is_best = len(titles) > MOST_PANELS
    if is_best:
        titles = [f"best over {', '.join(grid.names[n] for n in others)}"]
    wide = max(0.05, min(0.5, 40 / (len(titles) * size[2])))
    width, height = len(titles) * (size[2] * wide + 1) + 0.5, size[1] * 0.32 + 1.3
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that the font for measuring lacks
        figure = Figure((max(width, 6), height * len(rows) + 0.4), layout="constrained")
        figure.suptitle(f"{tuning.objective} of {len(grid)} settings", weight="bold")
        parts = figure.subfigures(len(rows), 1, squeeze=False)[:, 0]
        for part, (title, means, chosen) in zip(parts, rows, strict=True):
            part.suptitle(title)
            marked = np.isin(np.arange(len(grid)), chosen)
            cells, marks = (
                values.reshape(grid.shape).transpose([*others, *down, across]).reshape(size)
                for values in (means, marked)
            )
            if is_best:
                cells, marks = cells.max(0, keepdims=True), marks.max(0, keepdims=True)
            panels = part.subplots(1, len(titles), squeeze=False)[0]
            for number, panel in enumerate(panels):
                _panel(panel, cells[number], marks[number], (means.min(), means.max()), wide)
                panel.set_title(titles[number], fontsize=9)
                panel.set_yticks([])
                _ticks(panel.set_xticks, panel.set_xlabel, grid.parameters[across])
                for one in down:
                    _ticks(panel.set_yticks, panel.set_ylabel, grid.parameters[one])
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return drawn.getvalue()


def _panel(panel: Any, cells: Floats, marks: Any, scale: tuple[float, float], wide: float) -> None:
    low, high = scale
    panel.pcolormesh(cells, cmap="Blues", vmin=low, vmax=high if high > low else low + 1)
    panel.invert_yaxis()
    for (line, column), value in np.ndenumerate(cells):
        if wide > 0.4:
            colour = "white" if high > low and (value - low) / (high - low) > 0.55 else "black"
            where = {"ha": "center", "va": "center", "fontsize": 7, "color": colour}
            panel.text(column + 0.5, line + 0.5, f"{value:.3f}", **where)
        if marks[line, column]:
            panel.plot(
                column + np.array([0.04, 0.96, 0.96, 0.04, 0.04]),
                line + np.array([0.04, 0.04, 0.96, 0.96, 0.04]),
                color=CHOSEN,
                linewidth=2,
            )


def _ticks(places: Any, label: Any, parameter: Parameter) -> None:
    every = max(1, len(parameter.values) // 40)
    values = parameter.values[::every]
    places(np.arange(0, len(parameter.values), every) + 0.5, [plain(value) for value in values])
    label(parameter.name)
