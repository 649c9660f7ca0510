"""Runs, judgements and topics that a Python program holds already: data frames and dicts.

The columns' usual names are known: PyTerrier's (qid, docno, label, query), those of ir_datasets and
ir_measures (query_id, doc_id, relevance, text), and those of a TREC file.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from adducir.core.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = "pd.DataFrame | pl.DataFrame"
Nested = Mapping[str, Mapping[str, float]]
"""By qid and then by docno, as pytrec_eval and ranx have it."""

QID = ("qid", "query_id")
DOCNO = ("docno", "doc_id", "docid")
SCORE = ("score",)
GRADE = ("grade", "label", "relevance", "rel")
QUERY = ("query", "text", "title")


def rows_of(data: "Frame | Nested", value: Sequence[str], what: str) -> pl.DataFrame:
    """Triples of qid, docno and a value.

    Args:
        data: A frame, or a dict of dicts.
        value: The names that the value's column may have; the first is what it is called after.
        what: What the rows make, for messages: "a run".

    Returns:
        Columns qid and docno (String) and the value's (as it is), in the order of the data.

    Raises:
        UsageError: It is neither, a column is missing, or an id is neither text nor a whole number.
    """
    if isinstance(data, Mapping):
        wrong = next((type(each) for each in data.values() if not isinstance(each, Mapping)), None)
        if wrong is not None:
            raise UsageError(
                f"{what} from a dict is {{qid: {{docno: {value[0]}}}}}, and a value here is "
                f"{wrong.__name__}."
            )
        triples = [(q, d, v) for q, ranking in data.items() for d, v in ranking.items()]
        qids, docnos, values = map(list, zip(*triples, strict=True)) if triples else ([], [], [])
    else:
        qids, docnos, values = (column_of(data, names, what) for names in (QID, DOCNO, value))
    return pl.DataFrame(
        {"qid": texts_of(qids, "qid"), "docno": texts_of(docnos, "docno")}
    ).with_columns(pl.Series(value[0], values, strict=False))


def column_of(frame: "Frame", names: Sequence[str], what: str) -> list[Any]:
    """The values of the column that has one of these names, the first of them that is there.

    Raises:
        UsageError: It is no data frame, or has none of them.
    """
    columns = getattr(frame, "columns", None) if hasattr(frame, "shape") else None
    if columns is None:
        raise UsageError(
            f"{what} is made from a data frame of pandas or polars, or from a dict, not from "
            f"{type(frame).__name__}."
        )
    for name in names:
        if name in columns:
            values: list[Any] = frame[name].to_list()
            return values
    raise UsageError(
        f"{what} needs a column {' or '.join(names)}; there are {', '.join(map(str, columns))}."
    )


def texts_of(values: Sequence[Any], what: str) -> pl.Series:
    """Ids as texts; whole numbers are written out.

    Raises:
        UsageError: One is of another type, such as a float, whose digits would not be certain.
    """
    for value in values:
        if not isinstance(value, str | int | np.integer) or isinstance(value, bool):
            raise UsageError(
                f"a {what} is a text or a whole number, not {value!r} ({type(value).__name__})."
            )
    return pl.Series(what, [str(value) for value in values], dtype=pl.String)
