"""Keeping the best documents, and putting them in order.

Scores are 0 or more; floats of 0 and more are in the order of their bits, read as whole numbers.
"""

from typing import Any, NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.adding import U
from adducir.indexes.memory.compiled import inner, kernel
from adducir.indexes.memory.sorting import order as order_row


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
    places = np.empty(count, dtype=np.int32)
    docs = room.docs[:count].copy()
    order_row(room.scores[:count].copy(), places, room.scores[:count])
    for n in range(count):
        room.docs[n] = docs[places[n]]
