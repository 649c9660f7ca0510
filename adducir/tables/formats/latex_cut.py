"""Cuts a table into several that each fit one column of a two-column page, or the whole page.

LaTeX knows the widths of texts, we only estimate them, from Computer Modern's letters, which are
wider than Times'. The limits are those of the narrowest of the usual layouts.
"""

from dataclasses import replace

from adducir.tables.formats.layout import detail_lines, figure, letter_of_row, marks
from adducir.tables.formats.names import one_line, wrap_title
from adducir.tables.table import ResultTable

COLUMN, TEXT, PAGE = 218.0, 345.0, 455.0
"""Points: a column of ACL's papers (77 mm; ACM's have 84), the text of LaTeX's one-column article,
and both columns of ACL's with what is between them."""
SIZE, SMALL_GAP = 8.0, 6.0
"""Points of ``footnotesize``, and between two columns there."""
NORMAL, GAP = 10.0, 12.0
"""The same of the text's own size."""
_SCRIPT = 4.5
"""Of a superscript's sign."""
_DETAIL = 7.0 / 8.0
"""Size of details (``scriptsize``), of that of the figures."""
_NARROW = frozenset("fijlrtI.,:;!|'`()[]/- ")
_WIDE = frozenset("mwMW@%+=<>~≈≤≥±×→←−–—…")


def cut(table: ResultTable, title: int, limit: float) -> list[ResultTable]:
    """Tables of as many columns as fit, in order, each with all rows.

    Args:
        table: What to cut. One column at least stands in each part, however wide it is.
        title: Characters at which titles of columns are broken.
        limit: Points.
    """
    parts: list[list[int]] = [[]]
    left = whole = limit - _names(table)
    for place, column in enumerate(table.columns):
        own, group = _width(table, place, title), points(one_line(column.group))
        # A group's name stands over its columns of a part, which may be one.
        inside = parts[-1] and column.group == table.columns[place - 1].group
        needed = SMALL_GAP + (own if inside else max(own, group))
        if parts[-1] and needed > left:
            parts.append([])
            left, needed = whole, SMALL_GAP + max(own, group)
        parts[-1].append(place)
        left -= needed
    if len(parts) == 1:
        return [table]
    return [_part(table, places, number, len(parts)) for number, places in enumerate(parts, 1)]


def fits_text(table: ResultTable, title: int) -> bool:
    """Whether it fits a page of one column in the text's own size."""
    small = _names(table) + sum(_width(table, at, title) for at in range(len(table.columns)))
    return small * NORMAL / SIZE + GAP * len(table.columns) <= TEXT


def points(text: str) -> float:
    """Width of a text in ``footnotesize``."""
    return SIZE * sum(map(_em, text))


def _em(char: str) -> float:
    if char in _NARROW:
        return 0.4
    return 0.95 if char in _WIDE else 0.78 if char.isupper() else 0.56


def _names(table: ResultTable) -> float:
    """Points of the column of systems."""
    marked = ((row.title, len(letter_of_row(table, row))) for row in table.rows)
    widths = (points(one_line(name)) + _SCRIPT * letters for name, letters in marked)
    return max([points(table.head), *widths])


def _width(table: ResultTable, place: int, title: int) -> float:
    """Points that a column takes: its title's longest line, its figures with their marks."""
    column = table.columns[place]
    widths = [points(line) for line in wrap_title(one_line(column.title), title)]
    for row in table.rows:
        cell = row.cells[place]
        signs = sum(1 + len(mark.letters) for mark in marks(table, column, cell))
        widths.append(points(figure(table, column, cell)) + _SCRIPT * signs)
        widths += [_DETAIL * points(line) for line in detail_lines(table, column, cell)]
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
