"""From scores to rankings: score descending, equal scores by candidate number ascending."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.files import Array
from adducir.study.errors import UsageError

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]
IntMatrix = np.ndarray[tuple[int, int], np.dtype[np.int32]]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The k best candidates of a set for each of q queries.

    Attributes:
        numbers: (q, k) int32: candidates, best first; those without a query term are ranked too.
        scores: (q, k) float64: their scores.
    """

    numbers: IntMatrix
    scores: Matrix

    def frame(self, qids: Sequence[str], docnos: Sequence[str]) -> pl.DataFrame:
        """The columns qid, docno and score, as a run has them.

        Args:
            qids: The q queries' names.
            docnos: The names of all candidates of the set.
        """
        depth = self.numbers.shape[1]
        return pl.DataFrame(
            {
                "qid": pl.Series(qids, dtype=pl.String).gather(
                    np.repeat(np.arange(len(qids)), depth)
                ),
                "docno": pl.Series(docnos, dtype=pl.String).gather(self.numbers.ravel()),
                "score": pl.Series(self.scores.ravel()),
            }
        )


def rank(scores: Matrix, depth: int | None) -> Ranking:
    """Order candidates by score.

    Args:
        scores: (q, n) scores; they are overwritten.
        depth: How many are wanted; None for all. Where there are fewer, all.

    Raises:
        UsageError: ``depth`` below 1.
    """
    if depth is not None and depth < 1:
        raise UsageError(f"a depth must be 1 or more, not {depth}.")
    queries, candidates = scores.shape
    np.negative(scores, out=scores)
    if depth is None or depth >= candidates:
        kept = np.broadcast_to(np.arange(candidates, dtype=np.int32), scores.shape)
        lost = scores
    else:
        limits = np.partition(scores, depth - 1, axis=1)[:, depth - 1].copy()
        kept = np.empty((queries, depth), dtype=np.int32)
        _collect(scores, limits, kept)
        lost = np.take_along_axis(scores, kept, axis=1)
    order = np.argsort(lost, axis=1).astype(np.int32)
    lost = np.take_along_axis(lost, order, axis=1)
    _settle_ties(lost, order)
    return Ranking(np.take_along_axis(kept, order, axis=1), -lost)


@kernel
def _collect(lost: Matrix, limits: Array, kept: IntMatrix) -> None:
    """Write the candidates below each limit, and of those at it the first, in ascending order."""
    queries, depth = kept.shape
    for query in range(queries):
        limit = limits[query]
        below = 0
        for j in range(lost.shape[1]):
            below += lost[query, j] < limit
        at_limit = depth - below
        place = 0
        for j in range(lost.shape[1]):
            if lost[query, j] < limit:
                kept[query, place] = j
                place += 1
            elif lost[query, j] == limit and at_limit > 0:
                kept[query, place] = j
                place += 1
                at_limit -= 1


@kernel
def _settle_ties(lost: Matrix, order: IntMatrix) -> None:
    """Put runs of equal values in ascending order of their places."""
    for query in range(lost.shape[0]):
        first = 0
        for j in range(1, lost.shape[1] + 1):
            if j < lost.shape[1] and lost[query, j] == lost[query, first]:
                continue
            if j - first > 1:
                order[query, first:j].sort()
            first = j
