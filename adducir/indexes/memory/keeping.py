"""Keeping the best documents, and putting them in order.

Scores are 0 or more; floats of 0 and more are in the order of their bits, read as whole numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.adding import U
from adducir.indexes.memory.compiled import inner, kernel


class Room(NamedTuple):
    """A thread's working space; ``sums`` (of a window) and ``marks`` (bits) are left zero."""

    sums: Array
    marks: Array
    found: Array
    found_scores: Array
    scores: Array
    docs: Array
    places: Array
    begins: Array


@inner
def lower_bound(scores: Array, count: Any, rank: Any, digits: Any) -> Any:
    """The score at ``rank`` (from 1) among the first ``count``, cut to its first ``digits`` bits.

    It is built up bit by bit: one is set if enough scores are then still not below. 31 give the
    score itself.
    """
    bits, value = scores.view(np.uint32), np.uint32(0)
    for place in range(30, 30 - digits, -1):
        trial, reached = np.uint32(value | np.uint32(1 << place)), 0
        for n in range(U(count)):
            reached += 1 if bits[n] >= trial else 0
        if reached >= rank:
            value = trial
    return np.uint32(value).view(np.float32)


@inner
def keep_best(room: Room, count: Any, depth: Any) -> Any:
    """Drop all but the best ``depth`` documents, of equals the first; returns the least score.

    What stays is in the order in which it was.
    """
    scores, docs = room.scores, room.docs
    least, equal = lower_bound(scores, count, depth, np.int64(31)), depth
    for n in range(U(count)):
        equal -= 1 if scores[n] > least else 0
    kept = U(0)
    for n in range(U(count)):
        equal -= 1 if scores[n] == least else 0
        if scores[n] > least or (scores[n] == least and equal >= 0):
            scores[kept], docs[kept] = scores[n], docs[n]
            kept += U(1)
    return least


@kernel
def order(room: Room, count: Any) -> None:
    """Sort by falling score; equal scores stay in the order in which they are."""
    if count <= 64:
        _order_few(room, count)
        return
    scores = room.scores[:count].view(np.uint32)
    keys, docs = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.int32)
    for n in range(U(count)):
        keys[n], docs[n] = np.uint32(0x7FFFFFFF) - scores[n], room.docs[n]
    other_keys, other_docs = np.empty_like(keys), np.empty_like(docs)
    histogram = np.empty(2049, dtype=np.uint32)
    for shift in (np.uint32(0), np.uint32(11), np.uint32(22)):
        histogram[:] = 0
        for n in range(U(count)):
            histogram[U((keys[n] >> shift) & np.uint32(2047)) + U(1)] += np.uint32(1)
        for n in range(U(2048)):
            histogram[n + U(1)] += histogram[n]
        for n in range(U(count)):
            digit = U((keys[n] >> shift) & np.uint32(2047))
            place = U(histogram[digit])
            histogram[digit] += np.uint32(1)
            other_keys[place], other_docs[place] = keys[n], docs[n]
        keys, other_keys = other_keys, keys
        docs, other_docs = other_docs, docs
    for n in range(U(count)):
        scores[n], room.docs[n] = np.uint32(0x7FFFFFFF) - keys[n], docs[n]


@kernel
def merge(
    one_starts: Array,
    one_docs: Array,
    one_scores: Array,
    other_starts: Array,
    other_docs: Array,
    other_scores: Array,
    out_starts: Array,
    out_docs: Array,
    out_scores: Array,
) -> None:
    """Merge two rankings of each query, best first; of equal scores the lower document first.

    Args:
        one_starts, other_starts: (q + 1,) int64: where each query's hits begin in these.
        out_starts: (q + 1,) int64: where they go in ``out_docs`` and ``out_scores``, as many as
            there is room for.
    """
    for query in range(len(out_starts) - 1):
        one, one_end = one_starts[query], one_starts[query + 1]
        other, other_end = other_starts[query], other_starts[query + 1]
        for place in range(out_starts[query], out_starts[query + 1]):
            first = other >= other_end
            if one < one_end and not first:
                first = one_scores[one] > other_scores[other]
                if one_scores[one] == other_scores[other]:
                    first = one_docs[one] < other_docs[other]
            if first:
                out_docs[place], out_scores[place] = one_docs[one], one_scores[one]
                one += 1
            else:
                out_docs[place], out_scores[place] = other_docs[other], other_scores[other]
                other += 1


@kernel
def _order_few(room: Room, count: Any) -> None:
    """Insertion sort."""
    scores, docs = room.scores, room.docs
    for n in range(1, count):
        score, doc = scores[n], docs[n]
        place = n
        while place > 0 and scores[place - 1] < score:
            scores[place], docs[place] = scores[place - 1], docs[place - 1]
            place -= 1
        scores[place], docs[place] = score, doc
