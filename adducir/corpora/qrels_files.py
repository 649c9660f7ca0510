"""Read qrels files fast, and say precisely what is wrong with one that is not right.

Polars reads what is plainly in order. Anything unusual goes through :func:`scan`, which reads
line by line: it either finds the error or reads the file (blank lines, say).
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl

from adducir.core.errors import InputError
from adducir.core.files import read_bytes, read_lines

_COLUMNS = {"qid": pl.String, "iteration": pl.String, "docno": pl.String, "grade": pl.String}
_RUN_COLUMNS = 6
_NUMBER = re.compile(r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d+)?")
_LIMIT = 2**53  # from here on a float64 no longer holds every whole number
_ODD = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: spreads the hashes of few qids over 64 bits


def read_qrels(path: Path) -> pl.DataFrame:
    """The judgements of one file: columns qid, docno (String) and grade (Int64).

    Raises:
        InputError: With the line: not four columns, a grade that is no whole number, not UTF-8;
            or nothing in it, or a run.
    """
    if path.is_dir():
        raise InputError("this is a folder, not a file of qrels.", path=path)
    frame = _fast(read_bytes(path))
    return frame if frame is not None else scan(path)


def _fast(data: bytes) -> pl.DataFrame | None:
    """The frame of a file that is plainly in order, or None."""
    if b"\t" in data or b"\r" in data:
        data = _single_blanks(data)
    if any(odd in data for odd in (b"\r", b"\x0b", b"\x0c")):
        return None  # white space that only scan() knows
    frame = _parse(data)
    return frame if frame is not None else _parse(_single_blanks(data))


def _single_blanks(data: bytes) -> bytes:
    """The same lines with one blank between columns, and none at their ends."""
    data = data.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    return data.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _parse(data: bytes) -> pl.DataFrame | None:
    if not data or data.isspace():
        return None
    try:
        frame = pl.read_csv(data, separator=" ", has_header=False, quote_char=None, schema=_COLUMNS)
    except pl.exceptions.PolarsError:
        return None
    whole = frame["grade"].cast(pl.Int64, strict=False)
    if whole.null_count():
        decimal = frame["grade"].cast(pl.Float64, strict=False)
        if decimal.null_count() or not _all_whole(decimal.to_numpy()):
            return None
        whole = decimal.cast(pl.Int64)
    if not _all_whole(whole.to_numpy()) or any(
        frame[name].null_count() for name in ("qid", "iteration", "docno")
    ):
        return None
    return frame.select("qid", "docno", whole)


def _all_whole(grades: "np.ndarray[Any, Any]") -> bool:
    """Whether all are whole numbers that a float64 holds exactly."""
    inside = (grades > -_LIMIT) & (grades < _LIMIT)
    return bool(np.all(inside & (grades == np.trunc(grades))))


def scan(path: Path) -> pl.DataFrame:
    """Read a file line by line, and stop at the first error.

    Raises:
        InputError: See :func:`read_qrels`.
    """
    qids, docnos, grades = [], [], []
    for line, qid, docno, grade in _judgements(path):
        value = float(grade) if _NUMBER.fullmatch(grade) else float("nan")
        if not (abs(value) < _LIMIT and value == int(value)):
            raise InputError(
                f"the grade {grade!r} is not a whole number.",
                path=path,
                line=line,
                hint="The columns are: qid, iteration, docno, grade.",
            )
        qids.append(qid)
        docnos.append(docno)
        grades.append(int(value))
    if not qids:
        raise InputError("there are no judgements in it.", path=path)
    return pl.DataFrame(
        {"qid": qids, "docno": docnos, "grade": grades},
        schema={"qid": pl.String, "docno": pl.String, "grade": pl.Int64},
    )


def _judgements(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Line, qid, docno and grade of every line with text; columns end at ASCII white space."""
    for number, line in read_lines(path):
        cells = [cell.decode() for cell in line.encode().split()]
        if not cells:
            continue
        if len(cells) != len(_COLUMNS):
            raise _wrong_columns(path, number, cells)
        yield number, cells[0], cells[2], cells[3]


def _wrong_columns(path: Path, line: int, cells: list[str]) -> InputError:
    if len(cells) == _RUN_COLUMNS:
        return InputError(
            "this looks like a run (6 columns), not like qrels.",
            path=path,
            line=line,
            hint="Give the file of relevance judgements, with the columns qid, iteration, docno, "
            "grade.",
        )
    hint = "Qrels have four: qid, iteration, docno, grade."
    if len(cells) == 3:
        hint += " One is missing here, perhaps the iteration (a 0, as a rule)."
    plural = "column" if len(cells) == 1 else "columns"
    return InputError(f"there are {len(cells)} {plural}.", path=path, line=line, hint=hint)


def has_duplicates(frame: pl.DataFrame) -> bool:
    """Whether a pair of qid and docno comes twice.

    Tells it from 64-bit hashes, and looks exactly only where two are equal.
    """
    hashes = frame.select(
        pl.col("docno").hash() ^ (pl.col("qid").hash(seed=1) * pl.lit(_ODD, dtype=pl.UInt64))
    ).to_series()
    ordered = np.sort(hashes.to_numpy())
    if not bool((ordered[1:] == ordered[:-1]).any()):
        return False
    return bool(frame.select(pl.struct("qid", "docno").is_duplicated().any()).item())


def refuse_duplicates(frame: pl.DataFrame, paths: Sequence[Path | None], source: str) -> NoReturn:
    """Raise for the first pair that is judged twice, naming both places.

    Args:
        frame: The judgements, of which :func:`has_duplicates` is true.
        paths: The files in order; None for one that is not a file.
        source: What to name where no file is known.
    """
    seen: dict[tuple[str, str], tuple[Path, int, str]] = {}
    for path in paths:
        for line, qid, docno, grade in _judgements(path) if path else ():
            before = seen.setdefault((qid, docno), (path or Path(), line, grade))
            if path and before[:2] != (path, line):
                raise _judged_twice(qid, docno, (path, line, grade), before)
    pair = frame.filter(pl.struct("qid", "docno").is_duplicated()).row(0)
    raise InputError(
        f"topic {pair[0]!r} has document {pair[1]!r} judged twice.",
        path=source,
        hint="Keep one of the two judgements.",
    )


def _judged_twice(
    qid: str, docno: str, here: tuple[Path, int, str], before: tuple[Path, int, str]
) -> InputError:
    where = f"line {before[1]}" if here[0] == before[0] else f"{before[0]}:{before[1]}"
    grades = f"{here[2]} here and {before[2]}" if here[2] != before[2] else f"{here[2]} here as"
    return InputError(
        f"topic {qid!r} has document {docno!r} judged twice: {grades} in {where}.",
        path=here[0],
        line=here[1],
        hint="Keep one of the two judgements.",
    )
