"""Text files of columns, runs and qrels: read at once, and the line of whatever is wrong.

Columns stand between blanks or tabs (what C's ``isspace`` names, whatever the language). Neither
``#`` nor a quotation mark means anything: docnos hold both. Blank lines are ignored.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import InputError
from adducir.corpora.frames import Integers, repeated_rows

MOST_FAULTS = 20
_BLANKS = bytes.maketrans(b"\t\v\f\r", b"    ")
_BLOCK = 1 << 19  # bytes looked at together, so that what is derived from them stays in cache
_LIMIT = 2**53  # from here on a float64 no longer holds every integer


class Layout(NamedTuple):
    """A format: what its files are called, its columns, and which of them is a number."""

    kind: str
    columns: tuple[str, ...]
    number: str

    meant: str

    @property
    def shown(self) -> str:
        return f"{len(self.columns)} columns ({' '.join(self.columns)})"


RUN = Layout("run", ("qid", "Q0", "docno", "rank", "score", "tag"), "score", "a finite number")
QRELS = Layout("qrels", ("qid", "iteration", "docno", "grade"), "grade", "an integer")


class Fault(NamedTuple):
    """What is wrong with a line, or with the file (0)."""

    line: int
    code: str
    message: str

    def error(self, path: Path) -> InputError:
        return InputError(self.message, path=path, line=self.line or None)


class Columns(NamedTuple):
    """The good lines of a file in its order, and what is wrong with the others.

    ``lines`` are those of the frame's rows; None: row 0 is line 1, and so on. ``faults`` are the
    first :data:`MOST_FAULTS` of ``malformed`` lines.
    """

    frame: pl.DataFrame
    lines: Integers | None = None
    faults: Sequence[Fault] = ()
    malformed: int = 0

    def line(self, row: int) -> int:
        """The 1-based line of a row."""
        return row + 1 if self.lines is None else int(self.lines[row])


def read_columns(data: bytes, layout: Layout, wanted: Sequence[str]) -> Columns:
    """Read some columns of a file's content: String, the number's Float64.

    Malformed are lines with another number of columns, without a finite number (of qrels: without
    an integer), and those whose qid and docno an earlier one has.
    """
    for clean in (bytes, _with_blanks, _with_single_blanks):
        data = clean(data)
        lines = regular_lines(data, len(layout.columns))
        if lines is None:
            continue
        try:
            frame = _parsed(data, layout, wanted, pl.Float64)
        except pl.exceptions.PolarsError:
            break
        # So many blanks on average, none without a last column: then every line has as many.
        is_whole = frame.height == lines and not any(one.null_count() for one in frame)
        is_right = is_whole and _are_numbers(frame[layout.number], layout).all()
        if is_right and not len(repeated_rows(frame)):
            return Columns(frame)
        break
    return _line_by_line(data, layout, wanted)


def _with_blanks(data: bytes) -> bytes:
    """The same columns between blanks."""
    return (data.replace(b"\r\n", b"\n") if b"\r" in data else data).translate(_BLANKS)


def _with_single_blanks(data: bytes) -> bytes:
    """The same columns between single blanks, none at an end of a line."""
    text = np.frombuffer(data + b"\n", dtype=np.uint8)
    space = (text == 32) | (text == 10)
    keep = text != 32
    keep[:-1] |= ~space[1:]  # of several blanks the last stays ...
    text = text[keep]
    keep = text != 32
    keep[1:] |= text[:-1] != 10  # ... unless it begins the line
    keep[0] = text[0] != 32
    return bytes(text[keep][:-1])


def regular_lines(data: bytes, width: int) -> int | None:
    """How many lines there are if single blanks divide them into ``width`` columns on average.

    None where there is another control character than the line feed, or an empty column.
    """
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


def _parsed(
    data: bytes, layout: Layout, wanted: Sequence[str], number: type[pl.DataType]
) -> pl.DataFrame:
    places = {name: f"column_{place}" for place, name in enumerate(layout.columns, 1)}
    schema = dict.fromkeys(places.values(), pl.String)
    table = pl.read_csv(
        data,
        has_header=False,
        separator=" ",
        quote_char=None,
        schema=schema | {places[layout.number]: number},
        columns=[places[name] for name in wanted],
    )
    return table.select(**{name: places[name] for name in wanted})


def _are_numbers(values: pl.Series, layout: Layout) -> NDArray[np.bool_]:
    found: NDArray[np.float64] = values.to_numpy()
    if layout is RUN:
        return np.isfinite(found)
    is_integer: NDArray[np.bool_] = (np.abs(found) < _LIMIT) & (found == np.trunc(found))
    return is_integer


def _line_by_line(data: bytes, layout: Layout, wanted: Sequence[str]) -> Columns:
    """The same of a file that is not in order throughout."""
    text = np.frombuffer(_with_single_blanks(_with_blanks(data)) + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(text == 10)
    lengths = np.diff(ends, prepend=-1)
    blanks = np.diff(np.searchsorted(np.flatnonzero(text == 32), ends), prepend=0)
    width = np.where(lengths > 1, blanks + 1, 0)  # 0: a blank line
    names = list(dict.fromkeys(("qid", "docno", layout.number, *wanted)))
    frame = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    if (whole := _fault_of_file(width, layout)) is not None:
        frame = frame.select(wanted).cast({layout.number: pl.Float64})
        return Columns(frame, faults=[whole], malformed=1)
    is_good = width == len(layout.columns)
    lines = np.flatnonzero(is_good) + 1
    if len(lines):
        frame = _parsed(text[np.repeat(is_good, lengths)].tobytes(), layout, names, pl.String)
    faults = [
        Fault(line + 1, "columns", f"this line has {width[line]}, not {layout.shown}.")
        for line in _first((width > 0) & ~is_good)
    ]
    value = frame[layout.number].cast(pl.Float64, strict=False).fill_null(np.nan)
    is_number = _are_numbers(value, layout)
    for row in _first(~is_number):
        what = f"the {layout.number} {frame[layout.number][row]!r} is not {layout.meant}."
        faults.append(Fault(int(lines[row]), layout.number, what))
    frame, lines = frame.with_columns(value).filter(is_number), lines[is_number]
    is_again = np.zeros(len(lines), dtype=bool)
    is_again[repeated_rows(frame)] = True
    for row in _first(is_again):
        qid, docno = frame["qid"][row], frame["docno"][row]
        first = ((frame["qid"] == qid) & (frame["docno"] == docno)).arg_max() or 0
        what = f"document {docno} of topic {qid} is repeated: line {lines[first]} has it as well."
        faults.append(Fault(int(lines[row]), "duplicate", what))
    malformed = int(np.count_nonzero(width) - np.count_nonzero(~is_again))
    rows = frame.select(wanted).filter(~is_again)
    return Columns(rows, lines[~is_again], sorted(faults)[:MOST_FAULTS], malformed)


def _fault_of_file(width: Integers, layout: Layout) -> Fault | None:
    """What shows that a file is not of the layout at all: no text, or a first line of another."""
    if not width.any():
        return Fault(0, "empty", f"the {layout.kind} is empty.")
    first, other = int(np.argmax(width > 0)), QRELS if layout is RUN else RUN
    if width[first] != len(other.columns):
        return None
    kind = "a run" if other is RUN else "qrels"
    what = f"this looks like {kind}: it has {other.shown}, not {layout.shown}."
    return Fault(first + 1, other.kind, what)


def _first(mask: NDArray[np.bool_]) -> list[int]:
    found: list[int] = np.flatnonzero(mask)[:MOST_FAULTS].tolist()
    return found
