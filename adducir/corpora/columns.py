"""Column files (runs and qrels): read in bulk, with the line of each error.

White space (C's ``isspace`` in any locale) separates columns. ``#`` and quotation marks have no
special meaning: docnos contain both. Blank lines are ignored. The columns are a layout's: TREC's,
or those that the user names.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from adducir.core.errors import InputError, UsageError
from adducir.corpora.frames import Integers, repeated_rows

MOST_FAULTS = 20
_BLOCK = 1 << 19  # bytes per block, so that intermediate arrays stay in cache
_LIMIT = 2**53  # from here on a float64 no longer holds every integer
_A = {"run": "a run", "qrels": "qrels"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]+)?")


class ColumnLayout(NamedTuple):
    """A format: the name of its files, its columns, and which of them is numeric."""

    kind: str
    columns: tuple[str, ...]
    number: str
    meant: str


RUN = ColumnLayout(
    "run", ("qid", "Q0", "docno", "rank", "score", "tag"), "score", "a finite number"
)
QRELS = ColumnLayout("qrels", ("qid", "iteration", "docno", "grade"), "grade", "an integer")
_RUN_NAMES = ("qid", "docno", "score", "rank", "tag")
SUBTOPIC = "iteration"
"""The column of qrels in which diversity tracks name a subtopic."""
_QRELS_NAMES = ("qid", "docno", "grade", SUBTOPIC)


def named_layout(base: ColumnLayout, names: Sequence[str]) -> ColumnLayout:
    """The layout with the user's columns; names that have no meaning here are of no use.

    A run needs a score or a rank, which is used where scores are missing; qrels a grade.
    """
    names_known = _RUN_NAMES if base.kind == "run" else _QRELS_NAMES
    names = [SUBTOPIC if name in ("subtopic", "subtopic_id") else name for name in names]
    number = "rank" if base.kind == "run" and "score" not in names else base.number
    wrong = [name for name in {"qid", "docno", number} if list(names).count(name) != 1]
    if wrong:
        need = "qid, docno and score or rank" if base.kind == "run" else "qid, docno and grade"
        message = f"the columns {', '.join(names)} do not name {need}, once each."
        raise UsageError(message, hint="Write - for a column that is not used: qid,-,docno,score.")
    columns = [name if name in names_known else f"-{at}" for at, name in enumerate(names)]
    return base._replace(columns=tuple(columns), number=number)


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


def read_columns(
    data: bytes, layout: ColumnLayout, fields: Sequence[str], *, repeats: bool = False
) -> Columns:
    """Read some columns, the numeric one as Float64.

    A repeated pair is a fault too, unless ``repeats`` are asked for.
    """
    width = len(layout.columns)
    lines = regular_lines(data, width)
    if lines is None:
        lines = regular_lines(data := data.replace(b"\t", b" "), width)
    if lines is None:
        data = b"\n".join(b" ".join(line.split()) for line in data.split(b"\n"))
        lines = regular_lines(data, width)
    frame = None if lines is None else _parsed(data, layout, fields)
    if frame is None or frame.height != lines or (not repeats and len(repeated_rows(frame))):
        return _line_by_line(data, layout, fields, repeats)
    return Columns(frame)


def tabbed(data: bytes) -> bytes:
    """Columns that commas or semicolons separate, with tabs instead."""
    first = next((line for line in data[:10_000].split(b"\n") if line.strip()), b"")
    for separator in (b",", b";"):
        is_separated = len(first.split()) == 1 and len(first.split(separator)) > 2
        if is_separated and b'"' not in data:
            return data.replace(separator, b"\t")
    return data


def regular_columns(data: bytes, layout: ColumnLayout) -> bytes:
    """A file of columns that the user names: commas as blanks, and without its header."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)
    width = len(layout.columns)
    separators = (b"\t", b",", b";", None)
    separator = next(
        (separator for separator in separators if len(lines[0].split(separator)) == width), None
    )
    cells = [cell.strip(b' "\r').decode(errors="replace") for cell in lines[0].split(separator)]
    place = layout.columns.index(layout.number)
    if len(cells) == width and not _NUMBER.fullmatch(cells[place]):
        lines[0] = b""  # a header; the line stays, so that the others keep their numbers
    data = b"\n".join(lines)
    return data.replace(separator, b"\t") if separator in (b",", b";") else data


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
        line_ends = int(np.count_nonzero(block == 10))
        if np.count_nonzero(block < 32) != line_ends:
            return None
        breaks += line_ends
        blanks += int(np.count_nonzero(space)) - line_ends
    lines = breaks + int(text[-1] != 10)
    return lines if blanks == (width - 1) * lines and text[-1] != 32 else None


