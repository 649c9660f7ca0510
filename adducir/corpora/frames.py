"""Data frames of runs, qrels and documents, by PyTerrier's or ir_datasets' column names."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.core.fingerprint import digest_of
from adducir.core.packages import required
from adducir.core.texts import items_in, refuse_half_characters, refused, repeated, shortened
from adducir.corpora.documents import Document, check_docno, fields_of
from adducir.corpora.field_choice import SAMPLE, default_fields_of

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = "pd.DataFrame | pl.DataFrame"
Tabular: TypeAlias = "Frame | pd.Series[Any] | Iterable[Mapping[str, Any] | NamedTuple]"
Nested = Mapping[str, Mapping[str, float]]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

QID = ("qid", "query_id", "query-id", "q_id", "topic_id")
DOCNO = ("docno", "doc_id", "docid", "corpus-id", "corpus_id", "pid", "_id", "id")
SCORE = ("score",)
GRADE = ("grade", "label", "relevance", "rel", "score", "annotation")
QUERY = ("query", "text", "title")

TAKEN = "a file, a data frame, a dict or records"
_DOCUMENTS = "a file or folder, an ir_datasets id, a data frame, or dicts with a docno and texts"
# Odd, so that topic numbers spread over 64 bits one to one (fraction of the golden ratio).
_TOPIC_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def is_frame(data: object) -> bool:
    """Whether it is a data frame of pandas, polars or Arrow (of a type that looks like one)."""
    return hasattr(data, "shape") and hasattr(data, "columns")


def _readable(data: Any) -> Any:
    """A frame as polars or pandas."""
    is_arrow = hasattr(data, "__arrow_c_stream__") and not hasattr(data, "iloc")
    return pl.DataFrame(data) if is_arrow and not isinstance(data, pl.DataFrame) else data


def are_records(rows: Sequence[object]) -> bool:
    """Whether they are a table's rows, as columns_of takes them, and not tables."""
    first = rows[0] if rows else None
    values = first.values() if isinstance(first, Mapping) else ()
    are_nested = any(hasattr(value, "items") for value in values)
    return hasattr(first, "_asdict") or (bool(values) and not are_nested)


class Framed(ABC):
    """Data that convert to data frames and dicts; ``of`` makes them of these."""

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """The object as a frame."""

    def to_pandas(self) -> "pd.DataFrame":
        """The object as a pandas frame, which needs pandas."""
        return as_pandas(self.to_polars())


class FramedByTopic(Framed):
    """Rows of a topic, a document and a number: runs and qrels."""

    frame: pl.DataFrame

    def to_polars(self) -> pl.DataFrame:
        return self.frame

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The number of each document by topic: ``{qid: {docno: number}}``."""
        return as_dict(self.to_polars()[:, :3])


def as_pandas(frame: pl.DataFrame) -> "pd.DataFrame":
    pd = required("pandas")
    columns = dict[str, Any]()
    for name, column in frame.to_dict().items():
        is_text = column.dtype == pl.String
        texts = pd.Series(column.to_list(), dtype="str") if is_text else column.to_list()
        columns[name] = column.to_numpy() if column.dtype.is_numeric() else texts
    return pd.DataFrame(columns)


def as_dict(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Rows of a topic, a document and a number as ``{qid: {docno: number}}``."""
    nested: dict[str, dict[str, Any]] = {}
    for qid, docno, number in frame.iter_rows():
        nested.setdefault(qid, {})[docno] = number
    return nested


def topic_numbers(qids: pl.Series) -> Integers:
    """(n,) the topic of each row, numbered from 0 in order of first appearance."""
    blocks = qids.rle().struct.unnest()
    names, lengths = blocks["value"], blocks["len"].to_numpy().astype(np.int64)
    numbers = np.arange(len(names), dtype=np.int64)
    distinct = names.unique(maintain_order=True)
    if len(distinct) < len(names):  # a topic's rows are not contiguous
        positions = names.replace_strict(distinct, np.arange(len(distinct)), return_dtype=pl.Int64)
        numbers = positions.to_numpy().astype(np.int64)
    return np.repeat(numbers, lengths)


