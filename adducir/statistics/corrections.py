"""Corrections of p-values for multiple tests, and the systems that may be best.

The **model confidence set** (Hansen, Lunde and Nason 2011): systems are eliminated, worst first,
until the hypothesis that the remaining ones are equally good is not rejected. With probability 1 -
alpha the set contains every truly best system. The statistic is their T_R, the largest
|t| among all pairs of the set; ``p_best`` is the smallest alpha at which a system is no longer in
it. Like ``arch.bootstrap.MCS`` with blocks of one topic, except that the variance of a difference
is the bootstrap's, sum((d - mean)^2) / n^2, p = (c + 1) / (samples + 1), and p is at least 2^(1 -
topics), the minimum of a randomisation test. The elimination order depends only on the observed
scores, so one pass over the pairs, from the last two systems to all of them, yields the largest |t|
of every step.
"""

from collections.abc import Callable, Iterable
from typing import ClassVar

import numpy as np
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.statistics.differences import (
    CACHED_ROWS,
    Floats,
    block_rows,
    constant_rows,
    every_half,
    one_thread,
    random_bits,
    reached_by_largest,
    sample_counts,
    tolerance,
)
from adducir.statistics.settings import PERMUTATIONS, SAMPLES, SEED, Correction, PairFamily
from adducir.statistics.tests import extreme_bounds

_CELLS = 1 << 18
"""Pairs' differences per block: 2 MB."""


def _stepwise(p: Floats, adjust: Callable[[Floats], Floats]) -> Floats:
    """p-values that ``adjust`` makes of the ascending ones, in their own order, 1 at most."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = adjust(p[order])
    return adjusted.clip(max=1.0)


def _least_from(values: Floats) -> Floats:
    """(n,) the least of each value and those after it."""
    return np.minimum.accumulate(values[::-1])[::-1]


class Holm(Correction):
    """Holm's step-down correction."""

    # Holm 1979: keeps the probability of any false claim at alpha under any dependence, and is
    # never weaker than Bonferroni's. Our own, like BH's: statsmodels takes 0.2 s to import and 0.1
    # s per family.
    title: ClassVar = "Holm"

    def adjusted(self, p: Floats) -> Floats:
        return _stepwise(p, lambda p: np.maximum.accumulate(p * np.arange(p.size, 0, -1)))


class Bonferroni(Correction):
    """Bonferroni's correction: p times the number of tests."""

    title: ClassVar = "Bonferroni"

    def adjusted(self, p: Floats) -> Floats:
        return np.minimum(p * p.size, 1.0)


class BenjaminiHochberg(Correction):
    """Benjamini and Hochberg's correction of the false discovery rate."""

    # 1995: keeps the expected share of false claims among the claims at alpha, for independent or
    # positively dependent tests: a weaker promise than Holm's.
    title: ClassVar = "Benjamini-Hochberg"

    def adjusted(self, p: Floats) -> Floats:
        return _stepwise(p, lambda p: _least_from(p * p.size / np.arange(1, p.size + 1)))


class Hochberg(Correction):
    """Hochberg's step-up correction: for independent or positively dependent tests."""

    # Biometrika 75, 1988: at least as strong as Holm's.
    title: ClassVar = "Hochberg"

    def adjusted(self, p: Floats) -> Floats:
        return _stepwise(p, lambda p: _least_from(p * np.arange(p.size, 0, -1)))


class Hommel(Correction):
    """Hommel's correction: for independent or positively dependent tests."""

    # Biometrika 75, 1988, by Wright's (1992) algorithm; at least as strong as Hochberg's.
    title: ClassVar = "Hommel"

    def adjusted(self, p: Floats) -> Floats:
        return _stepwise(p, self._steps)

    def _steps(self, ascending: Floats) -> Floats:
        size, values = ascending.size, ascending.copy()
        for m in range(size, 1, -1):
            upper, lower = np.arange(size - m + 1, size), slice(0, size - m + 1)
            least = float((m * ascending[upper] / np.arange(2, m + 1)).min())
            values[upper] = np.maximum(values[upper], least)
            values[lower] = np.maximum(values[lower], np.minimum(least, m * ascending[lower]))
        return values


