"""All documents of a segment, scored by any model in doubles.

What each posting adds is computed once per model. Every query term adds its postings' impacts in
the query's order, once per occurrence: the order of rank_bm25, so that sums round alike.
"""

from typing import NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.scoring import Queries
from adducir.indexes.memory.segment import Segment
from adducir.indexes.models import Model

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]

_CHUNK = 1 << 15  # postings whose intermediate arrays stay in the processor's cache
_DENSE_SHARE = 4
_DENSE_DOCUMENTS = 128


class Impacts(NamedTuple):
    """A segment with a model applied.

    A term that a quarter or more of many documents hold is kept once more as a plain array over all
    documents: adding that is several times faster than following postings.
    """

    documents: int
    offsets: Array
    docs: Array
    values: Array  # (P,) float64: what each posting adds
    dense_starts: Array  # (R,) int64: where a term begins in ``dense``, or -1
    dense: Array  # float64: terms as plain arrays


def weighed(segment: Segment, model: Model, terms: Array, lengths: Array) -> Impacts:
    """Apply a model by its factors of the terms, (R,), and of the documents' lengths, (D,)."""
    of_postings = np.repeat(terms, segment.frequencies)
    values = np.empty(len(segment.docs), dtype=np.float64)
    for low in range(0, len(values), _CHUNK):
        part = slice(low, low + _CHUNK)
        docs = segment.docs[part]
        values[part] = model.impacts(of_postings[part], segment.tfs[part], lengths[docs])
    size, offsets, frequencies = len(segment), segment.offsets, segment.frequencies
    starts = np.full(len(terms), -1, dtype=np.int64)
    is_common = (frequencies * _DENSE_SHARE >= size) & (size >= _DENSE_DOCUMENTS)
    common = np.flatnonzero(is_common)
    starts[common] = np.arange(len(common)) * size
    dense = np.zeros((len(common), size), dtype=np.float64)
    for row, term in zip(dense, common, strict=True):
        part = slice(offsets[term], offsets[term + 1])
        row[segment.docs[part]] = values[part]
    return Impacts(size, offsets, segment.docs, values, starts, dense.ravel())


@kernel
def _add(impacts: Impacts, queries: Queries, query: int, out: Array) -> None:
    offsets, docs, values, dense = impacts.offsets, impacts.docs, impacts.values, impacts.dense
    size = len(out)
    for j in range(size):
        out[j] = 0.0
    i, last = queries.starts[query], queries.starts[query + 1]
    while i < last:
        term, weight = queries.terms[i], queries.weights[i]
        i += 1
        if term < 0:
            continue
        begin = impacts.dense_starts[term]
        if begin >= 0:
            here = dense[begin : begin + size]
            second = -1
            if i < last and queries.terms[i] >= 0:
                second = impacts.dense_starts[queries.terms[i]]
            if second < 0:
                for j in range(size):
                    out[j] += weight * here[j]
            else:  # two at a time, each added by itself
                there, other = dense[second : second + size], queries.weights[i]
                i += 1
                for j in range(size):
                    out[j] = (out[j] + weight * here[j]) + other * there[j]
        else:
            for place in range(offsets[term], offsets[term + 1]):
                out[np.uint32(docs[place])] += weight * values[place]


@kernel
def score(impacts: Impacts, queries: Queries, first: int, out: Matrix) -> None:
    for n in range(len(out)):
        _add(impacts, queries, first + n, out[n])


@kernel
def count(
    impacts: Impacts,
    queries: Queries,
    gold: Array,
    first: int,
    last: int,
    above: Array,
    level: Array,
) -> None:
    """Count what scores above and level with (q,) ``gold`` documents, these included."""
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
