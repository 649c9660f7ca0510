"""Files of runs and qrels that state their columns: tables with a header, objects, named columns.

Each row is a record of a topic, a document and a number, whatever the file is: CSV, TSV or Parquet,
JSON lines or an array. :mod:`adducir.corpora.columns` reads columns without names.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

import polars as pl

from adducir.core.errors import InputError, worded
from adducir.core.files import read_bytes, read_lines, suffix_of
from adducir.core.json_lines import read_objects
from adducir.core.progress import progress
from adducir.core.texts import repeated
from adducir.corpora.columns import (
    BY_RANK,
    NUMBER,
    SUBTOPIC,
    SUBTOPICS,
    ColumnLayout,
    Columns,
    checked,
    checked_rows,
    named_layout,
    read_columns,
)
from adducir.corpora.frames import DOCNO, QID
from adducir.corpora.tables import PARQUET, Quotes, cells_of, delimiter_of, table_records

_BLANK_LINES = re.compile(rb"\A(?:[ \t\r]*+\n)++")
_HEAD = 10_000  # bytes in which the first line ends


def data_of(path: Path) -> bytes:
    """The text of a file; empty if it is a table that polars reads."""
    data = b"" if suffix_of(path) == PARQUET else read_bytes(path)
    return re.sub(rb"\r(?!\n)", b"\n", data) if b"\r" in data else data  # "\r\n" is white space


def is_json(data: bytes) -> bool:
    return data[:64].lstrip()[:1] in (b"{", b"[")  # TREC's columns never begin with these


def first_object(path: Path) -> tuple[dict[str, Any], bool]:
    """The first object of a JSON file, and whether it holds one pair of a topic and a document."""
    first = next(read_objects(path), (1, {}))[1]
    names = {name.lower() for name in first}
    return first, not names.isdisjoint(QID) and not names.isdisjoint(DOCNO)


def nested_records(
    document: Any, number: str, path: Path, hint: str | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of ``{qid: {docno: number}}``, whose lines are not known."""
    if not isinstance(document, dict) or not all(isinstance(v, dict) for v in document.values()):
        reason = f"the JSON is not of the form {{query: {{document: {number}}}}}."
        raise InputError(reason, path=path, hint=hint)
    return (
        (0, {"qid": qid, "docno": docno, number: value})
        for qid, documents in document.items()
        for docno, value in documents.items()
    )


def first_cells(data: bytes) -> list[bytes]:
    return next((line.split() for line in data[:_HEAD].split(b"\n") if line.strip()), [])


def stated_columns(
    path: Path,
    data: bytes,
    layout: ColumnLayout,
    *,
    names: Sequence[str],
    quotes: Quotes | None,
    repeats: bool,
    subtopics: bool = False,
) -> Columns | None:
    """The rows of a table whose header names a topic's id, or whose columns the user names."""
    if names:
        return _named_columns(path, data, named_layout(layout, names), quotes, repeats)
    if suffix_of(path) != PARQUET:
        first = data[:_HEAD].lstrip().partition(b"\n")[0].decode(errors="replace")
        header = [name.strip(' "\r').lower() for name in first.split(delimiter_of(first))]
        if len(header) < 2 or {*header}.isdisjoint(QID):
            return None
    records = table_records(path, quotes)
    return checked_records(records, path, layout, repeats=repeats, subtopics=subtopics)


