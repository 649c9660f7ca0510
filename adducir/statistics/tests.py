"""Paired, two-sided significance tests of systems' scores per topic.

Special cases, the same for every test and never NaN: identical runs have p = 1. If the difference
is the same non-zero number on every topic, its variance is 0 and t infinite; because the limiting p
of 0 would claim more than the topics can show, p is that of the exact randomisation test, 2^(1 -
T).
"""

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from pydantic import Field

from adducir.statistics.differences import (
    Floats,
    Rows,
    block_rows,
    constant_rows,
    every_half,
    one_thread,
    random_bits,
    settled,
    tolerance,
)
from adducir.statistics.settings import PERMUTATIONS, SEED, SignificanceTest

EXACT_WILCOXON = 50
"""Up to this many non-zero differences, Wilcoxon's null distribution is computed exactly."""


class StudentT(SignificanceTest):
    """Student's paired t-test, which assumes normal differences per topic."""

    title: ClassVar = "paired t-test"

    def rows(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        from scipy.special import stdtr

        difference, noise = first - second, tolerance(first, second)
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


class Sign(SignificanceTest):
    """The sign test of wins against losses; ties are dropped."""

    title: ClassVar = "sign test"

    def rows(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        from scipy.special import bdtr

        difference, noise = first - second, tolerance(first, second)[:, None]
        wins, losses = (difference > noise).sum(axis=1), (difference < -noise).sum(axis=1)
        p = 2.0 * bdtr(np.minimum(wins, losses), wins + losses, 0.5)
        return wins.astype(np.float64), np.where(wins == losses, 1.0, np.minimum(p, 1.0))

    def direction(self, difference: Floats, noise: Floats) -> Floats:
        wins, losses = difference > noise[:, None], difference < -noise[:, None]
        return np.asarray(wins.sum(axis=1) - losses.sum(axis=1), dtype=np.float64)


class Wilcoxon(SignificanceTest):
    """Wilcoxon's signed-rank test; zero differences are dropped."""

    # Up to 50 differences p is exact given the ranks, tied ranks included; scipy and R switch to
    # the normal approximation for any ties. Above, it is scipy's.
    title: ClassVar = "Wilcoxon signed-rank test"

    def rows(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        noise = tolerance(first, second)
        results = [_wilcoxon(settled(*row)) for row in zip(first - second, noise, strict=True)]
        statistics, ps = zip(*results, strict=True)
        return np.array(statistics), np.array(ps)

    def direction(self, difference: Floats, noise: Floats) -> Floats:
        from scipy.stats import rankdata

        rows = [settled(*row) for row in zip(difference, noise, strict=True)]
        kept = [row[row != 0] for row in rows]
        return np.array([(np.sign(row) * rankdata(np.abs(row))).sum() for row in kept])


def _wilcoxon(difference: Floats) -> tuple[float, float]:
    from scipy.stats import rankdata, wilcoxon

    kept = difference[difference != 0]
    if kept.size > EXACT_WILCOXON:
        result = wilcoxon(kept, method="asymptotic")
        return float(result.statistic), float(result.pvalue)
    ranks = rankdata(np.abs(kept))
    above = float(ranks[kept > 0].sum())
    smaller = min(above, float(ranks.sum()) - above)
    # How many of the 2^n signs yield each sum of doubled ranks: below 2^50, so exact.
    doubled = np.rint(2.0 * ranks).astype(np.int64)
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] += ways[: ways.size - rank].copy()
    tail = float(ways[: round(2.0 * smaller) + 1].sum())
    return smaller, min(1.0, 2.0 * tail / 2.0**ranks.size)


class Randomisation(SignificanceTest):
    """Fisher's paired randomisation test of the mean difference."""

    # Under the null hypothesis the labels of the two systems can be swapped on any topic: the sign
    # of each difference is arbitrary (Fisher 1935). With at most log2(permutations) non-zero
    # differences all sign vectors are enumerated and p is exact. Otherwise p = (c + 1) / (n + 1),
    # c of the n drawn vectors being at least as extreme as the observed one (Davison and Hinkley
    # 1997, section 4.2.1): never 0, and valid for any n.
    # All pairs share the sign vectors: with scores X (systems x topics), one product X s yields
    # every system's signed sum u, and that of the pair (i, j) is u_i - u_j. Sums within the
    # rounding error of the bound count as extreme, so that ties, common with P@5, count in full,
    # and figures depend neither on threads nor on block size.
    title: ClassVar = "Fisher's paired randomisation test"
    permutations: int = Field(PERMUTATIONS, ge=1)
    """Sign vectors to draw."""
    seed: int = Field(SEED, ge=0)
    """Seed of the draw."""

    def rows(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        values, inverse = np.unique(np.concatenate((first, second)), axis=0, return_inverse=True)
        places = inverse.ravel()
        return self.pairs(values, places[: len(first)], places[len(first) :])

    def pairs(self, values: Floats, first: Rows, second: Rows) -> tuple[Floats, Floats]:
        i, j, topics = first, second, values.shape[1]
        difference, noise = values[i] - values[j], tolerance(values[i], values[j])
        differing = np.abs(difference) > noise[:, None]
        used = differing.sum(axis=1)
        observed = difference.sum(axis=1)
        bounds = extreme_bounds(observed, values, i, j)
        ps = np.ones(i.size)
        exact = used < int(self.permutations).bit_length()  # 2^used <= permutations
        with one_thread():
            for n in np.unique(used[exact & (used > 0)]):
                rows = np.flatnonzero(exact & (used == n))
                kept = difference[rows][differing[rows]].reshape(rows.size, n)
                half, bound = kept.sum(axis=1)[:, None] / 2.0, bounds[rows, None]
                counted = [
                    (np.abs(kept @ bits.T - half) >= bound).sum(axis=1)
                    for bits in every_half(int(n), block_rows(int(n), rows.size))
                ]
                ps[rows] = np.sum(counted, axis=0) / 2.0 ** (n - 1)
            drawn = np.flatnonzero(~exact)
            if drawn.size:
                systems, compact = np.unique(
                    np.concatenate((i[drawn], j[drawn])), return_inverse=True
                )
                size = block_rows(topics, systems.size)
                blocks = random_bits(self.seed, self.permutations, topics, size)
                sides = compact[: drawn.size], compact[drawn.size :]
                counts = _extremes_of_pairs(values[systems], *sides, bounds[drawn], blocks)
                ps[drawn] = (counts + 1.0) / (self.permutations + 1.0)
        return observed / topics, ps


def extreme_bounds(observed: Floats, values: Floats, first: Rows, second: Rows) -> Floats:
    """(K,) half of the observed sums, minus the possible rounding error of a sum of bits."""
    absolute, topics = np.abs(values).sum(axis=1), values.shape[1]
    slack = (topics + 8) * np.finfo(np.float64).eps * (absolute[first] + absolute[second])
    return np.asarray((np.abs(observed) - slack) / 2.0)


def _extremes_of_pairs(
    values: Floats, first: Rows, second: Rows, bounds: Floats, blocks: Iterable[Floats]
) -> Floats:
    """(K,) for how many bit vectors b a pair's |d . b - sum(d)/2| reaches its bound."""
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
            counts[pairs] += [np.count_nonzero(row) for row in gap >= bounds[pairs, None]]
    return counts
