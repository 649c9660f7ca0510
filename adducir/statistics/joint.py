"""Several systems of several runs at once: how their differences depend on each other.

The means of S systems over topics and runs vary together because they share topics. Their estimated
covariance is that of the systems' means over runs, over topics, by T, plus what each system's own
runs add (:mod:`adducir.statistics.two_level`), which is no other's: runs of different systems are
drawn by themselves. The variance of each difference is then that of its two-level test.

The largest |t| among pairs has, where no pair differs, the distribution of the largest component of
a multivariate t with the correlations of these differences. Degrees of freedom are each pair's own,
as Hasler and Hothorn (Int. J. Biostat. 4, 2008, section 2.3) have it for unequal variances:

    p_k = P(max |Z| >= |t_k| sqrt(U_k)),  Z normal with these correlations, df_k U_k chi-square,

an approximation, as Satterthwaite's degrees of freedom are. Z is drawn; given max |Z| the
probability is computed, and p is never below that of the pair by itself. (Sign vectors, as
:mod:`~adducir.statistics.corrections.max_t` has them for topics, cannot stand for a few runs: two
to five runs have next to no sign vectors.)
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from adducir.statistics.blas import one_thread
from adducir.statistics.differences import FloatArray
from adducir.statistics.two_level import TwoLevel, run_variance, two_level

Places = NDArray[np.intp]

_ROWS = 2048
"""Draws at a time."""
_FINE = 256
"""Bins of a unit of |Z|."""
_BINS = 12 * _FINE


class Joint:
    """S systems, or systems on measures, over the same topics.

    Args:
        runs: Scores of each, (R, T) of R runs on T topics.
        draws: How often the means are drawn.
        seed: Of these draws.
    """

    def __init__(self, runs: Sequence[FloatArray], *, draws: int, seed: int) -> None:
        self.runs = [np.atleast_2d(one) for one in runs]
        self.draws, self.seed = draws, seed
        each = np.stack([one.mean(axis=0) for one in self.runs])
        self.means: FloatArray = each.mean(axis=1)
        self.topics = each.shape[1]
        own = np.diag([run_variance(one) for one in self.runs])
        self.covariance: FloatArray = np.atleast_2d(np.cov(each)) / self.topics + own

    def pair(self, first: int, second: int) -> TwoLevel:
        """The two-level test of two of them."""
        return two_level(self.runs[first], self.runs[second])

    @cached_property
    def drawn(self) -> FloatArray:
        """(S, N) deviations of the means, as chance makes them."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(values.clip(min=0.0))
        generator = np.random.Generator(np.random.PCG64(self.seed))
        with one_thread():
            return np.asarray(root @ generator.standard_normal((len(self.means), self.draws)))

    def step_down(
        self, first: Sequence[int] | Places, second: Sequence[int] | Places
    ) -> FloatArray:
        """(K,) adjusted two-sided p of K pairs, step-down from the smallest p.

        A pair's p is against the largest |t| of itself and all pairs of a larger p, made monotone:
        the first true hypothesis that is rejected is so among all true ones at least.
        """
        pairs = [self.pair(int(i), int(j)) for i, j in zip(first, second, strict=True)]
        own = np.array([one.p for one in pairs])
        order = np.argsort(own, kind="stable")
        chosen = [(int(first[k]), int(second[k])) for k in order]
        counts = self.largest([pairs[k] for k in order], chosen, range(len(order)))
        adjusted = np.empty(len(pairs))
        found = [
            max(self.tail(one, pairs[k]), pairs[k].p)
            if np.isfinite(pairs[k].t)
            # Without variance p is the exact one of the topics: Bonferroni's for these.
            else min(1.0, pairs[k].p * len(pairs))
            for one, k in zip(counts, order, strict=True)
        ]
        adjusted[order] = np.maximum.accumulate(found)
        return adjusted

    def largest(
        self, pairs: Sequence[TwoLevel], places: Sequence[tuple[int, int]], at: Sequence[int]
    ) -> NDArray[np.int64]:
        """(len(at), bins) how large the largest |Z| from each of these pairs on is, by draws."""
        counts = np.zeros((len(at), _BINS), dtype=np.int64)
        rows = {k: row for row, k in enumerate(at)}
        for start in range(0, self.draws, _ROWS):
            drawn = self.drawn[:, start : start + _ROWS]
            largest = np.zeros(drawn.shape[1])
            for k in range(len(pairs) - 1, -1, -1):
                if pairs[k].error > 0:
                    first, second = places[k]
                    gap = np.abs(drawn[first] - drawn[second])
                    np.maximum(largest, gap / pairs[k].error, out=largest)
                if k in rows:
                    bins = np.minimum((largest * _FINE).astype(np.int64), _BINS - 1)
                    counts[rows[k]] += np.bincount(bins, minlength=_BINS)
        return counts

    def tail(self, counts: NDArray[np.int64], pair: TwoLevel) -> float:
        """P that the largest |t| reaches a pair's, with its degrees of freedom."""
        from scipy.special import gammainc

        if pair.t == 0.0:
            return 1.0
        there = np.flatnonzero(counts)
        ratio = ((there + 0.5) / _FINE / abs(pair.t)) ** 2
        reached = gammainc(pair.df / 2, pair.df / 2 * ratio)
        return float(counts[there] @ reached / counts.sum())
