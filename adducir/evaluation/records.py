"""Records of a file: JSON lines, or a table with a header, CSV or columns between tabs."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import polars as pl

from adducir.core.csv_files import csv_rows
from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_values
from adducir.core.texts import nearest, repeated


def is_json(path: Path) -> bool:
    """Whether a file holds JSON lines, as its first line shows."""
    first = next((text for _, text in read_lines(path) if text.strip()), None)
    if first is None:
        raise InputError("the file is empty.", path=path)
    return first.lstrip().startswith("{")


def records(path: Path, required: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The records with the 1-based lines they begin in, without white space around cells.

    JSON's null is an empty text; blank lines are ignored.

    Raises:
        InputError: A required column or key is missing, or a column is duplicated; a line has
            another length than the header, or is broken; or the file is empty.
    """
    if not is_json(path):
        frame, lines = table(path, required)
        yield from zip(lines, frame.iter_rows(named=True), strict=True)
        return
    for line, value in json_values(path):
        if not isinstance(value, dict):
            raise InputError("this is not a JSON object.", path=path, line=line)
        record = {key: "" if one is None else str(one) for key, one in value.items()}
        _check(record, required, path, line)
        yield line, record


def table(path: Path, required: Sequence[str] = ()) -> tuple[pl.DataFrame, list[int]]:
    """The columns of a table, all of texts, and the line that each row begins in."""
    first = next((text for _, text in read_lines(path) if text.strip()), "")
    tabs = "\t" in first
    rows = [(n, one) for n, one in (_between_tabs(path) if tabs else csv_rows(path)) if any(one)]
    begin, cells = next((row for row in rows if any(map(str.strip, row[1]))), (1, [""]))
    header = [cell.strip() for cell in cells]
    _check(header, required, path, begin)
    if twice := repeated(name for name in header if name):
        raise InputError(f"the column {twice[0]!r} is duplicated.", path=path, line=begin)
    rows = rows[rows.index((begin, cells)) + 1 :]
    for line, one in rows:
        if len(one) != len(header):
            if not any(map(str.strip, one)):
                continue
            raise InputError(
                f"there are {len(one)} cells where the header names {len(header)}.",
                path=path,
                line=line,
                hint=None if tabs else "Quote a cell that holds a comma.",
            )
    whole = [row for row in rows if len(row[1]) == len(header)]
    names = [name or f"\0{place}" for place, name in enumerate(header)]
    columns = zip(*(one for _, one in whole), strict=True) if whole else [()] * len(names)
    data = {
        name: pl.Series(column, dtype=pl.String)
        for name, column in zip(names, columns, strict=True)
    }
    frame = pl.DataFrame(data).with_columns(pl.all().str.strip_chars())
    return frame, [line for line, _ in whole]


def _between_tabs(path: Path) -> Iterator[tuple[int, list[str]]]:
    for line, text in read_lines(path):
        if "\r" in text:
            raise InputError(
                "this line holds a carriage return that ends no line.",
                path=path,
                line=line,
                hint="End lines with \\n or \\r\\n.",
            )
        yield line, text.split("\t")


def _check(names: Collection[str], required: Sequence[str], path: Path, line: int) -> None:
    for name in required:
        if name not in names:
            raise InputError(
                f"there is no {name!r}{nearest(name, names)}.",
                path=path,
                line=line,
                hint=f"Needed are {', '.join(required)}, in the first line of a table or in every "
                "JSON object.",
            )
