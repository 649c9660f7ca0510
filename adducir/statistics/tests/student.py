"""The paired t-test (Student 1908), over one pair of systems or many at once."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from adducir.statistics.differences import FloatArray, constant_rows, paired_rows, tolerance
from adducir.statistics.outcome import TestResult
from adducir.statistics.tests.base import SignificanceTest


class StudentT(SignificanceTest):
    """Student's paired t-test: the differences of the topics are taken as normal."""

    title: ClassVar = "paired t-test"

    def rows(self, first: FloatArray, second: FloatArray) -> list[TestResult]:
        return paired_t_rows(first, second)


def t_values(difference: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Paired t statistics and two-sided p of (K, T) differences, special cases included.

    Args:
        difference: Shape (K, T).
        noise: Shape (K,), from :func:`~adducir.statistics.differences.tolerance`.

    Returns:
        t and p, each (K,); t is 0 for identical runs and infinite for a constant.
    """
    from scipy.special import stdtr

    topics = difference.shape[1]
    mean = difference.mean(axis=1)
    constant = constant_rows(difference, noise)
    identical = np.abs(difference).max(axis=1) <= noise
    error = difference.std(axis=1, ddof=1) / np.sqrt(topics)
    t = mean / np.where(constant, 1.0, error)
    p = 2.0 * stdtr(topics - 1, -np.abs(t))
    t = np.where(constant, np.copysign(np.inf, mean), t)
    p = np.where(constant, 2.0 ** (1 - topics), p)
    return np.where(identical, 0.0, t), np.where(identical, 1.0, p)


def paired_t_rows(first: ArrayLike, second: ArrayLike) -> list[TestResult]:
    """:func:`paired_t` for each row of two (K, T) arrays."""
    a, b = paired_rows(first, second)
    topics = a.shape[1]
    statistics, ps = t_values(a - b, tolerance(a, b))
    return [
        TestResult(
            "t",
            float(t),
            float(p),
            topics,
            topics,
            "exact" if np.isinf(t) else "Student",
            degenerate=bool(np.isinf(t)),
        )
        for t, p in zip(statistics, ps, strict=True)
    ]


def paired_t(first: ArrayLike, second: ArrayLike) -> TestResult:
    """Paired t-test of two systems' scores, each of shape (T,).

    Raises:
        UsageError: The scores cannot be paired.
    """
    return paired_t_rows(first, second)[0]
