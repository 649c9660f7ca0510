"""The table of selected sets: EM, F1 and Cover, tested, with the upper bound of the pools."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adducir.core.errors import UsageError
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.tables.builder import Layout, build_table
from adducir.tables.table import ResultTable, Row, TableCell

BOUND = "upper bound"


def set_table(
    scores: Mapping[str, Sequence[Scores]],
    *,
    bounds: Mapping[str, Scores] | None = None,
    testing: Mapping[str, Any] | None = None,
    layout: Layout | None = None,
) -> ResultTable:
    """A table of systems over one or several data sets.

    Args:
        scores: The scores of each system, by the name of the data set (``""`` for the only one).
        bounds: What the best selection from the pools reaches, by data set: the first row, which
            is not tested, as it is no system.
        testing: Arguments of :func:`adducir.statistics.comparison.comparison.compare`, such as
            ``baseline``.
        layout: Names and style.

    Raises:
        UsageError: No system, a system named as the bound, or a wrong choice.
    """
    if not scores or not all(scores.values()):
        raise UsageError("there is no system.")
    if bounds and any(one.system == BOUND for some in scores.values() for one in some):
        raise UsageError(f"a system is called {BOUND!r}.", hint="Give it another name.")
    layout = layout or Layout()
    if bounds:
        note = f"{BOUND}: the best selection from each question's passages; it is not tested."
        layout = replace(layout, notes=(note, *layout.notes))
    compared = {name: compare(some, **(testing or {})) for name, some in scores.items()}
    table = build_table(compared, scores, layout=layout)
    if bounds:
        cells = [
            TableCell(float(mean), len(bounds[name].qids))
            for name in scores
            for mean in bounds[name].values.mean(axis=0)
        ]
        table = replace(table, rows=(Row(BOUND, tuple(cells)), *table.rows))
    return table
