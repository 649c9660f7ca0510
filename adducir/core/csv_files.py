r"""Tables and records: CSV for spreadsheets, tab-separated columns, JSON lines with an id.

Spreadsheets take a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break for a
formula, quoted or not, and documents, queries and ids come from strangers. So such a text cell is
written with a leading apostrophe, unless it is a plain number; numbers are never changed. Text that
begins with apostrophes followed by one of these characters gets one more, and reading removes one,
so that what is read is what was written.
"""

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_objects
from adducir.core.texts import nearest, repeated

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


def csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The 1-based line where each record begins, and its cells without the guarding apostrophe."""
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader((f"{text}\n" for _, text in read_lines(path)), strict=True)
    begins = 1
    try:
        for cells in reader:
            line, begins = begins, reader.line_num + 1
            guards = [cell[:1] == "'" and _GUARDED.match(cell) is not None for cell in cells]
            yield line, [cell[guard:] for cell, guard in zip(cells, guards, strict=True)]
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}.", path=path, line=begins) from error


def guarded(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def first_line(path: Path) -> str:
    """The first non-blank line of a file, which must have one."""
    first = next((text for _, text in read_lines(path) if text.strip()), None)
    if first is None:
        raise InputError("the file is empty.", path=path)
    return first.lstrip()


def records(path: Path, required: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """The records with the 1-based lines where they begin; JSON's null becomes empty text."""
    first = first_line(path)
    if first.startswith("{"):
        for line, value in json_objects(path):
            record = {key: "" if cell is None else str(cell) for key, cell in value.items()}
            _check(record, required, path, line)
            yield line, record
        return
    tabs, header = "\t" in first, list[str]()
    rows = ((n, text.split("\t")) for n, text in read_lines(path)) if tabs else csv_rows(path)
    for line, row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if not header:
            header = cells
            _check(header, required, path, line)
            if twice := repeated(filter(None, header)):
                raise InputError(f"the column {twice[0]!r} is duplicated.", path=path, line=line)
            continue
        if len(cells) != len(header):
            message = f"this line has {len(cells)} cells, but the header has {len(header)}."
            hint = None if tabs else "Quote cells that contain a comma."
            raise InputError(message, path=path, line=line, hint=hint)
        yield line, {name: cell for name, cell in zip(header, cells, strict=True) if name}


def _check(names: Collection[str], required: Sequence[str], path: Path, line: int) -> None:
    for name in required:
        if name not in names:
            hint = f"Required, as columns or as keys of every JSON object: {', '.join(required)}."
            message = f"{name!r} is missing{nearest(name, names)}."
            raise InputError(message, path=path, line=line, hint=hint)
