"""Rows of a topic, a document and a number: their layouts, one check, and files of columns.

White space (C's ``isspace`` in any locale) separates columns. ``#`` and quotation marks have no
special meaning: docnos contain both. Blank lines are ignored. The columns are a layout's: TREC's,
or those that the user names.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adducir.core.errors import InputError, UsageError, worded
from adducir.corpora.frames import GRADE, SCORE, Integers, repeated_rows

MOST_FAULTS = 20
_BLOCK = 1 << 19  # bytes per block, so that intermediate arrays stay in cache
_LIMIT = 2**53  # from here on a float64 no longer holds every integer
_A = {"run": "a run", "qrels": "qrels"}
NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]+)?")


class ColumnLayout(NamedTuple):
    """A format: the name of its files, its columns, and which of them is numeric."""

    kind: str
    columns: tuple[str, ...]
    number: str
    meant: str
    names: tuple[str, ...]
    """What the numeric column is called in tables."""
    setting: str
    """The setting that names the columns."""


RUN = ColumnLayout(
    "run",
    ("qid", "Q0", "docno", "rank", "score", "tag"),
    *("score", "a finite number", SCORE, "columns"),
)
BY_RANK = RUN._replace(number="rank", names=("rank",))  # without scores
QRELS = ColumnLayout(
    "qrels",
    ("qid", "iteration", "docno", "grade"),
    *("grade", "an integer", GRADE, "qrels_columns"),
)
SUBTOPIC = "iteration"
"""The column of qrels in which diversity tracks name a subtopic."""
SUBTOPICS = ("subtopic", "subtopic_id", SUBTOPIC)
"""What it is called in tables."""


def named_layout(base: ColumnLayout, names: Sequence[str]) -> ColumnLayout:
    """The layout with the user's columns; names that have no meaning here are of no use.

    A run needs a score or a rank, which is used where scores are missing; qrels a grade.
    """
    names, usual = [SUBTOPIC if name in SUBTOPICS else name for name in names], base.number
    if base.kind == "run" and "score" not in names:
        base = BY_RANK
    wrong = [name for name in {"qid", "docno", base.number} if list(names).count(name) != 1]
    if wrong:
        need = "qid, docno and score or rank" if base.kind == "run" else "qid, docno and grade"
        said = f"{worded(base.setting)}: the columns {', '.join(names)}"
        message = f"{said} do not name {need}, once each."
        hint = f"Write - for a column that is not used: qid,-,docno,{usual}."
        raise UsageError(message, hint=hint)
    columns = [name if name in base.columns else f"-{at}" for at, name in enumerate(names)]
    return base._replace(columns=tuple(columns))


class Fault(NamedTuple):
    """An error in a line, or in the file (0)."""

    line: int
    code: str
    message: str

    def error(self, path: Path) -> InputError:
        return InputError(self.message, path=path, line=self.line or None)


class Columns(NamedTuple):
    """Valid rows, their lines (None: 1, 2, ...; 0: unknown), and the first faults of the others."""

    frame: pl.DataFrame
    lines: Integers | None = None
    faults: Sequence[Fault] = ()
    malformed: int = 0

    def line(self, row: int) -> int:
        return row + 1 if self.lines is None else int(self.lines[row])


def checked(
    frame: pl.DataFrame,
    layout: ColumnLayout,
    lines: Sequence[int] | None = None,
    *,
    repeats: bool = False,
    faults: Sequence[Fault] = (),
) -> Columns:
    """The rows whose numbers fit, as Float64, and whose pairs are new, unless they may repeat.

    ``frame`` has qid, docno and the layout's number, as text or numbers; ``lines`` are the rows' in
    a file, and ``faults`` those of other lines.
    """
    number = frame[layout.number].cast(pl.Float64, strict=False)
    fits = number.is_finite() & frame["qid"].is_not_null() & frame["docno"].is_not_null()
    if layout.kind == "qrels":
        fits &= (number.abs() < _LIMIT) & (number == number.floor())
    elif layout.number == "rank":
        fits &= number >= 0
    is_right: Any = fits.fill_null(value=False).to_numpy().copy()
    every = Columns(frame, None if lines is None else np.array(lines, dtype=np.int64))
    faults = [*faults]
    for row in np.flatnonzero(~is_right).tolist():
        line = 0 if lines is None else every.line(row)
        message = _misfit(frame.row(row, named=True), number[row], layout, line)
        faults.append(Fault(every.line(row), layout.number, message))
    if not repeats and len(repeated_rows(frame.filter(is_right) if faults else frame)):
        first = dict[tuple[str, str], int]()
        for row, (qid, docno) in enumerate(frame.select("qid", "docno").iter_rows()):
            if is_right[row] and first.setdefault((qid, docno), row) != row:
                is_right[row] = False
                message = f"document {docno} of topic {qid} is repeated"
                if lines is not None:
                    message += f"; it is also on line {every.line(first[qid, docno])}"
                faults.append(Fault(every.line(row), "duplicate", f"{message}."))
    if lines is not None and frame.is_empty() and not faults:
        faults = [Fault(0, "empty", f"the {layout.kind} file is empty.")]
    frame, of_row = frame.with_columns(number), every.lines
    if not is_right.all():
        frame, of_row = frame.filter(is_right), None if of_row is None else of_row[is_right]
    faults.sort(key=lambda fault: fault.line)
    return Columns(frame, of_row, faults[:MOST_FAULTS], len(faults))


def _misfit(row: Mapping[str, Any], number: float | None, layout: ColumnLayout, line: int) -> str:
    """What is wrong with a row's number, or else with its ids."""
    if row["qid"] is None or row["docno"] is None:
        return "a qid or docno is missing, or is neither text nor an integer."
    problem = f"is not {'a rank' if layout.number == 'rank' else layout.meant}"
    if layout.kind == "qrels" and number is not None and number.is_integer():
        problem = f"is too large: more than {_LIMIT - 1:,}"
    which = "" if line else f" of document {row['docno']} for topic {row['qid']}"
    if line and row[layout.number] is None:
        return f"the {layout.number} is missing."
    return f"the {layout.number} {row[layout.number]!r}{which} {problem}."


