"""From scores to rankings: score descending, equal scores by candidate number ascending.

Scores are rounded to single precision and sorted digit by digit; what is equal then is put in the
order of the whole scores: for thousands of candidates, quicker than sorting doubles.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.indexes.arrays import Array
from adducir.indexes.memory.compiled import HAS_NUMBA, kernel

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
IntMatrix = np.ndarray[tuple[int, int], np.dtype[np.int32]]

_INSERTION = 32  # longer runs of equal single-precision scores are sorted by merging


@dataclass(frozen=True, eq=False)
class Ranking:
    """The k best candidates of a set for each of q queries.

    Attributes:
        numbers: (q, k) int32: candidates, best first; those without a query term are ranked too.
        scores: (q, k) float64: their scores.
    """

    numbers: IntMatrix
    scores: Matrix

    @classmethod
    def empty(cls, queries: int, candidates: int, depth: int | None) -> "Ranking":
        """A ranking to be written by :func:`order`, of ``depth`` candidates or of all.

        Raises:
            UsageError: ``depth`` below 1.
        """
        if depth is not None and depth < 1:
            raise UsageError(f"a depth must be 1 or more, not {depth}.")
        shape = queries, candidates if depth is None else min(depth, candidates)
        return cls(np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.float64))

    def frame(self, qids: Sequence[str], docnos: Sequence[str]) -> pl.DataFrame:
        """The columns qid, docno and score, as a run has them.

        Args:
            docnos: The names of all candidates of the set.
        """
        rows = np.repeat(np.arange(len(qids)), self.numbers.shape[1])
        return pl.DataFrame(
            {
                "qid": pl.Series(qids, dtype=pl.String).gather(rows),
                "docno": pl.Series(docnos, dtype=pl.String).gather(self.numbers.ravel()),
                "score": pl.Series(self.scores.ravel()),
            }
        )


def rank(scores: Matrix, depth: int | None) -> Ranking:
    """Order candidates by score.

    Args:
        scores: (q, n) finite scores.
        depth: How many are wanted; None for all. Where there are fewer, all.

    Raises:
        UsageError: ``depth`` below 1.
    """
    ranking = Ranking.empty(*scores.shape, depth)
    order(scores, ranking.numbers, ranking.scores)
    return ranking


def order(scores: Matrix, numbers: IntMatrix, best: Matrix) -> None:
    """Write the best candidates and their scores.

    Args:
        scores: (q, n) finite scores.
        numbers: (q, k) int32, written; k is at most n.
        best: (q, k) float64, written.
    """
    if HAS_NUMBA:
        _order(scores, numbers, best)
        return
    numbers[:] = np.argsort(-scores, axis=1, kind="stable")[:, : numbers.shape[1]]
    best[:] = np.take_along_axis(scores, numbers, axis=1)


@kernel
def _order(scores: Matrix, numbers: IntMatrix, best: Matrix) -> None:
    size, depth = scores.shape[1], numbers.shape[1]
    keys, other_keys = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    places, other_places = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    counts = np.empty(2049, dtype=np.uint32)
    for query in range(scores.shape[0]):
        mine = scores[query]
        _make_keys(mine, keys, places)
        kept = _keep_low(keys, places, depth, counts) if depth < size else size
        for shift in (np.uint32(0), np.uint32(11), np.uint32(22)):
            _sort_by_digit(keys, places, other_keys, other_places, kept, shift, counts)
            keys, other_keys = other_keys, keys
            places, other_places = other_places, places
        _settle(mine, keys, places, kept, depth)
        for i in range(depth):
            numbers[query, i] = places[i]
            best[query, i] = mine[places[i]]


@kernel
def _make_keys(scores: Array, keys: Array, places: Array) -> None:
    """Whole numbers that rise where single-precision scores fall."""
    floats = keys.view(np.float32)
    for j in range(len(scores)):
        floats[j] = scores[j] + 0.0  # no negative zero
        if keys[j] < np.uint32(0x80000000):
            keys[j] = np.uint32(0x7FFFFFFF) - keys[j]
        places[j] = j


@kernel
def _keep_low(keys: Array, places: Array, depth: int, counts: Array) -> int:
    """Move the ``depth`` lowest keys, and what shares their leading digits, to the front."""
    counts[:] = 0
    for j in range(len(keys)):
        counts[keys[j] >> np.uint32(22)] += np.uint32(1)
    digit, total = 0, counts[0]
    while total < depth:
        digit += 1
        total += counts[digit]
    kept = 0
    for j in range(len(keys)):
        if keys[j] >> np.uint32(22) <= digit:
            keys[kept] = keys[j]
            places[kept] = j
            kept += 1
    return kept


@kernel
def _sort_by_digit(
    keys: Array,
    places: Array,
    other_keys: Array,
    other_places: Array,
    kept: int,
    shift: np.uint32,
    counts: Array,
) -> None:
    """Write the first ``kept`` keys and places to the others in order of eleven of the bits."""
    counts[:] = 0
    for j in range(kept):
        counts[((keys[j] >> shift) & np.uint32(2047)) + np.uint32(1)] += np.uint32(1)
    for digit in range(2048):
        counts[digit + 1] += counts[digit]
    for j in range(kept):
        digit = (keys[j] >> shift) & np.uint32(2047)
        to = counts[digit]
        counts[digit] = to + np.uint32(1)
        other_keys[to] = keys[j]
        other_places[to] = places[j]


@kernel
def _settle(scores: Array, keys: Array, places: Array, kept: int, depth: int) -> None:
    """Order runs of equal keys by falling score; equal scores stay in rising order of places."""
    first = 0
    for i in range(1, kept + 1):
        if i < kept and keys[i] == keys[first]:
            continue
        if i - first > 1:
            _settle_run(scores, places[first:i])
        first = i
        if first >= depth:
            return


@kernel
def _settle_run(scores: Array, run: Array) -> None:
    """Order places by falling score; equal scores stay in order."""
    falls = True
    for i in range(1, len(run)):
        falls = falls and scores[run[i]] <= scores[run[i - 1]]
    if falls:
        return
    if len(run) > _INSERTION:
        run[:] = run[np.argsort(-scores[run], kind="mergesort")]
        return
    for i in range(1, len(run)):
        one, j = run[i], i
        while j > 0 and scores[run[j - 1]] < scores[one]:
            run[j] = run[j - 1]
            j -= 1
        run[j] = one
