"""Small runs and qrels for the evaluation tests, and the two forms of ir_measures' answers."""

from collections.abc import Iterable, Mapping
from typing import Any

import ir_measures
import numpy as np
import polars as pl
from hypothesis import strategies as st
from ir_measures import Measure
from ir_measures.providers import registry

from adducir.corpora.qrels import Qrels
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run

RunDict = dict[str, dict[str, float]]
QrelsDict = dict[str, dict[str, int]]


def run_of(rows: Mapping[str, Mapping[str, float]], tag: str = "system") -> Run:
    """A run in trec_eval's order: score descending, then docno descending."""
    ordered = [
        (qid, docno, float(score))
        for qid, scores in rows.items()
        for docno, score in sorted(scores.items(), key=lambda pair: (pair[1], pair[0]))[::-1]
    ]
    schema = {"qid": pl.String, "docno": pl.String, "score": pl.Float64}
    return Run(frame=pl.DataFrame(ordered, schema=schema, orient="row"), tag=tag, path=None)


def qrels_of(rows: Mapping[str, Mapping[str, int]]) -> Qrels:
    triples = [
        (qid, docno, grade) for qid, grades in rows.items() for docno, grade in grades.items()
    ]
    schema = {"qid": pl.String, "docno": pl.String, "grade": pl.Int64}
    return Qrels(frame=pl.DataFrame(triples, schema=schema, orient="row"), source="qrels")


def ranked(run: Mapping[str, Mapping[str, float]]) -> dict[str, list[str]]:
    """The documents of each topic in trec_eval's order."""
    return {
        qid: sorted(scores, key=lambda docno: (scores[docno], docno))[::-1]
        for qid, scores in run.items()
    }


def without_ties(run: Mapping[str, Mapping[str, float]]) -> RunDict:
    """The same order with scores n, n - 1, ..., 1."""
    return {
        qid: {docno: float(len(docnos) - rank) for rank, docno in enumerate(docnos)}
        for qid, docnos in ranked(run).items()
    }


def by_ir_measures(
    provider: str, measures: Iterable[Measure], qrels: QrelsDict, run: RunDict
) -> dict[tuple[str, Measure], float]:
    """The values of one of ir_measures' providers, by topic and measure."""
    results: Any = registry[provider].iter_calc(list(measures), qrels, run)
    return {(metric.query_id, metric.measure): metric.value for metric in results}


def table_of(scores: Scores) -> np.ndarray:
    return scores.matrix().values[:, 0].T


def named(text: str) -> Measure:
    return ir_measures.parse_measure(text)


_DOCNOS = [f"d{number}" for number in range(12)]
_QIDS = ["1", "2", "3", "q-4", "ü5"]

runs = st.dictionaries(
    st.sampled_from(_QIDS),
    st.dictionaries(
        st.sampled_from(_DOCNOS), st.sampled_from([-1.5, 0.0, 1.0, 2.5, 7.0]), min_size=1
    ),
)
"""Few scores, so many ties; topics that the qrels lack; no topic at all."""


def qrels(lowest: int) -> st.SearchStrategy[QrelsDict]:
    """Qrels with grades from ``lowest`` to 4; topics without relevant documents."""
    return st.dictionaries(
        st.sampled_from(_QIDS),
        st.dictionaries(st.sampled_from(_DOCNOS), st.integers(lowest, 4), min_size=1),
        min_size=1,
    )
