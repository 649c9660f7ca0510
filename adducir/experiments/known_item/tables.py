"""The tables of a study of ranks: a section for each context, tested within it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from adducir.experiments.known_item.system import KnownItem
from adducir.tables.builder import Layout
from adducir.tables.ranks import Runs, rank_table
from adducir.tables.stacking import stacked
from adducir.tables.table import ResultTable

Sections = Mapping[str, Mapping[str, Runs]]
"""The ranks of each run of each system, by section."""


def rank_tables(sections: Sections, study: KnownItem, layout: Layout) -> ResultTable:
    """One table of several sections; systems are tested within each."""
    requested = study.comparison
    tables: dict[str, ResultTable] = {}
    for name, systems in sections.items():
        testing: dict[str, Any] = {}
        if requested is not None and requested.named <= set(systems):
            testing = requested.model_dump(exclude_none=True)
        tables[name] = rank_table(
            systems,
            cutoffs=study.cutoffs,
            ties=study.ties,
            random=study.random,
            testing=testing,
            layout=layout,
        )
    return stacked(tables, layout.system_names)


def by_key(sections: Sections, key: str) -> dict[str, dict[str, Runs]]:
    """The ranks of each group of contexts, such as those of a length, as sections."""
    found: dict[str, dict[str, Runs]] = {}
    for name, systems in sections.items():
        values = next(ranks for runs in systems.values() for ranks in runs.values()).keys[key]
        for value in sorted(set(values), key=lambda one: (not one.isdigit(), len(one), one)):
            places = np.flatnonzero([one == value for one in values])
            title = f"{name}, {key} {value} ({len(places):,})"
            found[title] = {
                system: {run: ranks.rows(places) for run, ranks in runs.items()}
                for system, runs in systems.items()
            }
    return found


def without_values(table: ResultTable) -> ResultTable:
    """The table without the values of each query: its sections are of different ones."""
    rows = tuple(
        replace(row, cells=tuple(replace(cell, values=(), runs={}) for cell in row.cells))
        for row in table.rows
    )
    columns = tuple(replace(column, topics=()) for column in table.columns)
    return replace(table, rows=rows, columns=columns)
