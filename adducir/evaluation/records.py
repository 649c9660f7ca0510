"""Records of a file: JSON lines, or a table with a header, CSV or columns between tabs."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from adducir.core.csv_files import csv_rows
from adducir.core.errors import InputError
from adducir.core.files import read_lines
from adducir.core.json_lines import json_objects
from adducir.core.texts import nearest, repeated


def first_line(path: Path) -> str:
    """The first line of a file that is not blank; there must be one."""
    first = next((text for _, text in read_lines(path) if text.strip()), None)
    if first is None:
        raise InputError("the file is empty.", path=path)
    return first.lstrip()


def records(path: Path, required: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, str]]]:
    """The records with the 1-based lines they begin in; JSON's null is an empty text."""
    first = first_line(path)
    if first.startswith("{"):
        for line, value in json_objects(path):
            record = {key: "" if one is None else str(one) for key, one in value.items()}
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
            what = f"this line has {len(cells)} cells, but the header names {len(header)}."
            hint = None if tabs else "Quote a cell that holds a comma."
            raise InputError(what, path=path, line=line, hint=hint)
        yield line, {name: cell for name, cell in zip(header, cells, strict=True) if name}


def _check(names: Collection[str], required: Sequence[str], path: Path, line: int) -> None:
    for name in required:
        if name not in names:
            hint = f"Required, as columns or as keys of every JSON object: {', '.join(required)}."
            what = f"{name!r} is missing{nearest(name, names)}."
            raise InputError(what, path=path, line=line, hint=hint)
