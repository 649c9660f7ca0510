"""Read a run file line by line and say exactly what is wrong with each line.

This is slow and exact. :mod:`adducir.runs.read` falls back on it where its fast way finds that
something is off, and ``adducir check`` lists with it every error of a file.

A line has six columns between blanks or tabs: qid, the constant Q0, docno, rank, score, tag.
Column 2 and the rank may be anything, as in trec_eval. ``#`` begins no comment and a quotation
mark is a character like others: docnos hold both.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from adducir.core.errors import InputError
from adducir.core.files import read_lines

COLUMNS = 6
_FIELD = re.compile(r"[^ \t\r\v\f]+")  # what C's isspace() does not name, whatever the language
_NUMBER = re.compile(r"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]+)?")


class Row(NamedTuple):
    """One good line."""

    line: int
    qid: str
    docno: str
    rank: str
    score: float
    tag: str


@dataclass(frozen=True)
class ErrorDetail:
    """What is wrong with a line.

    Attributes:
        line: The 1-based line; None where the whole file is wrong.
        code: ``unreadable``, ``empty``, ``qrels``, ``columns``, ``score``, ``character`` or
            ``duplicate``.
        message: What is wrong, as a sentence.
        hint: What can be done about it.
    """

    line: int | None
    code: str
    message: str
    hint: str | None = None

    def error(self, path: Path) -> InputError:
        """The exception to raise."""
        return InputError(self.message, path=path, line=self.line, hint=self.hint)


def scan(path: Path, *, extra_columns: bool = False) -> Iterator[ErrorDetail]:
    """Every error of a run file, in order of lines.

    Args:
        path: A run file, plain or gzip.
        extra_columns: Whether what follows the tag on a line is ignored, as by trec_eval.

    Yields:
        The errors; an unreadable or broken file gives one that is the last.
    """
    try:
        for found in rows(read_lines(path), extra_columns=extra_columns):
            if isinstance(found, ErrorDetail):
                yield found
    except InputError as error:
        yield ErrorDetail(error.line, "unreadable", error.what, error.hint)


def rows(
    lines: Iterable[tuple[int, str]], *, extra_columns: bool = False
) -> Iterator[Row | ErrorDetail]:
    """Every line of a run, as a row or as the error that it has.

    Args:
        lines: Line numbers and lines, as :func:`adducir.core.files.read_lines` gives them; what
            it raises is passed on.
        extra_columns: See :func:`scan`.
    """
    seen: dict[str, dict[str, int]] = {}
    blank: int | None = None
    line = 0
    for line, text in lines:
        fields = _FIELD.findall(text)
        if not fields:
            blank = blank or line
            continue
        if blank:  # blank lines at the end of a file are no error, elsewhere a record may be lost
            yield ErrorDetail(blank, "columns", "this line is blank.", "Remove the line.")
            blank = None
        found = _row(line, fields, extra_columns)
        if isinstance(found, Row):
            earlier = seen.setdefault(found.qid, {}).setdefault(found.docno, line)
            if earlier != line:
                yield ErrorDetail(
                    line,
                    "duplicate",
                    f"topic {found.qid} ranks document {found.docno} again; line {earlier} "
                    "had it first.",
                    "Keep one of the two lines.",
                )
                continue
        yield found
        if isinstance(found, ErrorDetail) and found.code == "qrels":
            return  # every other line would be as malformed
    if not line or blank == 1:
        yield ErrorDetail(None, "empty", "the run is empty.", "A run has at least one line.")


def _row(line: int, fields: list[str], extra_columns: bool) -> Row | ErrorDetail:
    """The row that these columns make, or the first error among them."""
    count = len(fields)
    if count == 4 and line == 1:
        return ErrorDetail(
            line,
            "qrels",
            "this looks like qrels (4 columns), not like a run (6 columns).",
            "Give the run here and the qrels with --qrels.",
        )
    if count < COLUMNS or (count > COLUMNS and not extra_columns):
        return ErrorDetail(
            line,
            "columns",
            f"a run's line has 6 columns (qid Q0 docno rank score tag), this one has {count}.",
            "A docno or tag must not hold a blank."
            if count > COLUMNS
            else "Add what is missing: often it is the score or the tag.",
        )
    qid, _, docno, rank, score, tag = fields[:COLUMNS]
    if "\0" in qid or "\0" in docno:
        return ErrorDetail(line, "character", "this line holds the character NUL.", "Remove it.")
    value = float(score) if _NUMBER.fullmatch(score) else math.nan
    if not math.isfinite(value):
        return ErrorDetail(
            line,
            "score",
            f"the score is {score!r}, and not a finite number.",
            "Give document and topic a finite score, or drop the line.",
        )
    return Row(line, qid, docno, rank, value, tag)
