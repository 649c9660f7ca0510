"""Wilcoxon's signed-rank test (1945), of one pair of systems."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.statistics.differences import FloatArray, paired_rows, settled, tolerance
from adducir.statistics.outcome import TestResult
from adducir.statistics.tests.base import SignificanceTest

EXACT_WILCOXON = 50
"""Up to so many non-zero differences, Wilcoxon's null distribution is computed exactly."""


class Wilcoxon(SignificanceTest):
    """Wilcoxon's signed-rank test."""

    title: ClassVar = "Wilcoxon signed-rank test"
    zeros: Literal["wilcox", "pratt"] = Field(
        "wilcox", description="Zero differences are dropped, or ranked and then dropped (pratt)."
    )

    def rows(self, first: FloatArray, second: FloatArray) -> list[TestResult]:
        return [wilcoxon(a, b, zeros=self.zeros) for a, b in zip(first, second, strict=True)]

    def mirrored(self, result: TestResult) -> TestResult:
        """The smaller sum of ranks is the same from either side."""
        return result


def wilcoxon(first: ArrayLike, second: ArrayLike, *, zeros: str = "wilcox") -> TestResult:
    """Wilcoxon signed-rank test of two systems' scores, each of shape (T,).

    Up to :data:`EXACT_WILCOXON` non-zero differences, p is exact given the ranks, tied
    ranks included (scipy and R turn to the normal approximation as soon as there are
    ties). Above, the normal approximation with tie correction, without continuity
    correction, as in ``scipy.stats.wilcoxon``; for ``pratt`` with Cureton's (1967) moments.

    Args:
        first: Scores of the first system.
        second: Scores of the second system on the same topics.
        zeros: ``wilcox`` drops zero differences; ``pratt`` ranks them, then drops them.

    Raises:
        UsageError: The scores cannot be paired, or ``zeros`` is neither.
    """
    if zeros not in ("wilcox", "pratt"):
        raise UsageError(f"zeros must be 'wilcox' or 'pratt', not {zeros!r}.")
    a, b = paired_rows(first, second)
    difference = settled((a - b)[0], float(tolerance(a, b)[0]))
    topics = difference.size
    kept = difference if zeros == "pratt" else difference[difference != 0]
    ranks = _midranks(np.abs(kept))[kept != 0]
    signs = kept[kept != 0] > 0
    used = ranks.size
    above, below = float(ranks[signs].sum()), float(ranks[~signs].sum())
    smaller = min(above, below)
    if used <= EXACT_WILCOXON:
        return TestResult(
            "wilcoxon", smaller, _signed_rank_exact(ranks, smaller), topics, used, "exact"
        )
    return TestResult(
        "wilcoxon", smaller, _signed_rank_normal(ranks, above), topics, used, "normal"
    )


def _midranks(magnitude: FloatArray) -> FloatArray:
    """Ranks from 1, ties sharing the mean of their ranks; shape kept."""
    _, group, counts = np.unique(magnitude, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[group], dtype=np.float64)


def _signed_rank_exact(ranks: FloatArray, smaller: float) -> float:
    """Two-sided p over all 2^n signs of ``ranks``, by convolution over doubled ranks.

    The counts stay below 2^50 and are therefore exact in float64.
    """
    doubled = np.rint(2.0 * ranks).astype(np.int64)
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] += ways[: ways.size - rank].copy()
    tail = float(ways[: round(2.0 * smaller) + 1].sum())
    return min(1.0, 2.0 * tail / 2.0**ranks.size)


def _signed_rank_normal(ranks: FloatArray, above: float) -> float:
    """Two-sided p of the sum of positive ranks by its mean and variance given the ranks.

    Given the ranks r, the sum has mean sum(r)/2 and variance sum(r^2)/4: with midranks
    this is the usual tie correction, with Pratt's ranks it is Cureton's.
    """
    from scipy.special import ndtr

    z = (above - ranks.sum() / 2.0) / np.sqrt(np.square(ranks).sum() / 4.0)
    return float(2.0 * ndtr(-abs(z)))
