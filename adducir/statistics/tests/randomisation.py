"""Fisher's paired randomisation test, for one pair of systems or many at once.

Under the null hypothesis the labels of the two systems can be swapped on any topic:
the sign of each difference is arbitrary (Fisher 1935; Smucker et al., CIKM 2007). The
statistic is the mean difference, two-sided.

* With at most log2(permutations) non-zero differences all sign vectors are enumerated
  and p is exact; the sign of a zero difference changes nothing.
* Otherwise p = (c + 1) / (n + 1), c of the n drawn vectors being at least as extreme as
  the observed one (Davison and Hinkley 1997, section 4.2.1): never 0, and valid for any n.

All pairs share the same sign vectors: with scores X (systems x topics) one product X s
gives every system's signed sum u, and the signed sum of the pair (i, j) is u_i - u_j.
A sum counts as at least as extreme within the bound on rounding error, so that ties,
which measures such as P@5 have in plenty, count in full, and the figures do not depend
on the number of threads or the size of the blocks.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.statistics.blas import one_thread
from adducir.statistics.differences import FloatArray, paired_rows, scores_array, tolerance
from adducir.statistics.outcome import TestResult
from adducir.statistics.signs import block_rows, every_half, random_bits
from adducir.statistics.tests.base import DEFAULT_PERMUTATIONS, DEFAULT_SEED, SignificanceTest

IndexArray = NDArray[np.intp]


class Randomisation(SignificanceTest):
    """Fisher's paired randomisation test of the mean difference."""

    title: ClassVar = "Fisher's paired randomisation test"
    draws: ClassVar = "permutations"
    permutations: int = Field(DEFAULT_PERMUTATIONS, ge=1, description="Sign vectors to draw.")
    seed: int = Field(DEFAULT_SEED, ge=0, description="Seed of the draw.")

    def rows(self, first: FloatArray, second: FloatArray) -> list[TestResult]:
        return randomisation_rows(first, second, permutations=self.permutations, seed=self.seed)

    def pairs(
        self, values: FloatArray, first: Sequence[int], second: Sequence[int]
    ) -> list[TestResult]:
        return pairwise(values, first, second, self.permutations, self.seed)


def check_draws(count: int, seed: int, what: str) -> None:
    """Refuse a number of draws below 1 or a negative seed with UsageError."""
    if count < 1:
        raise UsageError(f"{what} must be at least 1, not {count}.")
    if seed < 0:
        raise UsageError(f"the seed must not be negative, but is {seed}.")


def pairwise(
    values: FloatArray, first: Sequence[int], second: Sequence[int], permutations: int, seed: int
) -> list[TestResult]:
    """Randomisation tests of given pairs of systems, by shared sign vectors.

    Args:
        values: Scores, shape (S, T).
        first: Row of the first system of each of K pairs.
        second: Row of the second.
        permutations: Sign vectors to draw.
        seed: Seed of the draw.

    Returns:
        K results in the order of the pairs.

    Raises:
        UsageError: ``permutations`` < 1 or ``seed`` < 0.
    """
    check_draws(permutations, seed, "permutations")
    i, j = np.asarray(first, dtype=np.intp), np.asarray(second, dtype=np.intp)
    topics = values.shape[1]
    difference = values[i] - values[j]
    noise = tolerance(values[i], values[j])
    differing = np.abs(difference) > noise[:, None]
    used = differing.sum(axis=1)
    observed = difference.sum(axis=1)
    absolute = np.abs(values).sum(axis=1)
    slack = (topics + 8) * np.finfo(np.float64).eps * (absolute[i] + absolute[j])
    bounds = (np.abs(observed) - slack) / 2.0
    ps = np.ones(i.size)
    exact = used < int(permutations).bit_length()  # 2^used <= permutations
    for n in np.unique(used[exact & (used > 0)]):
        rows = np.flatnonzero(exact & (used == n))
        kept = difference[rows][differing[rows]].reshape(rows.size, n)
        blocks = every_half(int(n), block_rows(int(n), rows.size))
        with one_thread():
            ps[rows] = _extremes_of_rows(kept, bounds[rows], blocks) / 2.0 ** (n - 1)
    drawn = np.flatnonzero(~exact)
    if drawn.size:
        systems, compact = np.unique(np.concatenate((i[drawn], j[drawn])), return_inverse=True)
        blocks = random_bits(seed, permutations, topics, block_rows(topics, systems.size))
        halves = compact[: drawn.size], compact[drawn.size :]
        with one_thread():
            counts = _extremes_of_pairs(values[systems], *halves, bounds[drawn], blocks)
        ps[drawn] = (counts + 1.0) / (permutations + 1.0)
    return [
        TestResult(
            "randomisation",
            float(observed[k]) / topics,
            float(ps[k]),
            topics,
            int(used[k]),
            "exact" if exact[k] else "Monte Carlo",
            None if exact[k] else permutations,
            None if exact[k] else seed,
        )
        for k in range(i.size)
    ]


