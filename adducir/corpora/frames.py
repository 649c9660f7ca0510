"""Data frames of runs, qrels and documents, by PyTerrier's or ir_datasets' column names."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.core.fingerprint import digest_of
from adducir.core.packages import required
from adducir.core.texts import refused, repeated, shortened
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

# Odd, so that topic numbers spread over 64 bits one to one (fraction of the golden ratio).
_TOPIC_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def is_frame(data: object) -> bool:
    """Whether it is a pandas or polars data frame (of a type that looks like one)."""
    return hasattr(data, "shape") and hasattr(data, "columns")


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
    return pd.DataFrame(
        {
            name: column.to_numpy() if column.dtype.is_numeric() else column.to_list()
            for name, column in frame.to_dict().items()
        }
    )


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


def rows_of(data: "Tabular | Nested", value: Sequence[str], label: str) -> pl.DataFrame:
    """Columns qid, docno, ``value[0]`` of what users have; ``value`` lists its accepted names."""
    if isinstance(data, Mapping):
        for key, ranking in data.items():
            if not hasattr(ranking, "items"):
                shape = f"{{qid: {{docno: {value[0]}}}}}"
                value_type = type(ranking).__name__
                raise UsageError(
                    f"{label} from a dict is {shape}; that of {key!r} is {value_type}."
                )
        triples = [(q, d, v) for q, ranking in data.items() for d, v in ranking.items()]
        qids, docnos, values = map(list, zip(*triples, strict=True)) if triples else ([], [], [])
        for qid in repeated(map(str, data)):
            raise UsageError(f"the qid {qid!r} is repeated.")
    else:
        qids, docnos, values = columns_of(data, label, QID, DOCNO, value)
    ids = {"qid": ids_of(qids, "qid"), "docno": ids_of(docnos, "docno")}
    series = pl.Series(value[0], values, strict=False)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise UsageError(f"each {value[0]} must be a number, not a list or a mapping.")
    return pl.DataFrame(ids).with_columns(series)


def columns_of(data: "Tabular", label: str, *names: Sequence[str]) -> list[list[Any]]:
    """The values of columns, each of which may have one of several names.

    Args:
        data: A data frame; a pandas Series of the last column, whose index holds the others; or
            records: dicts or named tuples, such as ir_datasets' and ir_measures'. Named levels of
            a pandas index are columns, too.
        label: What is read, in messages.
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
        records = [*frame] if isinstance(frame, Iterable) else [frame]
        rows = [row._asdict() if hasattr(row, "_asdict") else row for row in records]
        for row in rows:
            if not isinstance(row, Mapping):
                raise refused(data, label, "a file, a data frame, a dict or records")
        frame = pl.DataFrame(
            {name: pl.Series([row.get(name) for row in rows], dtype=pl.Object) for name in rows[0]}
            if rows
            else dict.fromkeys((each[0] for each in names), ())
        )
    levels = frame.index.names if hasattr(frame, "index") else ()
    if outside := [name for name in levels if name is not None and name not in frame.columns]:
        frame = frame.reset_index(level=outside)
    columns = [*frame.columns]
    values = []
    for each in names:
        name = next((name for name in each if name in columns), None)
        if name is None or columns.count(name) > 1:
            wrong = f"one column {name}" if name else f"a column {' or '.join(each)}"
            raise UsageError(f"{label} needs {wrong}; here are {', '.join(map(str, columns))}.")
        values.append(frame[name].to_list())
    return values


def ids_of(values: Sequence[Any], label: str) -> pl.Series:
    """Ids as text; integers are converted, floats refused because their digits are ambiguous."""
    for value in values:
        if not isinstance(value, str | int | np.integer) or isinstance(value, bool):
            raise UsageError(
                f"a {label} must be text or an integer, not {value!r} ({type(value).__name__})."
            )
    return pl.Series(label, [str(value) for value in values], dtype=pl.String)


def _records(data: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Documents as dicts, and their docnos."""
    shapes = "a corpus is a source's name, a data frame, or dicts with a docno and texts"
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise UsageError(f"{shapes}, not {shortened(repr(data))}.")
    rows, docnos = list[dict[str, Any]](), list[Any]()
    for row in data:
        row = row.fields | {"docno": row.docno} if isinstance(row, Document) else row
        key = next((name for name in DOCNO if name in row), "") if isinstance(row, Mapping) else ""
        if not key:
            shown = shortened(repr(row))
            raise UsageError(f"{shapes}; this one lacks a {' or '.join(DOCNO)}: {shown}.")
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
        frame: Any = data
        if is_frame(data):
            docnos = ids_of(columns_of(frame, "corpus", DOCNO)[0], "docno").to_list()
            is_polars = isinstance(data, pl.DataFrame)
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
