"""The sign test: binomial, of the topics won against those lost."""

from dataclasses import replace
from typing import ClassVar

from numpy.typing import ArrayLike

from adducir.statistics.differences import FloatArray, paired_rows, settled, tolerance
from adducir.statistics.outcome import TestResult
from adducir.statistics.tests.base import SignificanceTest


class Sign(SignificanceTest):
    """The sign test of wins against losses; ties are dropped."""

    title: ClassVar = "sign test"

    def rows(self, first: FloatArray, second: FloatArray) -> list[TestResult]:
        return [sign(a, b) for a, b in zip(first, second, strict=True)]

    def mirrored(self, result: TestResult) -> TestResult:
        """The losses are the other system's wins."""
        return replace(result, statistic=result.used - result.statistic)


def sign(first: ArrayLike, second: ArrayLike) -> TestResult:
    """Sign test of two systems' scores, each of shape (T,): exact binomial, ties dropped.

    Raises:
        UsageError: The scores cannot be paired.
    """
    from scipy.special import bdtr

    a, b = paired_rows(first, second)
    difference = settled((a - b)[0], float(tolerance(a, b)[0]))
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    used = wins + losses
    p = min(1.0, 2.0 * float(bdtr(min(wins, losses), used, 0.5))) if wins != losses else 1.0
    return TestResult("sign", float(wins), p, difference.size, used, "exact")
