"""Read TREC runs: fast where a file is regular, exact where it is not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_bytes
from adducir.runs.order import ordered, topic_numbers
from adducir.runs.predictions import is_json, read_predictions
from adducir.runs.run import SCHEMA, Run, have_equals, pair_keys, regular_lines
from adducir.runs.scan import COLUMNS, ErrorDetail, rows

_BLANKS = bytes.maketrans(b"\t\v\f\r", b"    ")
_PLACES = {"qid": 1, "docno": 3, "rank": 4, "score": 5, "tag": 6}
_CSV_SCHEMA = {f"column_{i}": pl.Float64 if i == 5 else pl.String for i in range(1, COLUMNS + 1)}
_TIES: dict[str, Literal["ascending", "descending"]] = {
    "trec_eval": "descending",
    "anserini": "ascending",
}


def read_run(
    path: Path | str,
    *,
    ties: Literal["trec_eval", "anserini"] = "trec_eval",
    allow_empty: bool = False,
    extra_columns: bool = False,
) -> Run:
    """Read a run in TREC's format, plain or gzip, or as :mod:`adducir.runs.predictions` says.

    Six columns between blanks or tabs: qid, Q0, docno, rank, score, tag. As in trec_eval, the
    rank is not read: scores make the order. The run's tag is that of the first line.

    Args:
        ties: Whose order equal scores get: trec_eval's (docno descending, scores in single
            precision as in 9.0.7 and pytrec_eval), which gives other systems' runs the figures that
            trec_eval gives them, or Anserini's (ascending, double precision).
        allow_empty: Whether a file without lines is a run without documents.
        extra_columns: Whether what follows the tag on a line is ignored, as by trec_eval.

    Raises:
        InputError: The file cannot be read, or a line is not as above, has a score that is no
            finite number, or repeats a document of its topic; with the line.
        UsageError: ``ties`` is neither of the two.
    """
    path = Path(path)
    if ties not in _TIES:
        raise UsageError(f"nobody orders ties as {ties!r}.", hint="Choose trec_eval or anserini.")
    data = read_bytes(path)
    if not data or data.isspace():
        if not allow_empty:
            raise InputError("the run is empty.", path=path, hint="A run has at least one line.")
        return Run(pl.DataFrame(schema=SCHEMA), tag=path.name.split(".")[0], path=path)
    if is_json(data):
        frame, tag = read_predictions(path, data)
        return Run(ordered(frame, ties=_TIES[ties], single=ties == "trec_eval"), tag=tag, path=path)
    read = None if extra_columns else _fast(data)
    frame, tag = _exact(path, data, extra_columns) if read is None else read
    return Run(ordered(frame, ties=_TIES[ties], single=ties == "trec_eval"), tag=tag, path=path)


def _fast(data: bytes) -> tuple[pl.DataFrame, str] | None:
    """The rows in file order and the tag; None where anything is off or might be."""
    table = parsed(data, ("qid", "docno", "score", "tag"))
    if table is None:
        return None
    frame = table.select(*SCHEMA)
    if not np.isfinite(frame["score"].to_numpy()).all():
        return None
    if have_equals(pair_keys(frame["docno"], topic_numbers(frame["qid"]))):
        return None
    return frame, table["tag"][0]


def parsed(data: bytes, names: Sequence[str]) -> pl.DataFrame | None:
    """Columns of a run file in file order; None unless all lines have six columns.

    Args:
        data: The file's content, not empty.
        names: Which of qid, docno, rank (String), score (Float64, not checked) and tag; the tag
            must be among them.
    """
    lines = regular_lines(np.frombuffer(data, dtype=np.uint8))
    for cleaned in (_with_blanks, _with_single_blanks):
        if lines is None:
            data = cleaned(data)
            lines = regular_lines(np.frombuffer(data, dtype=np.uint8))
    if lines is None:
        return None
    try:
        table = pl.read_csv(
            data,
            has_header=False,
            separator=" ",
            quote_char=None,
            schema=_CSV_SCHEMA,
            columns=[f"column_{_PLACES[name]}" for name in names],
        )
    except pl.exceptions.PolarsError:
        return None
    # Five blanks a line on average, none without a tag: then every line has exactly five.
    if table.height != lines or any(column.null_count() for column in table.iter_columns()):
        return None
    return table.select(**{name: pl.col(f"column_{_PLACES[name]}") for name in names})


def _with_blanks(data: bytes) -> bytes:
    """The same columns between blanks instead of tabs; not even a blank ends the last line."""
    return data.translate(_BLANKS).rstrip()


def _with_single_blanks(data: bytes) -> bytes:
    """The same columns between single blanks; blank lines are left, except at the end."""
    text = np.frombuffer(data, dtype=np.uint8)
    space = text <= 32
    keep = text != 32
    keep[:-1] |= ~space[1:]  # of several blanks the last stays ...
    text = text[keep]
    keep = text != 32
    keep[1:] |= text[:-1] != 10  # ... unless it begins the line
    keep[0] = text[0] != 32
    return bytes(text[keep].data)


def _exact(path: Path, data: bytes, extra_columns: bool) -> tuple[pl.DataFrame, str]:
    """The same by the slow way, or the first error raised."""
    good = []
    # Not from the file again: it may be a pipe.
    lines = enumerate(data.decode("utf-8").split("\n"), 1)
    for row in rows(lines, extra_columns=extra_columns):
        if isinstance(row, ErrorDetail):
            raise row.error(path)
        good.append(row)
    qids, docnos, scores = ([row[i] for row in good] for i in (1, 2, 4))
    return pl.DataFrame([qids, docnos, scores], schema=SCHEMA), good[0].tag
