"""Keeping the best documents, and putting them in order."""

from typing import Any, NamedTuple

import numpy as np

from adducir.indexes.memory.adding import F32, U
from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.files import Array

BUCKETS = 1024


class Room(NamedTuple):
    """A thread's working space; ``sums`` (of a window) and ``marks`` (bits) are left zero."""

    sums: Array
    marks: Array
    found: Array
    scores: Array
    docs: Array


@kernel
def keep_best(room: Room, count: Any, depth: Any) -> Any:
    """Drop most of what is not among the best ``depth``; returns how many stay and the least.

    Later documents must be above that least score: equal scores go to the earlier document.
    """
    kept, least = _drop_low(room, count, depth)
    if kept > depth + (depth >> 1) + 32:
        order(room, kept)
        return depth, room.scores[U(depth - 1)]
    return kept, least


@kernel
def _drop_low(room: Room, count: Any, depth: Any) -> Any:
    """Drop documents by a histogram of scores: keep at least ``depth``, all above the others."""
    low, top = room.scores[0], room.scores[0]
    for n in range(U(count)):
        low, top = min(low, room.scores[n]), max(top, room.scores[n])
    scale = F32(BUCKETS - 1) / (top - low)
    if top <= low or scale > F32(1e30):
        return count, low
    histogram = np.zeros(BUCKETS, dtype=np.int64)
    for n in range(U(count)):
        histogram[U((room.scores[n] - low) * scale)] += 1
    bucket, above = U(BUCKETS - 1), histogram[U(BUCKETS - 1)]
    while above < depth:
        bucket -= U(1)
        above += histogram[bucket]
    kept, least = U(0), top
    for n in range(U(count)):
        score = room.scores[n]
        if U((score - low) * scale) >= bucket:
            room.scores[kept] = score
            room.docs[kept] = room.docs[n]
            least = min(least, score)
            kept += U(1)
    return np.int64(kept), least


@kernel
def order(room: Room, count: Any) -> None:
    """Sort by falling score (0 or more), equal scores by rising document."""
    if count <= 64:
        _order_few(room, count)
        return
    scores = room.scores[:count].view(np.uint32)
    keys, docs = np.uint32(0x7FFFFFFF) - scores, room.docs[:count].copy()
    other_keys, other_docs = np.empty_like(keys), np.empty_like(docs)
    histogram = np.empty(2049, dtype=np.uint32)
    # Floats of 0 and more are ordered as their bits are: three passes of eleven bits sort them.
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
            other_keys[place] = keys[n]
            other_docs[place] = docs[n]
        keys, other_keys = other_keys, keys
        docs, other_docs = other_docs, docs
    first = 0
    for n in range(count):
        if n + 1 == count or keys[n + 1] != keys[first]:
            if n > first:
                docs[first : n + 1].sort()
            first = n + 1
    scores[:] = np.uint32(0x7FFFFFFF) - keys
    room.docs[:count] = docs


@kernel
def _order_few(room: Room, count: Any) -> None:
    """Insertion sort."""
    for n in range(1, count):
        score, doc = room.scores[n], room.docs[n]
        place = n
        while place > 0 and (
            room.scores[place - 1] < score
            or (room.scores[place - 1] == score and room.docs[place - 1] > doc)
        ):
            room.scores[place] = room.scores[place - 1]
            room.docs[place] = room.docs[place - 1]
            place -= 1
        room.scores[place] = score
        room.docs[place] = doc
