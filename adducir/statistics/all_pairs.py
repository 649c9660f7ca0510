"""Tests of all pairs of systems at once, as matrices.

The t statistics of all pairs come from one covariance product: the variance of the
difference of i and j is c_ii + c_jj - 2 c_ij. Where two systems are so alike that this
subtraction would lose digits, the pair is computed from its differences instead.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adducir.statistics.blas import one_thread
from adducir.statistics.choices import DEFAULT_PERMUTATIONS, DEFAULT_SEED
from adducir.statistics.differences import FloatArray, tolerance
from adducir.statistics.tests.randomisation import checked_values, pairwise
from adducir.statistics.tests.student import t_values

ALIKE = 1e-2
"""Pairs whose difference has less than this share of their summed variance are recomputed."""


@dataclass(frozen=True, slots=True)
class AllPairs:
    """One test of every pair of S systems.

    Attributes:
        statistic: Shape (S, S); [i, j] > 0 says that i is better than j; antisymmetric.
        p: Shape (S, S), two-sided, symmetric, diagonal 1.
        degenerate: Shape (S, S): the difference is one non-zero constant.
        n: Number of topics.
    """

    statistic: FloatArray
    p: FloatArray
    degenerate: NDArray[np.bool_]
    n: int


def all_pairs(values: ArrayLike) -> AllPairs:
    """Paired t-tests of all pairs of systems; special cases as in ``significance``.

    Args:
        values: Scores, shape (S, T).

    Raises:
        UsageError: One system, fewer than two topics, or NaN.
    """
    from scipy.special import stdtr

    scores = checked_values(values)
    systems, topics = scores.shape
    centred = scores - scores.mean(axis=0)
    mean = centred.mean(axis=1)
    centred -= mean[:, None]
    with one_thread():
        product = centred @ centred.T
    own = np.diagonal(product)
    i, j = np.triu_indices(systems, 1)
    summed = own[i] + own[j]
    squares = summed - 2.0 * product[i, j]
    alike = squares <= ALIKE * summed + topics * tolerance(scores, scores).max() ** 2
    error = np.sqrt(np.where(alike, 1.0, squares) / (topics * (topics - 1)))
    t = (mean[i] - mean[j]) / error
    p = 2.0 * stdtr(topics - 1, -np.abs(t))
    if alike.any():
        first, second = scores[i[alike]], scores[j[alike]]
        t[alike], p[alike] = t_values(first - second, tolerance(first, second))
    return _matrices(systems, topics, t, p)


def all_pairs_randomisation(
    values: ArrayLike, *, permutations: int = DEFAULT_PERMUTATIONS, seed: int = DEFAULT_SEED
) -> AllPairs:
    """Randomisation tests of all pairs of systems by shared sign vectors.

    Each pair's p equals that of
    :func:`~adducir.statistics.tests.randomisation.randomisation` with the same seed.

    Args:
        values: Scores, shape (S, T).
        permutations: Sign vectors to draw.
        seed: Seed of the draw.

    Raises:
        UsageError: One system, fewer than two topics, NaN, or a wrong number of draws.
    """
    scores = checked_values(values)
    systems, topics = scores.shape
    i, j = np.triu_indices(systems, 1)
    results = pairwise(scores, i.tolist(), j.tolist(), permutations, seed)
    statistics = np.array([result.statistic for result in results])
    return _matrices(systems, topics, statistics, np.array([result.p for result in results]))


def _matrices(systems: int, topics: int, upper: FloatArray, p: FloatArray) -> AllPairs:
    """Square matrices from the upper triangles of statistics and p, row by row."""
    i, j = np.triu_indices(systems, 1)
    statistic, ps = np.zeros((systems, systems)), np.ones((systems, systems))
    statistic[i, j], statistic[j, i] = upper, -upper
    ps[i, j] = ps[j, i] = p
    return AllPairs(statistic, ps, np.isinf(statistic), topics)
