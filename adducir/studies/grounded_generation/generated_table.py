"""The table of generated texts: a group of columns for each sort of measure, tested."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from adducir.core.errors import UsageError
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.studies.grounded_generation.evaluation.kind import TextMeasures
from adducir.studies.grounded_generation.evaluation.texts import Generated, Reference
from adducir.tables.builder import Layout, build_table
from adducir.tables.table import Column, ResultTable, TableCell


def generated_table(
    systems: Mapping[str, Mapping[str, Generated]],
    references: Mapping[str, Reference],
    measures: Sequence[TextMeasures],
    *,
    testing: Mapping[str, Any] | None = None,
    layout: Layout | None = None,
) -> ResultTable:
    """A table of systems over the same references.

    Args:
        systems: What each system wrote, by its name.
        references: What is right.
        measures: Each becomes a group of columns, over the references that count for it.
        testing: Arguments of :func:`adducir.statistics.comparison.comparison.compare`, such as
            ``baseline``. A group of one reference is shown without tests.
        layout: Names and style.

    Raises:
        UsageError: No system, no measure, no reference that counts for one, or a wrong choice.
        InputError: A passage is not known.
    """
    if not systems or not measures:
        raise UsageError("there is no system." if measures else "there is no measure.")
    named = {one.name if len(measures) > 1 else "": one for one in measures}
    scores = {
        name: [one.scores(system, references, found) for system, found in systems.items()]
        for name, one in named.items()
    }
    compared = {
        name: compare(some, **_testing(some, testing or {})) for name, some in scores.items()
    }
    layout = layout or Layout()
    notes = dict.fromkeys(
        (*_left_out(named, references), *(n for one in measures for n in one.notes()))
    )
    table = build_table(compared, scores, layout=replace(layout, notes=(*notes, *layout.notes)))
    wholes = {
        name: {system: one.collection(references, found) for system, found in systems.items()}
        for name, one in named.items()
    }
    counted = {name: len(one.counted(references)) for name, one in named.items()}
    return with_collections(table, wholes, counted)


def _testing(scores: Sequence[Scores], testing: Mapping[str, Any]) -> Mapping[str, Any]:
    return testing if len(scores[0].qids) > 1 else {}


def _left_out(
    measures: Mapping[str, TextMeasures], references: Mapping[str, Reference]
) -> list[str]:
    """How many references do not count, where some do not."""
    notes = []
    for name, one in measures.items():
        lacking = len(references) - len(one.counted(references))
        if lacking:
            begin = f"{name}: " if name else ""
            notes.append(f"{begin}{lacking:,} of {len(references):,} references do not count.")
    return notes


def with_collections(
    table: ResultTable,
    wholes: Mapping[str, Mapping[str, Mapping[str, float]]],
    counted: Mapping[str, int],
) -> ResultTable:
    """The table with the measures of all texts at once as last columns of their groups.

    Args:
        table: The table.
        wholes: Of each group these measures of each system, by name.
        counted: How many references count for each group.
    """
    columns: list[Column] = []
    cells: dict[str, list[TableCell]] = {row.system: [] for row in table.rows}
    notes: list[str] = []
    for name, whole in wholes.items():
        places = [place for place, column in enumerate(table.columns) if column.group == name]
        columns += [table.columns[place] for place in places]
        titles = list(next(iter(whole.values())))
        columns += [Column(title, name, descriptive=True) for title in titles]
        for row in table.rows:
            cells[row.system] += [row.cells[place] for place in places]
            values = whole[row.system]
            cells[row.system] += [TableCell(values[title], counted[name]) for title in titles]
        if titles:
            notes.append(f"{titles[0]} to {titles[-1]} are of all texts at once, and not tested.")
    return replace(
        table,
        columns=tuple(columns),
        rows=tuple(replace(row, cells=tuple(cells[row.system])) for row in table.rows),
        footer=(*table.footer, *notes),
    )
