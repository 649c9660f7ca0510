"""Scores to rankings: the best first, equal scores in the order of their places.

Scores are rounded to single precision and sorted digit by digit; what is equal then is put in the
order of the whole scores. For thousands of scores that is quicker than sorting doubles.
"""

from typing import Any

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.compiled import kernel

Matrix = np.ndarray[tuple[int, int], np.dtype[Any]]

_FEW = 128  # scores that are not worth sorting by digits
_INSERTION = 32  # longer runs of equal single-precision scores are sorted by merging


@kernel
def order_rows(scores: Matrix, places: Matrix, best: Matrix) -> None:
    for row in range(len(scores)):
        order(scores[row], places[row], best[row])


@kernel
def order(scores: Array, places: Array, best: Array) -> None:
    """Write the places of the best scores, and these."""
    size, depth = len(scores), len(places)
    if size <= _FEW:
        few = np.arange(size).astype(np.uint32)
        _order_run(scores, few)
        for i in range(depth):
            places[i], best[i] = few[i], scores[few[i]]
        return
    keys, other_keys = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    found, other_found = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    floats = keys.view(np.float32)
    for place in range(size):
        floats[place] = scores[place] + 0.0  # no negative zero
        if keys[place] < np.uint32(0x80000000):  # rising keys for falling scores
            keys[place] = np.uint32(0x7FFFFFFF) - keys[place]
        found[place] = place
    counts = np.empty(2049, dtype=np.uint32)
    kept = _keep_low(keys, found, depth, counts) if depth < size else size
    for shift in (np.uint32(0), np.uint32(11), np.uint32(22)):
        counts[:] = 0
        for i in range(kept):
            counts[((keys[i] >> shift) & np.uint32(2047)) + np.uint32(1)] += np.uint32(1)
        for digit in range(2048):
            counts[digit + 1] += counts[digit]
        for i in range(kept):
            digit = (keys[i] >> shift) & np.uint32(2047)
            to = counts[digit]
            counts[digit] = to + np.uint32(1)
            other_keys[to], other_found[to] = keys[i], found[i]
        keys, other_keys = other_keys, keys
        found, other_found = other_found, found
    first = 0
    for i in range(1, kept + 1):
        if i == kept or keys[i] != keys[first]:
            if i - first > 1:
                _order_run(scores, found[first:i])
            first = i
            if first >= depth:
                break
    for i in range(depth):
        places[i], best[i] = found[i], scores[found[i]]


@kernel
def _keep_low(keys: Array, found: Array, depth: int, counts: Array) -> int:
    """Move the ``depth`` lowest keys, and what shares their leading digits, to the front."""
    counts[:] = 0
    for i in range(len(keys)):
        counts[keys[i] >> np.uint32(22)] += np.uint32(1)
    digit, total = 0, counts[0]
    while total < depth:
        digit += 1
        total += counts[digit]
    kept = 0
    for i in range(len(keys)):
        if keys[i] >> np.uint32(22) <= digit:
            keys[kept], found[kept] = keys[i], found[i]
            kept += 1
    return kept


@kernel
def _order_run(scores: Array, run: Array) -> None:
    """Order places of equal keys by falling score; equal scores stay in order."""
    falls = True
    for i in range(1, len(run)):
        falls = falls and scores[run[i]] <= scores[run[i - 1]]
    if falls:
        return
    if len(run) > _INSERTION:
        run[:] = run[np.argsort(-scores[run], kind="mergesort")]
        return
    for i in range(1, len(run)):
        place, j = run[i], i
        while j > 0 and scores[run[j - 1]] < scores[place]:
            run[j] = run[j - 1]
            j -= 1
        run[j] = place
