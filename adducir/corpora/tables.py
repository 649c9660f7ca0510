"""Tables with named columns, as pandas, polars, ranx or a spreadsheet write them: CSV and Parquet.

A corpus is read row by row. Topics, qrels and runs are small and become frames: from CSV or TSV
with a header, Parquet, or three columns without a header (MS MARCO, BEIR without its header).
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from adducir.core.csv_files import LONGEST_CELL
from adducir.core.errors import InputError, UsageError
from adducir.core.files import blocks, read_bytes, read_lines, suffix_of
from adducir.core.fingerprint import digest_of
from adducir.core.texts import repeated, shortened
from adducir.corpora.documents import Document, check_docno, default_fields_of, fields_of
from adducir.corpora.frames import DOCNO, QID, Frame, column_of, ids_of
from adducir.corpora.passages import passages_of

PARQUET = ".parquet"
TABLES = (".csv", PARQUET)
_ROWS = 10_000


def table_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The line (in Parquet, the row) and values of each row; a missing one is ``""``.

    Columns without a name, such as a pandas index, are left out.
    """
    rows = _parquet_rows(path) if suffix_of(path) == PARQUET else _csv_rows(path)
    for line, record in rows:
        yield line, {n: "" if value is None else value for n, value in record.items() if n}


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(LONGEST_CELL)
    lines = (f"{line}\n" for _, line in read_lines(path))
    first = next(lines, "")
    header = _header(first, delimiter_of(first), path)
    names = [name.strip() for name in header]
    if len(names) < 2 or len(set(names)) < len(names):
        what = f"the first line must name at least two different columns; it is {first.strip()!r}."
        raise InputError(what, path=path, line=1)
    reader, begin = csv.reader(lines, delimiter=delimiter_of(first), strict=True), 2
    try:
        for cells in reader:
            if cells and len(cells) != len(names):
                what = f"this line has {len(cells)} columns, but the header has {len(names)}."
                raise InputError(what, path=path, line=begin)
            if cells:
                yield begin, dict(zip(names, cells, strict=True))
            begin = reader.line_num + 2
    except csv.Error as error:
        raise InputError(f"this is not CSV: {error}.", path=path, line=begin) from error


def _header(line: str, delimiter: str, path: Path) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        hint = "Save it with the line ends of Unix or Windows."
        raise InputError(f"this is not CSV: {error}.", path=path, line=1, hint=hint) from error


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        table = pl.scan_parquet(path, glob=False)
        count = table.select(pl.len()).collect().item()
        for start in range(0, count, _ROWS):
            rows = table.slice(start, _ROWS).collect().iter_rows(named=True)
            yield from enumerate(rows, start + 1)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"this Parquet file cannot be read: {error}.", path=path) from error


def read_table(path: Path, third: str) -> tuple[bytes, pl.DataFrame | None]:
    """A file's bytes, and its rows if it is a table with a header or of 3 columns.

    Three columns without a header are qid, docno and ``third``. An InputError reports errors.
    """
    if suffix_of(path) == PARQUET:
        data = b"".join(blocks(path, whole=True))
        try:
            return data, pl.read_parquet(io.BytesIO(data)).rename(str.lower)
        except pl.exceptions.PolarsError as error:
            raise InputError(f"this Parquet file cannot be read: {error}.", path=path) from error
    data = read_bytes(path)
    first = data[:10_000].lstrip().partition(b"\n")[0].decode(errors="replace")
    if first.startswith("{"):
        return data, None
    separator = delimiter_of(first)
    cells = [cell.strip(' "\r').lower() for cell in first.split(separator)]
    if len(cells) > 1 and {*cells} & {*QID}:
        header = _header(first, separator, path)
        if twice := repeated(name.strip().lower() for name in header if name.strip()):
            raise InputError(f"the column {twice[0]!r} is repeated.", path=path, line=1)
        try:
            frame = pl.read_csv(data, separator=separator, infer_schema=False)
        except pl.exceptions.PolarsError as error:
            what = " ".join(str(error).partition("\n\n")[0].split())  # without polars' advice
            raise InputError(f"this table cannot be read: {what}.", path=path) from error
        frame = frame.select(name for name in frame.columns if name.strip())
        frame = frame.rename(lambda name: name.strip().lower())
        frame = frame.with_columns(pl.all().str.strip_chars())
        return data, frame.filter(~pl.all_horizontal(pl.all().is_null()))
    cell = re.compile(rf"[^\s{separator}]+", re.ASCII)
    cells = cell.findall(first)
    if len(cells) != 3 or not cells[2].lstrip("-").isdecimal():
        if suffix_of(path) == ".csv" and separator in first:
            found = shortened(first.strip())
            what = (
                f"the first line must name columns such as qid, docno and {third}, not {found!r}."
            )
            raise InputError(what, path=path, line=1)
        return data, None
    rows = list[list[str]]()
    for line, text in enumerate(data.decode().split("\n"), 1):
        row = cell.findall(text)
        if len(row) not in (0, 3):
            what = f"this line has {len(row)} columns, but the first has 3."
            raise InputError(what, path=path, line=line)
        rows += [row] if row else []
    return data, pl.DataFrame(rows, schema=["qid", "docno", third], orient="row")


def delimiter_of(line: str) -> str:
    """The column separator of a table, from its first line."""
    return max(("\t", ",", ";"), key=line.count)


@dataclass(frozen=True)
class FrameCorpus:
    """The rows of a frame as documents, with a docno and the other columns as fields."""

    documents: Sequence[Document]
    source: str = "frame"

    @classmethod
    def of(cls, frame: Frame, passages: int | None = None) -> "FrameCorpus":
        docnos = ids_of(column_of(frame, DOCNO, "a corpus"), "docno").to_list()
        given: Any = frame
        rows = given.to_dicts() if isinstance(frame, pl.DataFrame) else given.to_dict("records")
        documents = list[Document]()
        for docno, row in zip(docnos, rows, strict=True):
            check_docno(docno)
            fields = {name: value for name, value in row.items() if name not in DOCNO}
            documents.append(Document(docno, fields_of(fields)))
        if not documents:
            raise UsageError("the frame has no rows.")
        names = cls(documents).default_fields
        return cls([part for one in documents for part in passages_of(one, passages, names)])

    @property
    def default_fields(self) -> tuple[str, ...]:
        return default_fields_of(
            dict.fromkeys(name for one in self.documents for name in one.fields)
        )

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def identity(self) -> dict[str, Any]:
        parts = ([one.docno, *map(str, one.fields.items())] for one in self.documents)
        return {"source": "frame", "sha256": digest_of(text for part in parts for text in part)}

    def size_hint(self) -> int:
        return len(self.documents)

    def places(self, docno: str) -> list[tuple[Path, int]]:
        return []
