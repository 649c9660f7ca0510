"""Cuts a table into several that each fit one column of a two-column page."""

from dataclasses import replace

from adducir.tables.formats.layout import detail_lines, figure, marks
from adducir.tables.formats.names import one_line, wrap_title
from adducir.tables.table import ResultTable

WIDTH = 54
"""Characters in ``footnotesize`` on 84 mm, a column of ACM's and IEEE's papers."""
GAP = 2
"""Characters between columns."""


def cut(table: ResultTable, title: int) -> list[ResultTable]:
    """Tables of as many columns as fit, in order, each with all rows.

    Args:
        table: What to cut. One column at least stands in each part, however wide it is.
        title: Characters at which titles of columns are broken.
    """
    names = max((len(row.title) for row in table.rows), default=0)
    names = max(names, len(table.head))
    parts: list[list[int]] = [[]]
    left = WIDTH - names
    for place in range(len(table.columns)):
        needed = GAP + _width(table, place, title)
        if parts[-1] and needed > left:
            parts.append([])
            left = WIDTH - names
        parts[-1].append(place)
        left -= needed
    if len(parts) == 1:
        return [table]
    return [_part(table, places, number, len(parts)) for number, places in enumerate(parts, 1)]


def _width(table: ResultTable, place: int, title: int) -> int:
    """Characters that a column takes: its title's longest line, its figures with their marks."""
    column = table.columns[place]
    widths = [len(line) for line in wrap_title(one_line(column.title), title)]
    for row in table.rows:
        cell = row.cells[place]
        signs = sum(1 + len(mark.letters) for mark in marks(table, column, cell))
        widths.append(len(figure(table, column, cell)) + signs)
        widths += [round(0.8 * len(line)) for line in detail_lines(table, column, cell)]
    return max(widths)


def _part(table: ResultTable, places: list[int], number: int, count: int) -> ResultTable:
    rows = tuple(
        replace(row, cells=tuple(row.cells[place] for place in places)) for row in table.rows
    )
    return replace(
        table,
        columns=tuple(table.columns[place] for place in places),
        rows=rows,
        title=f"{(table.title or 'Results').rstrip('.')} ({number} of {count})",
        label=f"{table.label}-{number}",
    )