def checked_records(
    records: Iterable[tuple[int, Mapping[str, Any]]],
    path: Path,
    layout: ColumnLayout,
    *,
    repeats: bool = False,
    subtopics: bool = False,
) -> Columns:
    """The rows of records, in which each column has one of several names."""
    following = iter(records)
    first = list(islice(following, 1))
    here = {name.lower(): name for _, record in first for name in record}
    for twice in repeated(name.lower() for _, record in first for name in record):
        raise InputError(f"the column {twice!r} is repeated.", path=path, line=1)
    if layout.kind == "run" and "rank" in here and "score" not in here:
        layout = BY_RANK
    wanted = {"qid": QID, "docno": DOCNO, layout.number: layout.names}
    wanted |= {SUBTOPIC: SUBTOPICS} if subtopics else {}
    keys = dict[str, str]()
    for column, names in wanted.items():
        keys[column] = next((here[name] for name in names if name in here), "")
        if not keys[column] and first:
            reason = f"the file needs a column {' or '.join(names)}; here are {', '.join(here)}."
            hint = f"Name the columns, in order: {worded(layout.setting, ','.join(wanted))}."
            raise InputError(reason, path=path, line=1, hint=hint)
    if keys[layout.number] == "annotation":
        progress().note_once(f"{path}: LARA's judgements, whose annotation is the grade")
    rows, lines = list[list[str | None]](), list[int]()
    for line, record in chain(first, following):
        lines.append(line)
        rows.append([_text(record.get(key), column, layout) for column, key in keys.items()])
    frame = pl.DataFrame(rows, schema=dict.fromkeys(keys, pl.String), orient="row")
    return checked(frame, layout, lines, repeats=repeats)


def _text(value: Any, column: str, layout: ColumnLayout) -> str | None:
    """A value as text; None if it is missing, or an id that is neither text nor an integer."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) and column == "grade":
        return str(int(value))
    is_id = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_id or (column == layout.number and value is not None) else None


def _named_columns(
    path: Path, data: bytes, layout: ColumnLayout, quotes: Quotes | None, repeats: bool
) -> Columns:
    """The columns that the user names in order; a header in the first line is skipped."""
    width, fields = len(layout.columns), [n for n in layout.columns if not n.startswith("-")]
    if suffix_of(path) == PARQUET:
        texts = (
            # An id that is a fraction, which pandas makes of ids where one is missing, is a fault.
            (n, [_text(v, c, layout) or "" for c, v in zip(cycle(layout.columns), row.values())])
            for n, row in table_records(path)
        )
        return checked_rows(texts, layout, fields, repeats=repeats)
    blank = data[: len(data) - len(_BLANK_LINES.sub(b"", data, count=1))]
    head, _, rest = data[len(blank) :].partition(b"\n")
    first = head.decode(errors="replace")
    delimiter = next((mark for mark in "\t,;" if first.count(mark) == width - 1), None)
    if delimiter is None and len(first.split()) == 1:
        delimiter = delimiter_of(first)  # quotes enclose some, or there are other columns
    cells = [cell.strip(' "\r') for cell in first.split(delimiter)]
    number = layout.columns.index(layout.number)
    is_header = len(cells) == width and not NUMBER.fullmatch(cells[number])
    if delimiter is None or (delimiter == "\t" and b" " not in data and b'"' not in data):
        data = blank + b"\n" + rest if is_header else data  # lines keep their numbers
        return read_columns(data, layout, fields, repeats=repeats)
    rows = cells_of(read_lines(path), path, delimiter, quotes)
    texts = ((n, [cell.strip() for cell in row]) for n, row in islice(rows, is_header, None))
    filled = (text for text in texts if any(text[1]))
    return checked_rows(filled, layout, fields, repeats=repeats)


def refuse_headless(path: Path, data: bytes, layout: ColumnLayout) -> None:
    """Refuse a CSV file that neither names its columns nor has the layout's."""
    first = first_cells(data)
    if suffix_of(path) != ".csv" or len(first) == len(layout.columns):
        return
    shown = b",".join(first).decode(errors="replace")[:60]
    reason = f"the first line must name columns such as {_usual(layout)}, not {shown!r}."
    hint = f"Name them: {worded(layout.setting, _usual(layout))}."
    raise InputError(reason, path=path, line=1, hint=hint)


def _usual(layout: ColumnLayout) -> str:
    return f"qid,docno,{layout.names[0]}"
