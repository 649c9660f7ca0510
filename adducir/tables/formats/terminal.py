"""A result table for the terminal, with or without colour, at any width.

Digits are never broken or cut. Where the width is short, the measures' names go over several
lines first, then long system names are cut in the middle (and listed in full below the table),
then the columns go into several blocks, one below the other.
"""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from pydantic import Field
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from adducir.tables.formats.fitting import GAP, Fit, Printed, fit, full_name, total
from adducir.tables.formats.format import TableFormat
from adducir.tables.formats.layout import (
    ABSENT,
    LegendKind,
    detail_lines,
    figure,
    is_best,
    legend,
    marks,
    sections,
)
from adducir.tables.formats.names import one_line
from adducir.tables.table import ResultTable

_STYLES = {"set": "", "better": "green", "worse": "red", "equivalent": "cyan"}


@dataclass(frozen=True)
class Signs:
    """The characters that stand for marks and lines."""

    best: str = "•"
    may_be_best: str = "°"
    better: str = "↑"
    worse: str = "↓"
    equivalent: str = "≈"
    heavy: str = "━"
    thin: str = "─"
    ellipsis: str = "…"
    absent: str = ABSENT
    plus_minus: str = "±"

    def of(self, kind: LegendKind) -> str:
        """The sign of one kind of mark."""
        signs: dict[LegendKind, str] = {
            "best": self.best,
            "set": self.may_be_best,
            "better": self.better,
            "worse": self.worse,
            "equivalent": self.equivalent,
        }
        return signs[kind]

    def spell(self, text: str) -> str:
        """A text of the shared layout in these characters."""
        for sign, mine in ((ABSENT, self.absent), ("≈", self.equivalent), ("±", self.plus_minus)):
            text = text.replace(sign, mine)
        return text


UNICODE = Signs()
ASCII = Signs("*", "o", "+", "-", "~", "=", "-", "...", "-", "+/-")


class Terminal(TableFormat):
    """Lines for a terminal of any width."""

    ending: ClassVar = ".txt"
    width: int = Field(100, ge=1, description="Columns of the terminal.")
    color: bool = Field(False, description="Marks in colour.")
    ascii_only: bool = Field(False, description="No character beyond ASCII.")

    def render(self, table: ResultTable) -> str:
        return render(table, width=self.width, color=self.color, ascii_only=self.ascii_only)


def render(
    table: ResultTable, *, width: int = 100, color: bool = False, ascii_only: bool = False
) -> str:
    """The table as lines of at most ``width`` cells, where that is possible.

    Args:
        table: What to print.
        width: Width of the terminal in cells.
        color: Add ANSI colour and bold (NO_COLOR in the environment leaves only bold). No
            information depends on it.
        ascii_only: Use no character outside ASCII for marks and lines, for a terminal or a file
            that has no Unicode; names stay as they are.

    Returns:
        Text that ends in a line break.
    """
    signs = ASCII if ascii_only else UNICODE
    console = Console(
        file=io.StringIO(),
        width=max(width, 20),
        force_terminal=color,
        highlight=False,
        legacy_windows=False,
    )
    cells = [_cells(table, place, signs) for place in range(len(table.columns))]
    fitted = fit(table, cells, width, signs.ellipsis)
    with console.capture() as capture:
        if table.title:
            console.print(Text(one_line(table.title), style="bold"))
        for line in _lines(table, fitted, signs):
            line.rstrip()
            console.print(line, no_wrap=True, overflow="ignore", crop=False)
        for note in _notes(table, fitted, signs):
            console.print(Text(note, style="dim" if color else ""))
    return "".join(line.rstrip(" ") + "\n" for line in capture.get().splitlines())


def _cells(table: ResultTable, place: int, signs: Signs) -> list[list[Text]]:
    """The lines of one column's cells; numbers are aligned at the point, marks follow."""
    column = table.columns[place]
    cells = [row.cells[place] for row in table.rows]
    numbers = [signs.spell(figure(table, column, cell)) for cell in cells]
    digits = max(map(len, numbers), default=1)
    bullets = any(is_best(column, cell) for cell in cells)
    texts = []
    for cell, digits_of in zip(cells, numbers, strict=True):
        best = is_best(column, cell)
        text = Text(signs.best if best else " " * len(signs.best)) if bullets else Text("")
        text.append(digits_of.rjust(digits), style="bold" if best else "")
        for mark in marks(table, column, cell):
            text.append(signs.of(mark.kind) + mark.letters, style=_STYLES[mark.kind])
        details = detail_lines(table, column, cell)
        texts.append([text, *(Text(signs.spell(line), style="dim") for line in details)])
    return texts


def _lines(table: ResultTable, fitted: Fit, signs: Signs) -> Iterator[Text]:
    """All blocks: booktabs' three lines, the header, the rows under their sections."""
    width = fitted.name_width + max(map(total, fitted.blocks))
    for block in fitted.blocks:
        yield Text(signs.heavy * width)
        yield from _header(table.head, block, fitted.name_width, signs)
        yield Text(signs.thin * width)
        place = 0
        for section, rows in sections(table):
            if section:
                yield from [Text("")] * (place > 0)
                yield Text(one_line(section), style="italic")
            for _ in rows:
                yield from _row(fitted.names[place], fitted.name_width, block, place)
                place += 1
    yield Text(signs.heavy * width)


def _header(head: str, block: Sequence[Printed], name_width: int, signs: Signs) -> Iterator[Text]:
    """The groups over a thin line, then the measures, resting on the last line."""
    if any(column.group for column in block):
        top = under = " " * name_width
        for name, run in groupby(block, key=lambda column: column.group):
            width = total(list(run)) - len(GAP)
            top += GAP + _centred(name, width)
            under += GAP + (signs.thin if name else " ") * width
        yield Text(top)
        yield Text(under)
    height = max((len(column.header) for column in block), default=1)
    for level in range(height):
        line = (one_line(head) if level == height - 1 else "").ljust(name_width)
        for column in block:
            skip = level - (height - len(column.header))
            line += GAP + _centred(column.header[skip] if skip >= 0 else "", column.width)
        yield Text(line, style="bold")


def _centred(text: str, width: int) -> str:
    room = max(0, width - cell_len(text))
    return " " * (room // 2) + text + " " * (room - room // 2)


def _row(name: str, name_width: int, block: Sequence[Printed], place: int) -> Iterator[Text]:
    """A row's lines: the means, then the details under them."""
    for level in range(max((len(column.cells[place]) for column in block), default=1)):
        line = Text(name if level == 0 else "")
        line.pad_right(name_width - line.cell_len)
        for column in block:
            indent = (column.width - column.inner) // 2
            line.append(GAP + " " * indent)
            lines = column.cells[place]
            text = lines[level].copy() if level < len(lines) else Text("")
            text.pad_right(column.width - indent - text.cell_len)
            line.append_text(text)
        yield line


def _notes(table: ResultTable, fitted: Fit, signs: Signs) -> Iterator[str]:
    """Legend, shortened names and footer."""
    for kinds, meaning in legend(table):
        marked = " ".join(map(signs.of, kinds))
        meaning = one_line(meaning)
        yield f"{marked}  {meaning}" if marked else signs.spell(meaning)
    full = [full_name(table, place) for place in range(len(table.rows))]
    for short, name in dict(zip(fitted.names, full, strict=True)).items():
        if short != name:
            yield f"{short} is {name}"
    yield from (signs.spell(one_line(sentence)) for sentence in table.footer)
