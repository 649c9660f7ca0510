"""A result table as CSV that any reader takes as it is: one header line, data, no comments.

Tidy: one line a cell and baseline. Numbers are exact (shortest form that reads back as the same
double), nothing is rounded; a field without a value is empty. A name or qid that a spreadsheet
would take for a formula stands behind an apostrophe (:mod:`adducir.core.csv_files`). The footer
has no place in CSV; the JSON holds everything.
"""

import io
from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from adducir.core.csv_files import CsvWriter
from adducir.core.errors import UsageError
from adducir.tables.formats.format import TableFormat
from adducir.tables.table import Column, ResultTable, Row, TableCell, Versus

HEADER = (
    "system",
    "section",
    "group",
    "measure",
    "mean",
    "n",
    "best",
    "baseline",
    "difference",
    "p",
    "p_corrected",
    "mark",
    "ci_low",
    "ci_high",
    "effect",
    "wins",
    "ties",
    "losses",
    "equivalent",
    "equivalent_to",
    "equivalence_p",
    "equivalence_p_corrected",
    "p_best",
    "in_set",
    "exploratory",
    "higher_is_better",
)
TOPIC_HEADER = ("system", "section", "group", "qid", "measure", "value", "higher_is_better")
Line = tuple[object, ...]


class CSV(TableFormat):
    """Comma-separated values, one line a cell, for programs."""

    ending: ClassVar = ".csv"
    topics: ClassVar = "per_topic"
    per_topic: bool = Field(False, description="One line a system, topic and measure instead.")

    def render(self, table: ResultTable) -> str:
        return render(table, per_topic=self.per_topic)


def render(table: ResultTable, *, per_topic: bool = False) -> str:
    """The table's data as CSV with Unix line ends.

    Args:
        table: What to print.
        per_topic: Give one line a system, topic and measure instead, in the columns of
            :data:`TOPIC_HEADER`; of a system of several runs, one per run.

    Raises:
        UsageError: Values per topic are asked for, but the table holds none.
    """
    lines = list(_topic_lines(table) if per_topic else _lines(table))
    if per_topic and not lines:
        raise UsageError("the table holds no values per topic.")
    out = io.StringIO()
    writer = CsvWriter(out)
    writer.row(TOPIC_HEADER if per_topic else HEADER)
    writer.rows(lines)
    return out.getvalue()


def _lines(table: ResultTable) -> Iterator[Line]:
    for row, column, cell in table.cells():
        if cell.mean is None:
            continue
        for versus in cell.versus or (None,):
            yield (
                *_place(row, column),
                cell.mean,
                cell.n,
                _truth(cell.best),
                *_versus(versus),
                *_equivalence(cell),
                cell.p_best,
                "" if cell.p_best is None else _truth(cell.in_set),
                _truth(True) if cell.equivalence and table.equivalence_against == "best" else "",
                _truth(column.higher_is_better),
            )


def _place(row: Row, column: Column) -> Line:
    return row.system, row.section, column.group, column.measure


def _versus(versus: Versus | None) -> Line:
    if versus is None:
        return ("",) * 11
    return (
        versus.baseline,
        versus.difference,
        versus.p,
        versus.p_corrected,
        "" if versus.verdict == "none" else versus.verdict,
        *(versus.ci or ("", "")),
        versus.effect,
        versus.wins,
        versus.ties,
        versus.losses,
    )


def _equivalence(cell: TableCell) -> Line:
    found = cell.equivalence
    if found is None:
        return ("",) * 4
    return _truth(found.equivalent), found.against, found.p, found.p_corrected


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _topic_lines(table: ResultTable) -> Iterator[Line]:
    for row, column, cell in table.cells():
        for name, values in (cell.runs or {row.system: cell.values}).items():
            for qid, value in zip(column.topics, values, strict=False):
                better = _truth(column.higher_is_better)
                yield name, row.section, column.group, qid, column.measure, value, better