def _extremes_of_rows(
    rows: FloatArray, bounds: FloatArray, blocks: Iterable[FloatArray]
) -> FloatArray:
    """How many bit vectors make |row . b - sum(row)/2| at least its bound: (K,)."""
    counts = np.zeros(rows.shape[0])
    half = rows.sum(axis=1)[:, None] / 2.0
    for bits in blocks:
        counts += (np.abs(rows @ bits.T - half) >= bounds[:, None]).sum(axis=1)
    return counts


def _extremes_of_pairs(
    values: FloatArray,
    first: IndexArray,
    second: IndexArray,
    bounds: FloatArray,
    blocks: Iterable[FloatArray],
) -> FloatArray:
    """:func:`_extremes_of_rows` of the differences of pairs of (S, T) ``values``: (K,)."""
    counts = np.zeros(first.size)
    half = values.sum(axis=1)[:, None] / 2.0
    groups = [(system, np.flatnonzero(second == system)) for system in np.unique(second)]
    for bits in blocks:
        sums = values @ bits.T
        sums -= half
        for system, pairs in groups:
            gap = sums[first[pairs]]
            gap -= sums[system]
            np.abs(gap, out=gap)
            extreme = gap >= bounds[pairs, None]
            counts[pairs] += [np.count_nonzero(row) for row in extreme]
    return counts


def randomisation_rows(
    first: ArrayLike,
    second: ArrayLike,
    *,
    permutations: int = DEFAULT_PERMUTATIONS,
    seed: int = DEFAULT_SEED,
) -> list[TestResult]:
    """:func:`randomisation` for each row of two (K, T) arrays, by shared sign vectors.

    Raises:
        UsageError: The scores cannot be paired, or ``permutations`` or ``seed`` is wrong.
    """
    a, b = paired_rows(first, second)
    count = a.shape[0]
    values, inverse = np.unique(np.concatenate((a, b)), axis=0, return_inverse=True)
    rows = inverse.ravel().tolist()
    return pairwise(values, rows[:count], rows[count:], permutations, seed)


def randomisation(
    first: ArrayLike,
    second: ArrayLike,
    *,
    permutations: int = DEFAULT_PERMUTATIONS,
    seed: int = DEFAULT_SEED,
) -> TestResult:
    """Randomisation test of two systems' scores, each of shape (T,).

    Args:
        first: Scores of the first system.
        second: Scores of the second system on the same topics.
        permutations: Sign vectors to draw; all are enumerated where they are no more.
        seed: Seed of the draw.

    Raises:
        UsageError: The scores cannot be paired, or ``permutations`` or ``seed`` is wrong.
    """
    return randomisation_rows(first, second, permutations=permutations, seed=seed)[0]


def checked_values(values: ArrayLike) -> FloatArray:
    """Scores of all systems, shape (S, T), S >= 2.

    Raises:
        UsageError: As for
            :func:`~adducir.statistics.differences.scores_array`; one system.
    """
    array = scores_array(values)
    if array.shape[0] < 2:
        raise UsageError("comparing all pairs needs at least two systems.")
    return array