def pair_keys(docnos: pl.Series, topics: Integers) -> NDArray[np.uint64]:
    """(n,) 64-bit hashes of (topic number, docno): equal pairs have equal keys."""
    keys: NDArray[np.uint64] = docnos.hash().to_numpy()
    return keys ^ (topics.astype(np.uint64) * _TOPIC_FACTOR)


def repeated_rows(frame: pl.DataFrame, topics: Integers | None = None) -> Integers:
    """Rows that repeat an earlier row's qid and docno; ``topics`` from :func:`topic_numbers`."""
    keys = np.sort(
        pair_keys(frame["docno"], topic_numbers(frame["qid"]) if topics is None else topics)
    )
    if not (keys[1:] == keys[:-1]).any():
        return np.empty(0, dtype=np.int64)
    pairs = frame.select(pl.struct("qid", "docno")).to_series()  # hashes may collide
    return np.flatnonzero(~pairs.is_first_distinct().to_numpy())


def refuse_unless_rows(frame: object, schema: Mapping[str, Any], subject: str) -> None:
    """Refuse what is not a frame with these columns in which every cell has a value."""
    if not isinstance(frame, pl.DataFrame):
        raise refused(frame, f"the rows of {subject}", "a polars data frame")
    if dict(frame.schema) != schema:
        raise UsageError(f"the columns of {subject} are {schema}, not {dict(frame.schema)}.")
    if any(map(pl.Series.null_count, frame.iter_columns())):
        raise UsageError(f"{' and '.join(schema)} of {subject} cannot be missing.")


def rows_of(data: "Tabular | Nested", value: Sequence[str], label: str) -> pl.DataFrame:
    """Columns qid, docno, ``value[0]`` of what users have; ``value`` lists its accepted names."""
    if isinstance(data, Mapping):
        for key, ranking in data.items():
            if not hasattr(ranking, "items") or is_frame(ranking):
                raise refused(ranking, f"{label}[{key!r}]", f"a dict {{docno: {value[0]}}}")
        triples = [(q, d, v) for q, ranking in data.items() for d, v in ranking.items()]
        qids, docnos, values = map(list, zip(*triples, strict=True)) if triples else ([], [], [])
        for qid in repeated(map(str, data)):
            raise UsageError(f"the qid {qid!r} is repeated.")
    else:
        qids, docnos, values = columns_of(data, label, QID, DOCNO, value)
    ids = {"qid": ids_of(qids, "qid"), "docno": ids_of(docnos, "docno")}
    return pl.DataFrame(ids).with_columns(_numbers(values, value[0]))


