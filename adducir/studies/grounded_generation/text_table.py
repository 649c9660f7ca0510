"""The table of generated texts: a group of columns for each group of measures, tested."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.studies.grounded_generation.measures import TextMeasures
from adducir.studies.grounded_generation.texts import References, System
from adducir.tables.builder import Layout, build_table
from adducir.tables.table import Column, ResultTable, TableCell


def text_table(
    systems: Mapping[str, Mapping[str, System]],
    references: References,
    measures: Sequence[TextMeasures],
    *,
    testing: Callable[[Sequence[Scores]], Mapping[str, Any]],
    layout: Layout,
    over_runs: Callable[[str, Sequence[Scores]], Scores] = lambda _, each: each[0],
) -> ResultTable:
    """A table of systems over the same references.

    Args:
        systems: What each system generated, by its name and that of each of its runs.
        measures: Each becomes a group of columns, over the references that count for it.
        testing: The arguments of a comparison of such scores.
        over_runs: The scores of a system over its runs.
    """
    named = {one.name if len(measures) > 1 else "": one for one in measures}
    scores = {
        group: [
            over_runs(name, [one.scores(run, references, found) for run, found in runs.items()])
            for name, runs in systems.items()
        ]
        for group, one in named.items()
    }
    compared = {group: compare(some, **testing(some)) for group, some in scores.items()}
    counted = {group: len(one.counted(references)) for group, one in named.items()}
    lacking = {group: len(references) - count for group, count in counted.items()}
    notes = [
        f"{f'{group}: ' if group else ''}{count:,} of {len(references):,} references do not count."
        for group, count in lacking.items()
        if count
    ]
    notes += [note for one in measures for note in one.notes()]
    layout = replace(layout, notes=(*dict.fromkeys(notes), *layout.notes))
    table = build_table(compared, scores, layout=layout)
    return _with_collections(table, named, systems, references, counted)


def _with_collections(
    table: ResultTable,
    named: Mapping[str, TextMeasures],
    systems: Mapping[str, Mapping[str, System]],
    references: References,
    counted: Mapping[str, int],
) -> ResultTable:
    """The table with the measures of all texts at once as last columns of their groups."""
    columns: list[Column] = []
    cells: dict[str, list[TableCell]] = {row.system: [] for row in table.rows}
    footer = list(table.footer)
    for group, one in named.items():
        places = [place for place, column in enumerate(table.columns) if column.group == group]
        columns += [table.columns[place] for place in places]
        titles: list[str] = []
        for row in table.rows:
            each = [one.collection(references, found) for found in systems[row.system].values()]
            titles = list(each[0])
            means = (float(np.mean([run[title] for run in each])) for title in titles)
            cells[row.system] += [row.cells[place] for place in places]
            cells[row.system] += [TableCell(mean, counted[group]) for mean in means]
        columns += [Column(title, group, descriptive=True) for title in titles]
        if titles:
            footer.append(f"{titles[0]} to {titles[-1]} are of all texts at once, and not tested.")
    rows = tuple(replace(row, cells=tuple(cells[row.system])) for row in table.rows)
    return replace(table, columns=tuple(columns), rows=rows, footer=tuple(footer))