def _parsed(data: bytes, layout: ColumnLayout, fields: Sequence[str]) -> pl.DataFrame | None:
    """The columns of a regular file; None if a line has other columns or lacks the number."""
    schema = dict.fromkeys(layout.columns, pl.String) | {layout.number: pl.Float64}
    columns = list(map(layout.columns.index, fields))
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
    if layout.kind == "qrels":
        is_right &= (np.abs(number) < _LIMIT) & (number == np.trunc(number))
    return frame if is_right.all() else None


def _line_by_line(
    data: bytes, layout: ColumnLayout, fields: Sequence[str], repeats: bool
) -> Columns:
    rows, lines, faults = list[list[str]](), list[int](), list[Fault]()
    seen = dict[tuple[str, str], int]()
    for line, text in enumerate(data.split(b"\n"), 1):
        cells = [cell.decode() for cell in text.split()]
        if not cells:
            continue
        fault = _fault(line, cells, layout, seen)
        if fault is not None and fault.code == "duplicate" and repeats:
            fault = None
        if fault is None:
            row = dict(zip(layout.columns, cells, strict=True))
            rows.append([row[name] for name in fields])
            lines.append(line)
            continue
        faults.append(fault)
        if fault.code in ("run", "qrels"):  # it is another kind of file
            break
    if not rows and not faults:
        faults = [Fault(0, "empty", f"the {layout.kind} file is empty.")]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(fields, pl.String), orient="row")
    frame = frame.cast({layout.number: pl.Float64})
    return Columns(frame, np.array(lines, dtype=np.int64), faults[:MOST_FAULTS], len(faults))


def _fault(
    line: int, cells: list[str], layout: ColumnLayout, seen: dict[tuple[str, str], int]
) -> Fault | None:
    """What is wrong with a line; ``seen`` maps documents so far to their lines."""
    if len(cells) != len(layout.columns):
        message, code = _of_other_width(cells, layout, is_first=not seen)
        return Fault(line, code, message)
    row = dict(zip(layout.columns, cells, strict=True))
    text = row[layout.number]
    value = float(text) if _NUMBER.fullmatch(text) else math.inf
    if not math.isfinite(value) or (
        layout.kind == "qrels" and not (value.is_integer() and abs(value) < _LIMIT)
    ):
        is_large = math.isfinite(value) and value.is_integer()  # as a float64
        wrong = f"is too large: more than {_LIMIT - 1:,}" if is_large else f"is not {layout.meant}"
        message = f"the {layout.number} {text!r} {wrong}."
        return Fault(line, layout.number, message)
    pair = row["qid"], row["docno"]
    if seen.setdefault(pair, line) != line:
        message = "document {1} of topic {0} is repeated; it is also on line {2}."
        return Fault(line, "duplicate", message.format(*pair, seen[pair]))
    return None


def _of_other_width(cells: list[str], layout: ColumnLayout, *, is_first: bool) -> tuple[str, str]:
    """What a line of another number of columns is, and the fault's code."""
    message = f"this line has {len(cells)}, not {_shown(layout)}."
    is_number = [_NUMBER.fullmatch(cell) is not None for cell in cells]
    if layout is RUN and len(cells) > len(RUN.columns) and is_number[4]:
        message = f"{message[:-1]}: {cells[6]!r} follows the tag, which must not contain blanks."
    if not is_first:
        return message, "columns"
    if cells[0].startswith("<"):
        is_page = cells[0].lower().startswith(("<!doctype", "<html"))
        content = "a web page (was it downloaded?)" if is_page else "topics (XML)"
        return f"this looks like {content}, not {_A[layout.kind]}.", "columns"
    rival = QRELS if layout is RUN else RUN
    if layout in (RUN, QRELS) and len(cells) == len(rival.columns):
        message = f"this looks like {_A[rival.kind]}: it has {_shown(rival)}, not {_shown(layout)}."
        return message, rival.kind
    if layout is QRELS and len(cells) == 5 and is_number[4]:
        if all(is_number[2:]):
            message = f"{message[:-1]}: it looks like prels (qid docno grade method probability)."
        else:
            message = f"{message[:-1]}: it looks like subtopic qrels, or trec_eval's preferences."
        return message, "five"
    return message, "columns"


def _shown(layout: ColumnLayout) -> str:
    return f"{len(layout.columns)} columns ({' '.join(layout.columns)})"