def _numbers(values: Sequence[Any], name: str) -> pl.Series:
    """A column of numbers, which may be written as texts."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    with suppress(TypeError, ValueError, pl.exceptions.PolarsError):
        series = pl.Series(name, plain, strict=False)  # of NumPy's, the first sets the type of all
        if series.dtype.is_numeric() or series.dtype in (pl.String, pl.Boolean, pl.Null):
            return series
    is_number = (int, float, str, np.number, NoneType)
    wrong = next((value for value in values if not isinstance(value, is_number)), values[0])
    raise UsageError(f"each {name} must be a number, not {shortened(repr(wrong))}.")


def table_of(data: "Tabular", label: str, *names: Sequence[str]) -> Any:
    """A frame of polars or pandas with all columns; messages speak of a ``label``.

    Of a pandas Series of the last of ``names``, whose index holds the others, too, and of records:
    dicts or named tuples. Named levels of a pandas index become columns.
    """
    frame: Any = data
    if hasattr(frame, "to_frame") and hasattr(frame, "index"):  # pandas' Series
        frame = frame.to_frame(names[-1][0])
        if frame.index.nlevels != len(names) - 1:
            ids = " and ".join(each[0] for each in names[:-1])
            raise UsageError(f"the index of {label} as a Series must hold {ids}.")
        pairs = zip(frame.index.names, names[:-1], strict=True)
        frame.index.names = [each[0] if name is None else name for name, each in pairs]
    if not is_frame(frame):
        if isinstance(data, str | os.PathLike):
            hint = f"Files are read by `load_{label}`."
            raise refused(data, label, "a data frame, a dict or records", hint)
        records = items_in(data, label, TAKEN)
        rows = [row._asdict() if hasattr(row, "_asdict") else row for row in records]
        if not all(isinstance(row, Mapping) for row in rows):
            raise refused(data, label, TAKEN)
        frame = pl.DataFrame(
            {name: pl.Series([row.get(name) for row in rows], dtype=pl.Object) for name in rows[0]}
            if rows
            else dict.fromkeys((each[0] for each in names), ())
        )
    frame = _readable(frame)
    levels = frame.index.names if hasattr(frame, "index") else ()
    if outside := [name for name in levels if name is not None and name not in frame.columns]:
        frame = frame.reset_index(level=outside)
    return frame


def columns_of(data: "Tabular", label: str, *names: Sequence[str]) -> list[list[Any]]:
    """The values of columns of :func:`table_of`, each of which may have one of several names."""
    frame = table_of(data, label, *names)
    columns, values = [*frame.columns], list[list[Any]]()
    for each in names:
        name = next((name for name in each if name in columns), None)
        if name is None or columns.count(name) > 1:
            wrong = f"one column {name}" if name else f"a column {' or '.join(each)}"
            shown = ", ".join(map(str, columns)) or "none"
            raise UsageError(f"{label} needs {wrong}; its columns are {shown}.")
        values.append(frame[name].to_list())
    return values


def ids_of(values: Sequence[Any], label: str) -> pl.Series:
    """Ids as text; integers are converted, floats refused because their digits are ambiguous."""
    for value in values:
        if not isinstance(value, str | int | np.integer) or isinstance(value, bool):
            raise UsageError(
                f"a {label} must be text or an integer, not {value!r} ({type(value).__name__})."
            )
    texts = [str(value) for value in values]
    refuse_half_characters(texts, f"a {label}")
    return pl.Series(label, texts, dtype=pl.String)


def _records(data: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Documents as dicts, and their docnos."""
    rows, docnos = list[dict[str, Any]](), list[Any]()
    for row in items_in(data, "documents", _DOCUMENTS):
        if isinstance(row, Document):
            row = row.fields | {"docno": row.docno}
        elif hasattr(row, "_asdict"):  # of ir_datasets
            row = row._asdict()
        key = next((name for name in DOCNO if name in row), "") if isinstance(row, Mapping) else ""
        if not key:
            raise refused(row, "a document", f"a dict of texts with a {' or '.join(DOCNO)}")
        rows.append(dict(row))
        docnos.append(row[key])
    return rows, ids_of(docnos, "docno").to_list()


@dataclass(frozen=True)
class FrameCorpus:
    """The rows of a frame as documents, with a docno and the other columns as fields."""

    documents: Sequence[Document]
    source: str = "frame"

    @classmethod
    def of(cls, data: "Frame | Iterable[Mapping[str, Any]]") -> "FrameCorpus":
        """The documents of a frame, or of dicts, which a generator may yield, held in memory."""
        if is_frame(data):
            frame = _readable(data)
            docnos = ids_of(columns_of(frame, "corpus", DOCNO)[0], "docno").to_list()
            is_polars = isinstance(frame, pl.DataFrame)
            rows = frame.to_dicts() if is_polars else frame.to_dict("records")
        else:
            rows, docnos = _records(data)
        documents = list[Document]()
        for docno, row in zip(docnos, rows, strict=True):
            check_docno(docno)
            fields = {name: value for name, value in row.items() if name not in DOCNO}
            documents.append(Document(docno, fields_of(fields)))
        if not documents:
            raise UsageError("there are no documents.")
        return cls(documents)

    @property
    def default_fields(self) -> tuple[str, ...]:
        return default_fields_of([document.fields for document in self.documents[:SAMPLE]])

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def identity(self) -> dict[str, Any]:
        parts = (
            [document.docno, *map(str, document.fields.items())] for document in self.documents
        )
        return {"source": "frame", "sha256": digest_of(text for part in parts for text in part)}

    def size_hint(self) -> int:
        return len(self.documents)

    def places(self, docno: str) -> list[tuple[Path, int]]:
        return []
