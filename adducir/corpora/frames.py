"""Rows of (qid, docno, value) of runs and qrels, by PyTerrier's or ir_datasets' column names."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.errors import UsageError
from adducir.core.packages import required

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = "pd.DataFrame | pl.DataFrame"
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
    return hasattr(data, "columns") and hasattr(data, "shape")


class Framed(ABC):
    """Data that convert to data frames and dicts; ``of`` makes them of these."""

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """The object as a frame."""

    def to_pandas(self) -> "pd.DataFrame":
        pd = required("pandas")
        columns = self.to_polars().to_dict()
        return pd.DataFrame(
            {
                name: column.to_numpy() if column.dtype.is_numeric() else column.to_list()
                for name, column in columns.items()
            }
        )


class FramedByTopic(Framed):
    """Rows of a topic, a document and a number: runs and qrels."""

    frame: pl.DataFrame

    def to_polars(self) -> pl.DataFrame:
        return self.frame

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The number of each document by topic: ``{qid: {docno: number}}``."""
        nested: dict[str, dict[str, Any]] = {}
        for qid, docno, number in self.frame.iter_rows():
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


def rows_of(data: "Frame | Nested", value: Sequence[str], label: str) -> pl.DataFrame:
    """Columns qid, docno, ``value[0]`` of dicts or a frame; ``value`` lists its accepted names."""
    if isinstance(data, Mapping):
        wrong = next(
            (type(value_) for value_ in data.values() if not isinstance(value_, Mapping)), None
        )
        if wrong is not None:
            shape = f"{{qid: {{docno: {value[0]}}}}}"
            raise UsageError(f"{label} from a dict is {shape}; a value here is {wrong.__name__}.")
        triples = [(q, d, v) for q, ranking in data.items() for d, v in ranking.items()]
        qids, docnos, values = map(list, zip(*triples, strict=True)) if triples else ([], [], [])
    else:
        qids, docnos, values = (column_of(data, names, label) for names in (QID, DOCNO, value))
    ids = {"qid": ids_of(qids, "qid"), "docno": ids_of(docnos, "docno")}
    series = pl.Series(value[0], values, strict=False)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise UsageError(f"each {value[0]} must be a number, not a list or a mapping.")
    return pl.DataFrame(ids).with_columns(series)


def column_of(frame: "Frame", names: Sequence[str], label: str) -> list[Any]:
    """The first of these columns that a data frame has."""
    columns = getattr(frame, "columns", None) if hasattr(frame, "shape") else None
    if columns is None:
        raise UsageError(
            f"{label} needs a pandas or polars data frame or a dict, not {type(frame).__name__}."
        )
    for name in names:
        if name in columns:
            return frame[name].to_list()
    raise UsageError(
        f"{label} needs a column {' or '.join(names)}; here are {', '.join(map(str, columns))}."
    )


def ids_of(values: Sequence[Any], label: str) -> pl.Series:
    """Ids as text; integers are converted, floats refused because their digits are ambiguous."""
    for value in values:
        if not isinstance(value, str | int | np.integer) or isinstance(value, bool):
            raise UsageError(
                f"a {label} must be text or an integer, not {value!r} ({type(value).__name__})."
            )
    return pl.Series(label, [str(value) for value in values], dtype=pl.String)
