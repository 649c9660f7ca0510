"""A result table for the terminal, with or without colour, at any width.

Digits are never cut: measures' names wrap first, then long system names are cut in the middle (and
listed in full below), then columns are split into blocks.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import ClassVar

from pydantic import Field
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from adducir.tables.formats import TableFormat
from adducir.tables.formats.names import one_line, shortened, wrap_title
from adducir.tables.table import SIGNS, ResultTable

GAP = "  "
NAME_WIDTH = 16
"""The minimum width of cut system names."""
HEADER_WIDTH = 6
"""The minimum width of measures' names, unless their cells are wider."""
_COLOURS = {"set": "", "better": "green", "worse": "red", "equivalent": "cyan"}


class Terminal(TableFormat):
    """Lines for a terminal of any width."""

    ending: ClassVar = ".txt"
    width: int = Field(100, ge=1)
    """Columns of the terminal."""
    color: bool = False
    """Marks in colour."""

    def render(self, table: ResultTable) -> str:
        # Nothing depends on colour alone; NO_COLOR in the environment leaves only bold.
        console = Console(
            file=io.StringIO(),
            width=max(self.width, 20),
            force_terminal=self.color,
            highlight=False,
            legacy_windows=False,
        )
        page = _Page(table, self.width)
        with console.capture() as capture:
            if table.title:
                console.print(Text(one_line(table.title), style="bold"))
            for line in page.lines():
                line.rstrip()
                console.print(line, no_wrap=True, overflow="ignore", crop=False)
            for note in page.notes():
                console.print(Text(note, style="dim" if self.color else ""))
        return "".join(line.rstrip(" ") + "\n" for line in capture.get().splitlines())


@dataclass(frozen=True)
class _Printed:
    """A column ready to print: the lines of each row, the widest cell's width, the column's."""

    group: str
    header: list[str]
    cells: list[list[Text]]
    inner: int
    width: int


def _total(columns: Sequence[_Printed]) -> int:
    return sum(len(GAP) + column.width for column in columns)


class _Page:
    def __init__(self, table: ResultTable, width: int) -> None:
        self.table = table
        self.full = [
            one_line(row.title) + (f" ({row.letter})" if row.letter else "") for row in table.rows
        ]
        self._cells = [self._column(place) for place in range(len(table.columns))]
        self.blocks = self._fitted(width)
        left = width - max(map(_total, self.blocks))
        short = shortened(self.full, max(left, NAME_WIDTH))
        self.names = [short[name] for name in self.full]
        self.name_width = max([cell_len(table.head), *map(cell_len, self.names)])

    def _column(self, place: int) -> list[list[Text]]:
        cells = [row.cells[place] for row in self.table.rows]
        digits = max((len(cell.text) for cell in cells), default=1)
        bullets = any(cell.best for cell in cells)
        texts = []
        for cell in cells:
            bullet = SIGNS["best"] if cell.best else " "
            text = Text(bullet if bullets else "")
            text.append(cell.text.rjust(digits), style="bold" if cell.best else "")
            for mark in cell.marks:
                text.append(SIGNS[mark.kind] + mark.letters, style=_COLOURS[mark.kind])
            texts.append([text, *(Text(line, style="dim") for line in cell.lines)])
        return texts

    def _fitted(self, width: int) -> list[list[_Printed]]:
        """As few blocks as possible; among those, full names first, then the widest header."""
        longest = max([cell_len(self.table.head), *map(cell_len, self.full)])
        broad = max([HEADER_WIDTH, *(len(column.title) for column in self.table.columns)])
        best: list[list[_Printed]] | None = None
        for room in dict.fromkeys((width - longest, width - min(longest, NAME_WIDTH))):
            for header in range(broad, HEADER_WIDTH - 1, -1):
                blocks = _blocks(self._printed(header), room)
                if max(map(_total, blocks)) <= room and (best is None or len(blocks) < len(best)):
                    best = blocks
        return best or _blocks(self._printed(HEADER_WIDTH), width - NAME_WIDTH)

    def _printed(self, header: int) -> list[_Printed]:
        """Every column, its header at most ``header`` wide or as wide as its cells."""
        columns: list[_Printed] = []
        for column, lines in zip(self.table.columns, self._cells, strict=True):
            inner = max((line.cell_len for cell in lines for line in cell), default=1)
            titles = wrap_title(one_line(column.title), max(header, inner))
            width = max(inner, *map(cell_len, titles))
            columns.append(_Printed(one_line(column.group), titles, lines, inner, width))
        last = {column.group: place for place, column in enumerate(columns)}
        for name, place in last.items():  # widened if the group's name needs it
            own = _total([column for column in columns if column.group == name]) - len(GAP)
            extra = max(0, cell_len(name) - own)
            columns[place] = replace(columns[place], width=columns[place].width + extra)
        return columns

    def lines(self) -> Iterator[Text]:
        width = self.name_width + max(map(_total, self.blocks))
        for block in self.blocks:
            yield Text("━" * width)
            yield from self._header(block)
            yield Text("─" * width)
            place = 0
            for section, rows in self.table.by_section().items():
                if section:
                    yield from [Text("")] * (place > 0)
                    yield Text(one_line(section), style="italic")
                for _ in rows:
                    yield from self._row(block, place)
                    place += 1
        yield Text("━" * width)

    def _header(self, block: Sequence[_Printed]) -> Iterator[Text]:
        if any(column.group for column in block):
            top = under = " " * self.name_width
            for name, run in groupby(block, key=lambda column: column.group):
                width = _total(list(run)) - len(GAP)
                top += GAP + _centred(name, width)
                under += GAP + ("─" if name else " ") * width
            yield Text(top)
            yield Text(under)
        height = max((len(column.header) for column in block), default=1)
        for level in range(height):
            line = one_line(self.table.head) if level == height - 1 else ""
            line = line.ljust(self.name_width)
            for column in block:
                skip = level - (height - len(column.header))
                line += GAP + _centred(column.header[skip] if skip >= 0 else "", column.width)
            yield Text(line, style="bold")

    def _row(self, block: Sequence[_Printed], place: int) -> Iterator[Text]:
        for level in range(max((len(column.cells[place]) for column in block), default=1)):
            line = Text(self.names[place] if level == 0 else "")
            line.pad_right(self.name_width - line.cell_len)
            for column in block:
                indent = (column.width - column.inner) // 2
                line.append(GAP + " " * indent)
                lines = column.cells[place]
                text = lines[level].copy() if level < len(lines) else Text("")
                text.pad_right(column.width - indent - text.cell_len)
                line.append_text(text)
            yield line

    def notes(self) -> Iterator[str]:
        for short, name in dict(zip(self.names, self.full, strict=True)).items():
            if short != name:
                yield f"{short} is {name}"
        yield from map(one_line, self.table.footer())


def _blocks(columns: Sequence[_Printed], room: int) -> list[list[_Printed]]:
    """The columns in as few blocks as fit; a group stays whole if it fits."""
    blocks: list[list[_Printed]] = [[]]
    for name, run in groupby(columns, key=lambda column: column.group):
        members = list(run)
        whole = name and _total(members) <= room
        for piece in [members] if whole else [[column] for column in members]:
            if blocks[-1] and _total([*blocks[-1], *piece]) > room:
                blocks.append([])
            blocks[-1] += piece
    return blocks


def _centred(text: str, width: int) -> str:
    room = max(0, width - cell_len(text))
    return " " * (room // 2) + text + " " * (room - room // 2)
