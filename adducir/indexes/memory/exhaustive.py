"""Score all documents of a segment with any model in doubles, and rank them.

Each posting's impact is computed once per model. Query terms add their impacts in the query's
order, once per occurrence, as in rank_bm25, so that sums round alike. Ties keep the order of
documents.
"""

from typing import Any, NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.compiled import inner, kernel
from adducir.indexes.memory.scoring import Queries
from adducir.indexes.memory.segment import Segment
from adducir.indexes.models import Model

Matrix = np.ndarray[tuple[int, int], np.dtype[Any]]

_CHUNK = 1 << 15  # postings whose intermediate arrays fit the processor's cache
_DENSE_SHARE = 4
_DENSE_DOCUMENTS = 128
_FEW = 128  # scores not worth radix-sorting
_COUNTED = 1 << 13
_SIGN = np.uint64(1 << 63)


class WeighedSegment(NamedTuple):
    """A segment with a model applied.

    A term in at least a quarter of many documents is also stored as a plain array over all
    documents, which is several times faster to add than postings.
    """

    documents: int
    offsets: Array
    docs: Array
    values: Array  # (P,) float64: what each posting adds
    dense_starts: Array  # (R,) int64: where a term begins in ``dense``, or -1
    dense: Array  # float64: terms as plain arrays


def weighed(segment: Segment, model: Model, terms: Array, lengths: Array) -> WeighedSegment:
    """Apply a model by its factors of the terms, (R,), and of the documents' lengths, (D,)."""
    of_postings = np.repeat(terms, segment.frequencies)
    values = np.empty(len(segment.docs), dtype=np.float64)
    for low in range(0, len(values), _CHUNK):
        part = slice(low, low + _CHUNK)
        docs = segment.docs[part]
        values[part] = model.added(of_postings[part], segment.tfs[part], lengths[docs])
    size, offsets, frequencies = len(segment), segment.offsets, segment.frequencies
    starts = np.full(len(terms), -1, dtype=np.int64)
    is_common = (frequencies * _DENSE_SHARE >= size) & (size >= _DENSE_DOCUMENTS)
    common = np.flatnonzero(is_common)
    starts[common] = np.arange(len(common)) * size
    dense = np.zeros((len(common), size), dtype=np.float64)
    for row, term in zip(dense, common, strict=True):
        part = slice(offsets[term], offsets[term + 1])
        row[segment.docs[part]] = values[part]
    return WeighedSegment(size, offsets, segment.docs, values, starts, dense.ravel())


@kernel
def _add(impacts: WeighedSegment, queries: Queries, query: int, out: Array) -> None:
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
            else:  # two at a time, added separately
                there, other = dense[second : second + size], queries.weights[i]
                i += 1
                for j in range(size):
                    out[j] = (out[j] + weight * here[j]) + other * there[j]
        else:
            for place in range(offsets[term], offsets[term + 1]):
                out[np.uint32(docs[place])] += weight * values[place]


@kernel
def score(impacts: WeighedSegment, queries: Queries, first: int, out: Matrix) -> None:
    for n in range(len(out)):
        _add(impacts, queries, first + n, out[n])


@kernel
def count(
    impacts: WeighedSegment,
    queries: Queries,
    gold: Array,
    first: int,
    last: int,
    above: Array,
    level: Array,
) -> None:
    """Count documents that score above or tie with (q,) ``gold`` documents, including these."""
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


@kernel
def order_rows(scores: Matrix, places: Matrix, best: Matrix) -> None:
    for row in range(len(scores)):
        order(scores[row], places[row], best[row])