def checked_rows(
    rows: Iterable[tuple[int, Sequence[str]]],
    layout: ColumnLayout,
    fields: Sequence[str],
    *,
    repeats: bool = False,
) -> Columns:
    """The columns of a file's lines; those with other numbers of columns are faults."""
    right, lines, faults = list[Sequence[str]](), list[int](), list[Fault]()
    for line, cells in rows:
        if len(cells) == len(layout.columns):
            right.append(cells)
            lines.append(line)
            continue
        message, code = _of_other_width(cells, layout, is_first=not right)
        faults.append(Fault(line, code, message))
        if code in ("run", "qrels"):  # it is another kind of file
            break
    schema = dict.fromkeys(layout.columns, pl.String)
    frame = pl.DataFrame(right, schema=schema, orient="row").select(fields)
    frame = frame.with_columns(pl.all().replace("", None))
    return checked(frame, layout, lines, repeats=repeats, faults=faults)


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
    if frame is not None and frame.height == lines:
        columns = checked(frame, layout, repeats=repeats)
        if not columns.faults:
            return columns
    texts = enumerate(data.decode().split("\n"), 1)
    rows = ((line, text.split(" ")) for line, text in texts if text)
    return checked_rows(rows, layout, fields, repeats=repeats)


def tabbed(data: bytes) -> bytes:
    """Columns that commas or semicolons separate, with tabs instead."""
    first = next((line for line in data[:10_000].split(b"\n") if line.strip()), b"")
    for separator in (b",", b";"):
        is_separated = len(first.split()) == 1 and len(first.split(separator)) > 2
        if is_separated and b'"' not in data:
            return data.replace(separator, b"\t")
    return data


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
    """The columns of a regular file; None if a line has other columns or its number is text."""
    schema = dict.fromkeys(layout.columns, pl.String) | {layout.number: pl.Float64}
    columns = list(map(layout.columns.index, fields))
    try:
        frame = pl.read_csv(
            data, has_header=False, separator=" ", quote_char=None, schema=schema, columns=columns
        )
    except pl.exceptions.PolarsError:
        return None
    # The average is right: if every line has a last column, every line has that many blanks.
    return None if sum(frame.null_count().row(0)) else frame


def _of_other_width(
    cells: Sequence[str], layout: ColumnLayout, *, is_first: bool
) -> tuple[str, str]:
    """What a line of another number of columns is, and the fault's code."""
    message = f"this line has {len(cells)}, not {_shown(layout)}."
    is_number = [NUMBER.fullmatch(cell) is not None for cell in cells]
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
