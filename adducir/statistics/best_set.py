"""Which systems may be the best: the model confidence set (Hansen, Lunde and Nason 2011).

Systems are eliminated, the worst first, until the hypothesis that all that are left are equally
good is not rejected. With probability 1 - alpha the set holds every truly best system. The
statistic is their T_R, the largest |t| among all pairs of the set; ``p_best`` is the smallest alpha
at which a system is no longer in it. As ``arch.bootstrap.MCS`` with blocks of one topic, but the
variance of a difference is the bootstrap's own, sum((d - mean)^2) / n^2, p = (c + 1) / (samples +
1), and no p is below 2^(1 - topics), the least of a randomisation test.

The elimination follows from the observed scores alone, so that one pass over the pairs, from the
last two systems left to all of them, gives the largest |t| of every step.
"""

from collections.abc import Iterable

import numpy as np

from adducir.statistics.differences import Floats, tolerance
from adducir.statistics.resampling import (
    CACHED_ROWS,
    block_rows,
    one_thread,
    reached_by_largest,
    sample_counts,
)
from adducir.statistics.settings import SAMPLES, SEED


def confidence_sets(
    values: Floats,
    lower_is_better: Iterable[bool],
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Floats:
    """(M, S) p of the model confidence sets of M measures, which share samples, by (M, S, T)."""
    oriented = zip(values, lower_is_better, strict=True)
    found = [_Elimination(-scores if falls else scores) for scores, falls in oriented]
    topics = values.shape[2]
    with one_thread():
        for counts in sample_counts(seed, samples, topics, min(CACHED_ROWS, block_rows(topics, 1))):
            for one in found:
                one.take(counts)
    return np.stack([one.p(samples) for one in found])


class _Elimination:
    """(S,) systems in order of elimination; (S - 1,) the largest t, and samples that reach it."""

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
        # The pairs of each step are those of the system eliminated there with all that are left.
        step, later = np.triu_indices(systems, 1)
        self._pairs = self.order[step], self.order[later]
        self._scale = np.where(np.isinf(scale), 0.0, scale)[self._pairs]
        self._bounds = self.observed[step] * (1.0 - 1e-12)
        self._last = np.searchsorted(step, np.arange(systems - 1))

    def take(self, counts: Floats) -> None:
        """Count samples in, (N, T) how often each holds each topic."""
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
