r"""CSV for spreadsheets.

Spreadsheets take a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break for a
formula, quoted or not, and documents, queries and ids come from strangers. So such a text cell is
written with a leading apostrophe, unless it is a plain number; numbers are never changed. Text that
begins with apostrophes followed by one of these characters gets one more, and reading removes one,
so that what is read is what was written.
"""

import csv
import re
from collections.abc import Iterable
from typing import TextIO

_FORMULA = re.compile(r"'*+[=+\-@\t\r\n]")
_GUARDED = re.compile(r"'++[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)
# Python limits cells to 131,072 characters; a context shown to judges may be longer.
LONGEST_CELL = (1 << 31) - 1


class CsvWriter:
    def __init__(self, handle: TextIO) -> None:
        # The writer quotes a cell only for characters of its own line end, but readers need a
        # carriage return quoted as well.
        self.write = lambda line: handle.write(f"{line[:-2]}\n")
        self._writer = csv.writer(self, lineterminator="\r\n")

    def row(self, cells: Iterable[object]) -> None:
        self._writer.writerow([guarded(cell) if isinstance(cell, str) else cell for cell in cells])

    def rows(self, lines: Iterable[Iterable[object]]) -> None:
        for cells in lines:
            self.row(cells)


def guarded(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(text: str) -> str:
    return text[1:] if text[:1] == "'" and _GUARDED.match(text) else text
