r"""CSV as people open it: read with exact errors, written so that no text runs as a formula.

Spreadsheets take a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line end for
a formula, quoted or not, and what stands in documents, queries and ids is not ours. So a text cell
that begins so is written with an apostrophe before it, unless it is a plain number; numbers are
never changed. A text that begins with apostrophes and then such a character gets one more, and
reading takes one off, so that what is read is what was written.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from adducir.core.errors import InputError
from adducir.core.files import read_lines

_FORMULA = re.compile(r"'*+[=+\-@\t\r\n]")
_GUARDED = re.compile(r"'++[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)
# Python's limit of 131,072 characters is there for readers of unknown dialects; a context that
# judges get may be longer.
_LONGEST_CELL = (1 << 31) - 1


class CsvWriter:
    r"""Writes lines of cells into an open text file, as RFC 4180 with ``\n`` as line end."""

    def __init__(self, handle: TextIO) -> None:
        # The writer quotes a cell for the characters of its line end only, and readers want a
        # carriage return to be quoted as well.
        self.write = lambda line: handle.write(f"{line[:-2]}\n")
        self._writer = csv.writer(self, lineterminator="\r\n")

    def row(self, cells: Iterable[object]) -> None:
        self._writer.writerow([guarded(one) if isinstance(one, str) else one for one in cells])

    def rows(self, lines: Iterable[Iterable[object]]) -> None:
        for cells in lines:
            self.row(cells)


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The 1-based line each record begins in, and its cells as they were before being guarded."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader((f"{text}\n" for _, text in read_lines(path)), strict=True)
    begins = 1
    try:
        for cells in reader:
            line, begins = begins, reader.line_num + 1
            yield line, [unguarded(cell) if cell[:1] == "'" else cell for cell in cells]
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}.", path=path, line=begins) from error


def guarded(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(text: str) -> str:
    return text[1:] if _GUARDED.match(text) else text
