"""Records of a file: JSON lines, or a table with a header, CSV or columns between tabs."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from adducir.core.csv_files import csv_rows
from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_values
from adducir.core.texts import nearest, repeated


def records(path: Path, required: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The records with the 1-based lines they begin in, without white space around cells.

    What the file is is seen in its first line. JSON's null is an empty text; blank lines are
    ignored.

    Raises:
        InputError: A required column or key is missing, or a column comes twice; a line has
            another length than the header, or is broken; or the file is empty.
    """
    first = next((text for _, text in read_lines(path) if text.strip()), None)
    if first is None:
        raise InputError("the file is empty.", path=path)
    if first.lstrip().startswith("{"):
        for line, value in json_values(path):
            record = _texts(value, path, line)
            _check(record, required, path, line)
            yield line, record
        return
    rows = _between_tabs(path) if "\t" in first else csv_rows(path)
    filled = ((line, [cell.strip() for cell in row]) for line, row in rows)
    filled = ((line, cells) for line, cells in filled if any(cells))
    line, header = next(filled)
    _check(header, required, path, line)
    if twice := repeated(name for name in header if name):
        raise InputError(f"the column {twice[0]!r} comes twice.", path=path, line=line)
    for line, cells in filled:
        if len(cells) != len(header):
            raise InputError(
                f"there are {len(cells)} cells where the header names {len(header)}.",
                path=path,
                line=line,
                hint=None if "\t" in first else "Quote a cell that holds a comma.",
            )
        yield line, dict(zip(header, cells, strict=True))


def _texts(value: Any, path: Path, line: int) -> dict[str, str]:
    if not isinstance(value, dict):
        raise InputError("this is not a JSON object.", path=path, line=line)
    return {key: "" if one is None else str(one) for key, one in value.items()}


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
