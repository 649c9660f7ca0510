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

from pathlib import Path

import numpy as np

from adducir.core.errors import InputError
from adducir.evaluation.records import records
from adducir.statistics.agreement.ratings import Ratings, make_ratings, number_of

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