class Sidak(Correction):
    """Šidák's correction, 1 - (1 - p)^m: for independent tests."""

    title: ClassVar = "Šidák"

    def adjusted(self, p: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # p = 1
            return np.asarray(-np.expm1(p.size * np.log1p(-p)))


class BenjaminiYekutieli(BenjaminiHochberg):
    """Benjamini and Yekutieli's correction of the false discovery rate, under any dependence."""

    # Annals of Statistics 29, 2001: Benjamini and Hochberg's, times 1 + 1/2 + ... + 1/m.
    title: ClassVar = "Benjamini-Yekutieli"

    def adjusted(self, p: Floats) -> Floats:
        harmonic = (1 / np.arange(1, p.size + 1)).sum()
        return np.minimum(super().adjusted(p) * harmonic, 1.0)


class NoCorrection(Correction):
    """No correction."""

    title: ClassVar = ""

    def adjusted(self, p: Floats) -> Floats:
        return p.copy()


class _OfScores(Correction):
    def adjusted(self, p: Floats) -> Floats:
        raise UsageError(f"the correction {self.title} needs scores, not just p-values.")


class MaxT(_OfScores):
    """Westfall and Young's step-down max-T over the tests' t statistics."""

    # 1993, algorithm 2.8; Ge, Dudoit and Speed 2003. Under the null hypothesis, the sign of a
    # topic's differences is arbitrary; one sign vector flips every pair's differences together,
    # which preserves the dependence between tests. A pair's adjusted p is the share of sign vectors
    # for which the largest |t| among it and all pairs with smaller |t| reaches its own, made
    # monotone. Its gain over Holm grows with the similarity of systems.
    #
    # |t| grows with r = |sum(d)| / sqrt(n sum(d^2)), and sum(d^2) does not change with the signs:
    # the largest r belongs to the largest |t|, without computing variances. All sign vectors are
    # enumerated if there are at most ``permutations``; otherwise p = (c + 1) / (n + 1).
    title: ClassVar = "Westfall-Young max-T"
    tests: ClassVar = ("t", "randomisation")
    permutations: int = Field(PERMUTATIONS, ge=1)
    """Sign vectors to draw."""
    seed: int = Field(SEED, ge=0)
    """Seed of the draw."""

    def of_pairs(self, family: PairFamily) -> Floats:
        _, values, first, second = family
        topics = values.shape[1]
        # Each pair's sum of differences and of their squares, with noise set to 0.
        summed, squares = np.empty((2, first.size))
        step = max(1, _CELLS // topics)
        for start in range(0, first.size, step):
            part = slice(start, start + step)
            a, b = values[first[part]], values[second[part]]
            difference = a - b
            difference[np.abs(difference) <= tolerance(a, b)[:, None]] = 0.0
            summed[part] = difference.sum(axis=1)
            squares[part] = np.square(difference).sum(axis=1)
        scale = 2.0 / np.sqrt(topics * np.where(squares > 0, squares, np.inf))
        bounds = extreme_bounds(summed, values, first, second) * scale
        order = np.argsort(-bounds, kind="stable")
        exact = topics < int(self.permutations).bit_length()  # 2^topics <= permutations
        rows = min(CACHED_ROWS, block_rows(topics, 1))
        blocks = (
            every_half(topics, rows)
            if exact
            else random_bits(self.seed, self.permutations, topics, rows)
        )
        pairs = first[order], second[order], scale[order], bounds[order]
        counts, half = np.zeros(order.size), values.sum(axis=1)[:, None] / 2.0
        with one_thread():
            for bits in blocks:
                counts += reached_by_largest(values @ bits.T - half, *pairs)
        shares = counts / 2.0 ** (topics - 1) if exact else (counts + 1) / (self.permutations + 1.0)
        shares[squares[order] == 0.0] = 1.0
        adjusted = np.empty_like(shares)
        adjusted[order] = np.maximum.accumulate(shares)
        return adjusted


class Tukey(_OfScores):
    """Tukey's HSD with the error of the two-way analysis of variance."""

    # Compares with the distribution of the largest difference between any two means (Tukey 1953;
    # Carterette 2012). Topic difficulty is removed, unlike in the unpaired test of
    # scipy.stats.tukey_hsd and ranx. If differences do not vary over topics, the error is 0; p is
    # then the exact randomisation test's, 2^(1 - topics), or 1 for equal scores.
    title: ClassVar = "Tukey HSD (two-way ANOVA)"
    tests: ClassVar[tuple[str, ...]] = ("t",)
    scopes: ClassVar = ("measure",)
    of_all_pairs: ClassVar = True

    def of_pairs(self, family: PairFamily) -> Floats:
        from scipy.stats import studentized_range

        rows, means = np.union1d(family.first, family.second), family.values.mean(axis=1)
        values, gaps = family.values[rows], np.abs(means[family.first] - means[family.second])
        systems, topics = values.shape
        variance = error_variance(values)
        if not variance:
            return np.where(gaps > tolerance(values, values).max(), 2.0 ** (1 - topics), 1.0)
        reached = gaps / np.sqrt(variance / topics)
        df = (systems - 1) * (topics - 1)
        return np.asarray(studentized_range.sf(reached, systems, df), dtype=np.float64)


def error_variance(values: Floats) -> float:
    """The mean squared error of the two-way analysis of variance (Sakai 2018, chapter 3).

    0 if the systems' differences vary over topics only by rounding.
    """
    systems, topics = values.shape
    if constant_rows(values - values[:1], tolerance(values, values).max()).all():
        return 0.0
    residuals = values - values.mean(axis=1, keepdims=True)
    residuals -= residuals.mean(axis=0)
    return float(np.square(residuals).sum() / ((systems - 1) * (topics - 1)))


def confidence_sets(
    values: Floats, lower_is_better: Iterable[bool], *, samples: int = SAMPLES, seed: int = SEED
) -> Floats:
    """(M, S) p of the model confidence sets of M measures with shared samples, from (M, S, T)."""
    oriented = zip(values, lower_is_better, strict=True)
    eliminations = [_Elimination(-scores if falls else scores) for scores, falls in oriented]
    topics = values.shape[2]
    with one_thread():
        for counts in sample_counts(seed, samples, topics, min(CACHED_ROWS, block_rows(topics, 1))):
            for elimination in eliminations:
                elimination.take(counts)
    return np.stack([elimination.p(samples) for elimination in eliminations])


class _Elimination:
    def __init__(self, scores: Floats) -> None:
        systems, topics = scores.shape
        self.scores, self.means = scores, scores.mean(axis=1)
        self.equal = float(tolerance(scores, scores).max())
        centred = scores - self.means[:, None]
        gap = self.means[None, :] - self.means[:, None]  # [i, j] > 0: i is worse
        squares = np.array([np.square(centred - row).sum(axis=1) for row in centred])
        squares[squares <= topics * self.equal**2] = 0.0
        with np.errstate(divide="ignore"):
            scale = topics / np.sqrt(squares)
        same = np.abs(gap) <= self.equal
        scale[same] = np.where(squares > 0, scale, 0.0)[same]
        with np.errstate(invalid="ignore"):
            t = np.where(gap == 0.0, 0.0, gap * scale)
        left, order, observed = list(range(systems)), [], []
        while len(left) > 1:
            among = t[np.ix_(left, left)]
            observed.append(among.max())
            order.append(left.pop(int(np.argmax(among.max(axis=1)))))
        self.order, self.observed = np.array([*order, *left]), np.array(observed)
        self.reached = np.zeros(systems - 1)
        # Each step's pairs are those of the system eliminated there with all remaining ones.
        step, later = np.triu_indices(systems, 1)
        self._pairs = self.order[step], self.order[later]
        self._scale = np.where(np.isinf(scale), 0.0, scale)[self._pairs]
        self._bounds = self.observed[step] * (1.0 - 1e-12)
        self._last = np.searchsorted(step, np.arange(systems - 1))

    def take(self, counts: Floats) -> None:
        """Add samples: (N, T) how often each contains each topic."""
        sampled = (self.scores @ counts.T) / self.scores.shape[1]
        centred = sampled - self.means[:, None]
        reached = reached_by_largest(centred, *self._pairs, self._scale, self._bounds)
        self.reached += reached[self._last]

    def p(self, samples: int) -> Floats:
        systems, topics = self.scores.shape
        p = np.ones(systems)
        shares = np.maximum((self.reached + 1.0) / (samples + 1.0), 2.0 ** (1 - topics))
        p[self.order[:-1]] = np.maximum.accumulate(shares)
        return p
