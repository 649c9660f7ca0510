"""Column files (runs and qrels): read in bulk, with the line of each error.

White space (C's ``isspace`` in any locale) separates columns. ``#`` and quotation marks have no
special meaning: docnos contain both. Blank lines are ignored.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from adducir.core.errors import InputError
from adducir.corpora.frames import Integers, repeated_rows

MOST_FAULTS = 20
_BLOCK = 1 << 19  # bytes per block, so that intermediate arrays stay in cache
_LIMIT = 2**53  # from here on a float64 no longer holds every integer
_NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]+)?")


class Layout(NamedTuple):
    """A format: the name of its files, its columns, and which of them is numeric."""

    kind: str
    columns: tuple[str, ...]
    number: str
    meant: str


RUN = Layout("run", ("qid", "Q0", "docno", "rank", "score", "tag"), "score", "a finite number")
QRELS = Layout("qrels", ("qid", "iteration", "docno", "grade"), "grade", "an integer")


class Fault(NamedTuple):
    """An error in a line, or in the file (0)."""

    line: int
    code: str
    message: str

    def error(self, path: Path) -> InputError:
        return InputError(self.message, path=path, line=self.line or None)


class Columns(NamedTuple):
    """A file's valid lines, their numbers (None: 1, 2, ...), and the first faults of the others."""

    frame: pl.DataFrame
    lines: Integers | None = None
    faults: Sequence[Fault] = ()
    malformed: int = 0

    def line(self, row: int) -> int:
        return row + 1 if self.lines is None else int(self.lines[row])


def read_columns(data: bytes, layout: Layout, wanted: Sequence[str]) -> Columns:
    """Read some columns, the numeric one as Float64; a repeated pair is a fault too."""
    width = len(layout.columns)
    lines = regular_lines(data, width)
    if lines is None:
        lines = regular_lines(data := data.replace(b"\t", b" "), width)
    if lines is None:
        data = b"\n".join(b" ".join(line.split()) for line in data.split(b"\n"))
        lines = regular_lines(data, width)
    frame = None if lines is None else _parsed(data, layout, wanted)
    if frame is None or frame.height != lines or len(repeated_rows(frame)):
        return _line_by_line(data, layout, wanted)
    return Columns(frame)


def regular_lines(data: bytes, width: int) -> int | None:
    """The number of lines if single blanks make ``width`` columns per line on average, or None."""
    text = np.frombuffer(data, dtype=np.uint8)
    blanks = breaks = 0
    if not len(text) or text[0] <= 32:
        return None
    for start in range(0, len(text), _BLOCK):
        block = text[start : start + _BLOCK + 1]  # one more byte, to look across the edge
        space = block <= 32
        if (space[1:] & space[:-1]).any():
            return None
        block, space = block[:_BLOCK], space[:_BLOCK]
        here = int(np.count_nonzero(block == 10))
        if np.count_nonzero(block < 32) != here:
            return None
        breaks += here
        blanks += int(np.count_nonzero(space)) - here
    lines = breaks + int(text[-1] != 10)
    return lines if blanks == (width - 1) * lines and text[-1] != 32 else None


def _parsed(data: bytes, layout: Layout, wanted: Sequence[str]) -> pl.DataFrame | None:
    """The columns of a regular file; None if a line has other columns or lacks the number."""
    schema = dict.fromkeys(layout.columns, pl.String) | {layout.number: pl.Float64}
    columns = list(map(layout.columns.index, wanted))
    try:
        frame = pl.read_csv(
            data, has_header=False, separator=" ", quote_char=None, schema=schema, columns=columns
        )
    except pl.exceptions.PolarsError:
        return None
    # The average is right and every line has a last column, so every line has that many blanks.
    if sum(frame.null_count().row(0)):
        return None
    number = frame[layout.number].to_numpy()
    is_right = np.isfinite(number)
    if layout is QRELS:
        is_right &= (np.abs(number) < _LIMIT) & (number == np.trunc(number))
    return frame if is_right.all() else None


def _line_by_line(data: bytes, layout: Layout, wanted: Sequence[str]) -> Columns:
    rows, lines, faults = list[list[str]](), list[int](), list[Fault]()
    seen = dict[tuple[str, str], int]()
    for line, text in enumerate(data.split(b"\n"), 1):
        cells = [cell.decode() for cell in text.split()]
        if not cells:
            continue
        fault = _fault(line, cells, layout, seen)
        if fault is None:
            row = dict(zip(layout.columns, cells, strict=True))
            rows.append([row[name] for name in wanted])
            lines.append(line)
            continue
        faults.append(fault)
        if fault.code in ("run", "qrels"):  # it is another kind of file
            break
    if not rows and not faults:
        faults = [Fault(0, "empty", f"the {layout.kind} file is empty.")]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(wanted, pl.String), orient="row")
    frame = frame.cast({layout.number: pl.Float64})
    return Columns(frame, np.array(lines, dtype=np.int64), faults[:MOST_FAULTS], len(faults))


def _fault(
    line: int, cells: list[str], layout: Layout, seen: dict[tuple[str, str], int]
) -> Fault | None:
    """What is wrong with a line; ``seen`` maps documents so far to their lines."""
    if len(cells) != len(layout.columns):
        other = QRELS if layout is RUN else RUN
        what = f"this line has {len(cells)}, not {_shown(layout)}."
        if not seen and cells[0].startswith("<"):
            what = f"this looks like topics (XML), not {'a run' if layout is RUN else 'qrels'}."
        if seen or len(cells) != len(other.columns):
            return Fault(line, "columns", what)
        kind = "qrels" if other is QRELS else "a run"
        what = f"this looks like {kind}: it has {_shown(other)}, not {_shown(layout)}."
        return Fault(line, other.kind, what)
    row = dict(zip(layout.columns, cells, strict=True))
    text = row[layout.number]
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    if not math.isfinite(value) or (
        layout is QRELS and not (value.is_integer() and abs(value) < _LIMIT)
    ):
        what = f"the {layout.number} {text!r} is not {layout.meant}."
        return Fault(line, layout.number, what)
    pair = row["qid"], row["docno"]
    if seen.setdefault(pair, line) != line:
        what = "document {1} of topic {0} is repeated; it is also on line {2}."
        return Fault(line, "duplicate", what.format(*pair, seen[pair]))
    return None


def _shown(layout: Layout) -> str:
    return f"{len(layout.columns)} columns ({' '.join(layout.columns)})"
