"""Westfall and Young's step-down max-T correction (1993, algorithm 2.8; Ge, Dudoit and Speed 2003).

Under the null hypothesis the sign of all differences of a topic is arbitrary; one vector of signs
flips every pair's differences together, and so keeps how the tests depend on each other. A pair's
adjusted p is the share of sign vectors for which the largest |t| among it and all pairs of smaller
|t| reaches its own, made monotone. It keeps the chance of any false claim in the family at alpha,
and gains on Holm's the more, the more alike the systems are.

With n topics, |t| grows with r = |sum(d)| / sqrt(n sum(d^2)), and sum(d^2) does not change with the
signs: the largest r among pairs belongs to the largest |t|, and no variance is computed. All sign
vectors are enumerated where there are no more than are asked for; else p = (c + 1) / (n + 1), as in
:mod:`adducir.statistics.tests.randomisation`. For a single pair p is that test's.

Systems of several runs have no such sign vectors: two to five runs have next to none.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.statistics.blas import one_thread
from adducir.statistics.corrections.correction import Correction, PairFamily
from adducir.statistics.differences import tolerance
from adducir.statistics.signs import block_rows, every_half, random_bits
from adducir.statistics.tests.base import DEFAULT_PERMUTATIONS, DEFAULT_SEED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from adducir.statistics.corrections.correction import FloatArray

_ROWS = 2048
"""Sign vectors at a time: a row of sums stays in the processor's nearest cache."""
_CELLS = 1 << 18
"""Differences of pairs at a time: 2 MB."""


class MaxT(Correction):
    """Westfall and Young's step-down max-T over the tests' t statistics."""

    title: ClassVar = "Westfall-Young max-T"
    draws: ClassVar = "permutations"
    tests: ClassVar = ("t", "randomisation")
    permutations: int = Field(DEFAULT_PERMUTATIONS, ge=1, description="Sign vectors to draw.")
    seed: int = Field(DEFAULT_SEED, ge=0, description="Seed of the draw.")

    def adjusted(self, p: "FloatArray") -> "FloatArray":
        """Always refused.

        Raises:
            UsageError: p-values alone do not say how the tests depend on each other.
        """
        raise UsageError("the correction maxt needs the scores behind the p-values.")

    def of_pairs(self, family: PairFamily) -> "FloatArray":
        values, first, second = family.values, family.first, family.second
        topics = values.shape[1]
        summed, squares = _summed(values, first, second)
        scale = 2.0 / np.sqrt(topics * np.where(squares > 0, squares, np.inf))
        absolute = np.abs(values).sum(axis=1)
        slack = (topics + 8) * np.finfo(np.float64).eps * (absolute[first] + absolute[second])
        bounds = (np.abs(summed) - slack) / 2.0 * scale
        order = np.argsort(-bounds, kind="stable")
        exact = topics < int(self.permutations).bit_length()  # 2^topics <= permutations
        rows = min(_ROWS, block_rows(topics, 1))
        blocks = (
            every_half(topics, rows)
            if exact
            else random_bits(self.seed, self.permutations, topics, rows)
        )
        pairs = first[order], second[order]
        with one_thread():
            counts = _extremes(values, *pairs, scale[order], bounds[order], blocks)
        shares = counts / 2.0 ** (topics - 1) if exact else (counts + 1) / (self.permutations + 1.0)
        shares[squares[order] == 0.0] = 1.0
        adjusted = np.empty_like(shares)
        adjusted[order] = np.maximum.accumulate(shares)
        return adjusted


def _summed(
    values: "FloatArray", first: "NDArray[np.intp]", second: "NDArray[np.intp]"
) -> tuple["FloatArray", "FloatArray"]:
    """Of each pair the sum of its differences and that of their squares, noise counted as 0."""
    summed, squares = np.empty((2, first.size))
    step = max(1, _CELLS // values.shape[1])
    for start in range(0, first.size, step):
        part = slice(start, start + step)
        a, b = values[first[part]], values[second[part]]
        difference = a - b
        difference[np.abs(difference) <= tolerance(a, b)[:, None]] = 0.0
        summed[part] = difference.sum(axis=1)
        squares[part] = np.square(difference).sum(axis=1)
    return summed, squares


def _extremes(
    values: "FloatArray",
    first: "NDArray[np.intp]",
    second: "NDArray[np.intp]",
    scale: "FloatArray",
    bounds: "FloatArray",
    blocks: Iterable["FloatArray"],
) -> "FloatArray":
    """How many bit vectors let some pair from k on reach the bound of pair k: (K,).

    Pairs come with the largest |t| first.
    """
    counts = np.zeros(first.size)
    half = values.sum(axis=1)[:, None] / 2.0
    for bits in blocks:
        sums = values @ bits.T
        sums -= half
        largest, gap = np.zeros(len(bits)), np.empty(len(bits))
        for k in range(first.size - 1, -1, -1):
            np.subtract(sums[first[k]], sums[second[k]], out=gap)
            np.abs(gap, out=gap)
            gap *= scale[k]
            np.maximum(largest, gap, out=largest)
            counts[k] += np.count_nonzero(largest >= bounds[k])
    return counts
