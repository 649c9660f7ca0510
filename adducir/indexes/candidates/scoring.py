"""Scores of candidates: every query term adds its postings' impacts, in the query's order.

That order, once per occurrence, is rank_bm25's, so that sums round alike. Without numba, SciPy's
sparse product adds in the same order.
"""

from typing import NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.candidates.impacts import Impacts
from adducir.indexes.candidates.ranking import Matrix
from adducir.indexes.memory.compiled import HAS_NUMBA, kernel


class Queries(NamedTuple):
    """q queries as rows of :class:`.postings.Postings`.

    Attributes:
        starts: (q + 1,) int64: where each query begins in ``rows``.
        rows: int32: the row of each query term, or -1.
        weights: float64: the weight of each query term.
    """

    starts: Array
    rows: Array
    weights: Array


def score(impacts: Impacts, queries: Queries, first: int, out: Matrix) -> None:
    """Write the scores of the queries from ``first`` on.

    Args:
        impacts: The set, with a model applied.
        first: The first query to score.
        out: (n, D) float64, written: every candidate's score for n queries.
    """
    if HAS_NUMBA:
        _score(impacts, queries, first, out)
        return
    for n in range(len(out)):
        out[n] = _product(impacts, queries, first + n)


def count(
    impacts: Impacts,
    queries: Queries,
    gold: Array,
    first: int,
    last: int,
    above: Array,
    level: Array,
) -> None:
    """Count the candidates above and level with the gold candidate, itself included.

    Args:
        impacts: The set, with a model applied.
        gold: (q,) int64: each query's gold candidate.
        first: The first query to score.
        last: One behind the last.
        above: (q,) int64, written: candidates with a greater score.
        level: (q,) int64, written: candidates with an equal score.
    """
    if HAS_NUMBA:
        _count(impacts, queries, gold, first, last, above, level)
        return
    for query in range(first, last):
        scores = _product(impacts, queries, query)
        above[query] = np.count_nonzero(scores > scores[gold[query]])
        level[query] = np.count_nonzero(scores == scores[gold[query]])


def _product(impacts: Impacts, queries: Queries, query: int) -> Array:
    """The scores of one query, without numba."""
    from scipy.sparse import csr_array

    size = impacts.documents
    span = slice(queries.starts[query], queries.starts[query + 1])
    known = queries.rows[span] >= 0
    rows, weights = queries.rows[span][known], queries.weights[span][known]
    if not len(rows) or not size:
        return np.zeros(size)
    values, base = impacts.values, 0.0
    if len(impacts.background):
        values = values - np.repeat(impacts.background, np.diff(impacts.offsets))
        base = float(weights @ impacts.background[rows])
    shape = (len(impacts.offsets) - 1, size)
    matrix = csr_array((values, impacts.docs.astype(np.int32), impacts.offsets), shape=shape)
    terms = csr_array((weights, rows, [0, len(rows)]), shape=(1, shape[0]))
    scores: Array = (terms @ matrix).toarray()[0] + base
    return scores


@kernel
def _add(impacts: Impacts, queries: Queries, query: int, out: Array) -> None:
    """Write the scores of one query to ``out``, as long as its set."""
    offsets, docs, values, dense = impacts.offsets, impacts.docs, impacts.values, impacts.dense
    size = len(out)
    for j in range(size):
        out[j] = 0.0
    i, last = queries.starts[query], queries.starts[query + 1]
    while i < last:
        row, weight = queries.rows[i], queries.weights[i]
        i += 1
        if row < 0:
            continue
        begin = impacts.dense_starts[row]
        if begin >= 0:
            here = dense[begin : begin + size]
            second = -1
            if i < last and queries.rows[i] >= 0:
                second = impacts.dense_starts[queries.rows[i]]
            if second < 0:
                for j in range(size):
                    out[j] += weight * here[j]
            else:  # two at a time, each added by itself
                there, other = dense[second : second + size], queries.weights[i]
                i += 1
                for j in range(size):
                    out[j] = (out[j] + weight * here[j]) + other * there[j]
        elif len(impacts.background) == 0:
            for place in range(offsets[row], offsets[row + 1]):
                out[docs[place]] += weight * values[place]
        else:
            base = weight * impacts.background[row]
            follows = 0
            for place in range(offsets[row], offsets[row + 1]):
                document = int(docs[place])
                for j in range(follows, document):
                    out[j] += base
                out[document] += weight * values[place]
                follows = document + 1
            for j in range(follows, size):
                out[j] += base


@kernel
def _score(impacts: Impacts, queries: Queries, first: int, out: Matrix) -> None:
    for n in range(len(out)):
        _add(impacts, queries, first + n, out[n])


@kernel
def _count(
    impacts: Impacts,
    queries: Queries,
    gold: Array,
    first: int,
    last: int,
    above: Array,
    level: Array,
) -> None:
    scores = np.empty(impacts.documents)
    for query in range(first, last):
        _add(impacts, queries, query, scores)
        goal = scores[gold[query]]
        greater, equal = 0, 0
        for j in range(len(scores)):
            greater += scores[j] > goal
            equal += scores[j] == goal
        above[query] = greater
        level[query] = equal