@inner
def lower_bound(values: Array, count: Any, rank: Any, top: Any, bits: Any) -> Any:
    """The value at ``rank`` (from 1) among ``count`` unsigned integers, rounded down.

    Of its bits, those from ``top`` on are found, ``bits`` of them.
    """
    kind, one = values.dtype.type, np.uint64(1)
    value = kind(0)
    for place in range(top, top - bits, -1):
        trial = kind(value | kind(one << np.uint64(place)))
        reached = np.uint64(0)
        for start in range(np.uint64(0), np.uint64(count), np.uint64(_COUNTED)):
            some: Any = kind(0)  # counted in the values' own type, so that more are at a time
            for n in range(start, min(start + np.uint64(_COUNTED), np.uint64(count))):
                some = kind(some + kind(values[n] >= trial))
            reached += np.uint64(some)
        if reached >= np.uint64(rank):
            value = trial
    return value


@kernel
def order(scores: Array, places: Array, best: Array) -> None:
    """Write the indices of the best scores, ties in order, and the scores."""
    size, depth = len(scores), len(places)
    found = np.arange(size).astype(np.uint32)
    keys = np.empty(size, dtype=np.uint64)
    floats = keys.view(np.float64)
    for place in range(size):
        floats[place] = scores[place] + 0.0  # avoids negative zero
        if keys[place] < _SIGN:  # ascending keys for ascending scores
            keys[place] += _SIGN
        else:
            keys[place] = ~keys[place]
    if size > _FEW:
        kept = size
        if depth < size:
            least, kept = lower_bound(keys, size, depth, 63, 24), 0
            for place in range(size):
                keys[kept], found[kept] = keys[place], place
                kept += keys[place] >= least
        keys, found = _sorted(keys[:kept], found[:kept], 31)  # nearly, as in single precision
    if not _repaired(keys, found):
        _, found = _sorted(keys, found, 0)
    for i in range(depth):
        places[i], best[i] = found[i], scores[found[i]]


@kernel
def _sorted(keys: Array, found: Array, first: int) -> tuple[Array, Array]:
    """By falling keys from the bit ``first`` on; equal ones stay in order: a radix sort."""
    size = len(keys)
    other_keys, other_found = np.empty_like(keys), np.empty_like(found)
    starts = np.empty(2049, dtype=np.int64)
    for shift in range(np.uint64(first), np.uint64(64), np.uint64(11)):
        starts[:] = 0
        for i in range(size):
            starts[np.uint64(2048) - ((keys[i] >> shift) & np.uint64(2047))] += 1
        for digit in range(2048):
            starts[digit + 1] += starts[digit]
        for i in range(size):
            digit = np.uint64(2047) - ((keys[i] >> shift) & np.uint64(2047))
            to = starts[digit]
            starts[digit] = to + 1
            other_keys[to], other_found[to] = keys[i], found[i]
        keys, other_keys = other_keys, keys
        found, other_found = other_found, found
    return keys, found


@inner
def _repaired(keys: Array, found: Array) -> bool:
    """Finish sorting by insertion, if that takes few steps."""
    steps = 0
    for i in range(1, len(keys)):
        key, place, j = keys[i], found[i], i
        while j > 0 and keys[j - 1] < key:
            keys[j], found[j] = keys[j - 1], found[j - 1]
            j -= 1
        keys[j], found[j] = key, place
        steps += i - j
        if steps > 64 * len(keys):
            return False
    return True


@inner
def keep_best(
    docs: Array, values: Array, scores: Array, count: Any, depth: Any, top: Any, slack: Any
) -> Any:
    """Drop all that cannot be among the best ``depth``, ties by place.

    With a ``slack`` of 0 or more, values are that much too high. Returns how many are kept, and a
    value that a later document must exceed.
    """
    kind = values.dtype.type
    least, equal = lower_bound(values, count, depth, top, top + 1), np.int64(depth)
    if slack >= 0:
        least, equal = kind(max(np.int64(least) - slack, 1) - 1), np.int64(0)
    for n in range(np.uint64(count)):
        equal -= np.int64(values[n] > least)
    kept = np.uint64(0)
    for n in range(np.uint64(count)):
        is_tie = values[n] == least and equal > 0
        equal -= np.int64(is_tie)
        docs[kept], values[kept], scores[kept] = docs[n], values[n], scores[n]
        kept += np.uint64(values[n] > least or is_tie)
    return kept, least
