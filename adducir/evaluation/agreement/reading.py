"""Read ratings from CSV, one judgement a line.

The first line names the columns, in any order:

==========  ======================================================================
``item``    what was judged: a question, a context
``rater``   who judged
``system``  whose answer
``rating``  a number, or any text where it is a mere category; empty: not rated
``rank``    1 for the best of the item's answers; equal ranks are ties; empty: none
==========  ======================================================================

``item``, ``rater`` and ``system`` are required, and one of ``rating`` and ``rank``; other columns
are ignored. Cells may be quoted as in RFC 4180, and hold an apostrophe before what a
spreadsheet would take for a formula (:mod:`adducir.core.csv_files`). The file may be gzipped.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from adducir.core.csv_files import csv_rows
from adducir.core.errors import InputError
from adducir.core.texts import nearest, repeated
from adducir.evaluation.agreement.ratings import Ratings, make_ratings, number_of

NAMES = ("item", "rater", "system")
VALUES = ("rating", "rank")


def read_ratings(path: Path) -> Ratings:
    """Read a file of ratings.

    Raises:
        InputError: A column is missing or named twice; a line has another number of cells, an
            empty name or a rank that is no number of 1 or more; a rater rates the same answer
            twice; or there is no rating at all. With the line.
    """
    rows: list[tuple[str, str, str, str, float]] = []
    lines: list[int] = []
    seen: dict[tuple[str, str, str], int] = {}
    for line, record in records(path, NAMES):
        if not any(name in record for name in VALUES):
            raise InputError(
                "there is neither a column rating nor a column rank.",
                path=path,
                line=1,
                hint="Add one of them.",
            )
        names = _names(record, path, line)
        before = seen.setdefault(names, line)
        if before != line:
            item, rater, system = names
            raise InputError(
                f"{rater} judges {system} on {item} twice, first in line {before}.",
                path=path,
                line=line,
                hint="Keep one of the two.",
            )
        rows.append((*names, record.get("rating", ""), _rank(record.get("rank", ""), path, line)))
        lines.append(line)
    if not any(row[3] or np.isfinite(row[4]) for row in rows):
        raise InputError("there is no rating and no rank in it.", path=path)
    return make_ratings(rows, source=str(path), lines=lines)


def records(path: Path, required: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The records of a CSV file with a header, cells without white space around them.

    Args:
        path: The file, plain or gzipped.
        required: Columns that it must have.

    Yields:
        The 1-based line a record begins in, and its cells by column; blank lines are ignored.

    Raises:
        InputError: No header, a column missing or twice, a line of another length, or an open
            quotation mark.
    """
    columns: list[str] | None = None
    for line, row in csv_rows(path):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if columns is None:
            columns = _header(cells, required, path, line)
        elif len(cells) != len(columns):
            raise InputError(
                f"there are {len(cells)} cells where the header names {len(columns)}.",
                path=path,
                line=line,
                hint="Quote a cell that holds a comma.",
            )
        else:
            yield line, dict(zip(columns, cells, strict=True))
    if columns is None:
        raise InputError("the file is empty.", path=path)


def _header(columns: list[str], required: tuple[str, ...], path: Path, line: int) -> list[str]:
    for name in required:
        if name not in columns:
            raise InputError(
                f"there is no column {name!r}{nearest(name, columns)}.",
                path=path,
                line=line,
                hint=f"The first line must name the columns, {', '.join(required)} among them.",
            )
    twice = repeated(name for name in columns if name)
    if twice:
        raise InputError(f"the column {twice[0]!r} comes twice.", path=path, line=line)
    return columns


def _names(record: dict[str, str], path: Path, line: int) -> tuple[str, str, str]:
    for name in NAMES:
        if not record[name]:
            raise InputError(f"the cell of {name!r} is empty.", path=path, line=line)
    return record["item"], record["rater"], record["system"]


def _rank(text: str, path: Path, line: int) -> float:
    if not text:
        return float("nan")
    value = number_of(text)
    if not value >= 1:
        raise InputError(f"the rank {text!r} is not a number of 1 or more.", path=path, line=line)
    return value
