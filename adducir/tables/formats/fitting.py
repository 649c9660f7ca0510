"""Fitting a table into a terminal's width: header breaks, name cuts, blocks of columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.cells import cell_len
from rich.text import Text

from adducir.tables.formats.layout import letter_of_row
from adducir.tables.formats.names import one_line, shortened, wrap_title
from adducir.tables.table import ResultTable

GAP = "  "
NAME_WIDTH = 16
"""System names are cut to no less than this."""
HEADER_WIDTH = 6
"""Measures' names are broken to no less than this, or the width of their cells."""


@dataclass(frozen=True)
class Printed:
    """A column ready to print.

    Attributes:
        group: Name of its group.
        header: The measure's name, in lines.
        cells: For each row the cell's lines: the mean with its marks, then the details.
        inner: Width of the widest cell.
        width: Width of the column: of its cells or its header.
    """

    group: str
    header: list[str]
    cells: list[list[Text]]
    inner: int
    width: int


@dataclass(frozen=True)
class Fit:
    """Names by row, and the columns in blocks to print one below the other."""

    names: list[str]
    name_width: int
    blocks: list[list[Printed]]


def total(columns: Sequence[Printed]) -> int:
    """Width of some columns with the gap before each."""
    return sum(len(GAP) + column.width for column in columns)


def fit(table: ResultTable, cells: Sequence[list[list[Text]]], width: int, ellipsis: str) -> Fit:
    """The form with the fewest blocks; among those full names first, then the widest header.

    Args:
        table: What to print.
        cells: For each column, for each row, the cell's lines.
        width: Width of the terminal in cells.
        ellipsis: What stands for the omitted part of a name.
    """
    names = [full_name(table, place) for place in range(len(table.rows))]
    longest = max([cell_len(table.head), *map(cell_len, names)])
    broad = max([HEADER_WIDTH, *(len(column.title) for column in table.columns)])
    best: list[list[Printed]] | None = None
    for room in dict.fromkeys((width - longest, width - min(longest, NAME_WIDTH))):
        for header in range(broad, HEADER_WIDTH - 1, -1):
            blocks = _blocks(_columns(table, cells, header), room)
            if max(map(total, blocks)) <= room and (best is None or len(blocks) < len(best)):
                best = blocks
    if best is None:
        best = _blocks(_columns(table, cells, HEADER_WIDTH), width - NAME_WIDTH)
    left = width - max(map(total, best))
    short = shortened(names, max(left, NAME_WIDTH), ellipsis)
    shown = [short[name] for name in names]
    return Fit(shown, max([cell_len(table.head), *map(cell_len, shown)]), best)


def full_name(table: ResultTable, place: int) -> str:
    """The printed name of a row, on one line, with the letter of a baseline."""
    row = table.rows[place]
    mark = letter_of_row(table, row)
    return one_line(row.title) + (f" ({mark})" if mark else "")


def _columns(table: ResultTable, cells: Sequence[list[list[Text]]], header: int) -> list[Printed]:
    """Every column, its header at most ``header`` wide or as wide as its cells."""
    found = []
    for column, lines in zip(table.columns, cells, strict=True):
        inner = max((line.cell_len for cell in lines for line in cell), default=1)
        titles = wrap_title(one_line(column.title), max(header, inner))
        width = max(inner, *map(cell_len, titles))
        found.append(Printed(one_line(column.group), titles, lines, inner, width))
    return _room_for_groups(found)


def _room_for_groups(columns: list[Printed]) -> list[Printed]:
    """The columns, the last of each group widened where the group's name needs it."""
    result: list[Printed] = []
    for name, run in groupby(columns, key=lambda column: column.group):
        members = list(run)
        missing = cell_len(name) - (total(members) - len(GAP))
        if missing > 0:
            members[-1] = replace(members[-1], width=members[-1].width + missing)
        result += members
    return result


def _blocks(columns: Sequence[Printed], room: int) -> list[list[Printed]]:
    """The columns in as few blocks as fit; a group stays whole where it fits by itself."""
    blocks: list[list[Printed]] = [[]]
    for _, run in groupby(columns, key=lambda column: column.group):
        members = list(run)
        pieces = [members] if total(members) <= room else [[column] for column in members]
        if not members[0].group:
            pieces = [[column] for column in members]
        for piece in pieces:
            if blocks[-1] and total([*blocks[-1], *piece]) > room:
                blocks.append([])
            blocks[-1] += piece
    return blocks
