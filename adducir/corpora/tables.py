"""Tables with named columns, as pandas, polars, ranx or a spreadsheet write them: CSV and Parquet.

A corpus is read row by row. Topics, qrels and runs are small and become frames. One rule decides
what quotes are in tab-separated files of all kinds (:func:`has_csv_quotes`).
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import polars as pl

from adducir.core.errors import InputError, worded
from adducir.core.files import blocks, read_lines, suffix_of
from adducir.core.json_lines import json_objects
from adducir.core.progress import progress
from adducir.core.texts import counted, nearest, repeated

Quotes = Literal["csv", "literal"]
"""Whether quotes enclose cells or are text; None: as the file shows."""
PARQUET = ".parquet"
TABLES = (".csv", PARQUET)
_ROWS = 10_000
_CELL = r'(?:"(?:[^"]|"")*+"|[^"\t]*+)'
_QUOTED_CELL = re.compile(rf"(?:^|\t)({_CELL})")
_QUOTED_ROW = re.compile(rf"{_CELL}(?:\t{_CELL})*+")


def table_records(path: Path, quotes: Quotes | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The line (in Parquet, the row) and values of each row; a missing one is ``""``.

    Columns without a name, such as a pandas index, are left out, and rows without values.
    """
    rows = _parquet_rows(path) if suffix_of(path) == PARQUET else _csv_rows(path, quotes)
    empty = 0
    for line, record in rows:
        values = {n: "" if value is None else value for n, value in record.items() if n}
        if any(not isinstance(value, str) or value.strip() for value in values.values()):
            yield line, values
        else:
            empty += 1
    if empty:
        progress().note_once(f"{path}: {counted(empty, 'empty row')} skipped")


def first_line(path: Path) -> str:
    """The first non-blank line of a file, which must have one."""
    first = next((text for _, text in read_lines(path) if text.strip()), None)
    if first is None:
        raise InputError("the file is empty.", path=path)
    return first.lstrip()


def text_records(path: Path, required: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table or JSON lines as texts: null is empty, CSV's guards are removed."""
    from adducir.core.csv_files import unguarded

    first = first_line(path)
    is_json, read = first.startswith("{"), str if "\t" in first else unguarded
    for line, row in json_objects(path) if is_json else table_records(path):
        if is_json:
            texts = {key: "" if cell is None else str(cell) for key, cell in row.items()}
        else:
            texts = {read(name): read(cell).strip() for name, cell in row.items()}
        for name in required:
            if name not in texts:
                hint = f"Columns, or keys of every JSON object: {', '.join(required)}."
                message = f"{name!r} is missing{nearest(name, texts)}."
                raise InputError(message, path=path, line=line if is_json else 1, hint=hint)
        yield line, texts


def _csv_rows(path: Path, quotes: Quotes | None) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = read_lines(path)
    first = next((line for line in lines if line[1].strip()), (1, ""))
    delimiter = delimiter_of(first[1])
    rows = cells_of(chain([first], lines), path, delimiter, quotes)
    names = [name.strip(' "') for name in next(rows, (1, [""]))[1]]
    named = [*filter(None, names)]  # spreadsheets may write more columns than they have
    for twice in repeated(named):
        raise InputError(f"the column {twice!r} is repeated.", path=path, line=first[0])
    if len(names) < 2 or not named:
        message = f"the first line must name at least two columns; it is {first[1]!r}."
        raise InputError(message, path=path, line=first[0])
    for line, cells in rows:
        if len(cells) != len(names):
            has = counted(len(cells), "column")
            message = f"this line has {has}, but the header has {len(names)}."
            hint = None if delimiter == "\t" else f"Quote cells that contain {delimiter!r}."
            raise InputError(message, path=path, line=line, hint=hint)
        yield line, dict(zip(names, cells, strict=True))


def cells_of(
    lines: Iterable[tuple[int, str]], path: Path, delimiter: str, quotes: Quotes | None
) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row that is not blank, with the 1-based line where it begins.

    Only quotes that are CSV's may join lines.
    """
    if not has_csv_quotes(path, delimiter, quotes):
        for line, text in lines:
            if text and not text.isspace():
                yield line, text.split(delimiter)
        return
    from adducir.core.csv_files import LONGEST_CELL

    csv.field_size_limit(LONGEST_CELL)
    begin = 0

    def texts() -> Iterator[str]:
        nonlocal begin
        for line, text in lines:
            begin = begin or line
            yield f"{text}\n"

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield begin, cells
            begin = 0
    except csv.Error as error:
        message = f"this is not CSV: {error}."
        hint = f"If quotes are part of the text here, read them so: {worded('quotes', 'literal')}."
        raise InputError(message, path=path, line=begin, hint=hint) from error


def has_csv_quotes(path: Path, delimiter: str, quotes: Quotes | None) -> bool:
    """Whether quotes enclose cells, as CSV's do, or are text, as the user or the file says.

    Commas come with CSV's quotes. Tabs may: the whole file tells. A writer of CSV encloses every
    cell with a quote in it and doubles that, so one cell that does otherwise, such as one that
    would join lines, shows that quotes are text. Otherwise a doubled quote, an enclosed tab or a
    column whose every cell is enclosed shows that they are CSV's.
    """
    if quotes is not None or delimiter != "\t":
        return quotes != "literal"
    state = path.stat()
    is_csv, begins = _quoting(path, (state.st_mtime_ns, state.st_size))
    if begins:
        how, choice = ("enclose cells", "literal") if is_csv else ("are read as text", "csv")
        otherwise = f"{worded('quotes', choice)} reads them otherwise"
        progress().note_once(f"{path}: quotes {how} ({otherwise})")
    return is_csv


@lru_cache(maxsize=64)
def _quoting(path: Path, state: tuple[int, int]) -> tuple[bool, bool]:
    """Whether quotes in tab-separated lines are CSV's; whether a cell begins with one."""
    is_shown, begins, rows = False, False, 0
    enclosed: set[int] | None = None  # the columns whose every cell is enclosed
    for number, (_, line) in enumerate(read_lines(path)):
        rows += bool(number and line.strip())
        if '"' not in line:
            if number and line.strip():
                enclosed = set()
            continue
        begins = begins or line[0] == '"' or '\t"' in line
        if not _QUOTED_ROW.fullmatch(line):
            return False, begins
        cells = [match[1] for match in _QUOTED_CELL.finditer(line)]
        is_shown = is_shown or any(
            cell[:1] == '"' and ('""' in cell[1:-1] or "\t" in cell) for cell in cells
        )
        if number:
            quoted = {at for at, cell in enumerate(cells) if cell[:1] == '"'}
            enclosed = quoted if enclosed is None else enclosed & quoted
    return is_shown or (rows > 1 and bool(enclosed)), begins


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        is_plain = path.suffix.lower() == PARQUET
        source = path if is_plain else BytesIO(b"".join(blocks(path)))
        table = pl.scan_parquet(source, glob=False)
        count = table.select(pl.len()).collect().item()
        for start in range(0, count, _ROWS):
            rows = table.slice(start, _ROWS).collect().iter_rows(named=True)
            yield from enumerate(rows, start + 1)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"this Parquet file cannot be read: {error}.", path=path) from error


def delimiter_of(line: str) -> str:
    """The column separator of a table, from its first line."""
    return max(("\t", ",", ";"), key=line.count)
