"""Which systems may be the best, and which rank each may have.

* **The model confidence set** (Hansen, Lunde and Nason 2011): systems are eliminated, the worst
  first, until the hypothesis that all that are left are equally good is not rejected. With
  probability 1 - alpha the set holds every truly best system. The statistic is their T_R, the
  largest |t| among all pairs of the set; topics are drawn with replacement. A system's ``p_best``
  is the smallest alpha at which it is no longer in the set. As in ``arch.bootstrap.MCS`` with
  blocks of one topic, except that the variance of a difference is the bootstrap's own, sum((d -
  mean)^2) / n^2, and not estimated from the samples, that p = (c + 1) / (samples + 1), and that
  no p is below 2^(1 - topics), the least that a randomisation test can give: samples of few topics
  vary too little.
* **Bootstrap ranks**: the percentile interval of each system's rank among all over the same
  samples. It holds for one system at a time, and is too narrow where systems are tied.
* **Simultaneous ranks** (Mogstad, Romano, Shaikh and Wilhelm 2024): of S systems, one that b are
  significantly better than and w significantly worse has a rank from 1 + b to S - w. All pairs are
  tested by step-down max-T, so that all intervals hold at once with probability 1 - alpha.

No rejection of the set depends on the order in which pairs are looked at: the elimination follows
from the observed scores alone, so that one pass over the pairs, from the last two systems left to
all of them, gives the largest |t| of every step.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from adducir.statistics.corrections import MaxT
from adducir.statistics.differences import Flags, Floats, Integers, tolerance
from adducir.statistics.resampling import (
    CACHED_ROWS,
    block_rows,
    one_thread,
    reached_by_largest,
    sample_counts,
)
from adducir.statistics.settings import SAMPLES, SEED, PairFamily


@dataclass(frozen=True, slots=True)
class Ranking:
    """S systems on one measure.

    Attributes:
        rank: (S,) rank of the mean, 1 the best; equal means share the smallest.
        low: (S,) best end of the bootstrap interval of the rank.
        high: (S,) its worst end.
        simultaneous_low: (S,) best end of the simultaneous interval of the rank.
        simultaneous_high: (S,) its worst end.
        p_best: (S,) p of the model confidence set; 1 for the system that is left last.
        best: (S,) whether the system is in the set: it may be the best.
    """

    rank: Integers
    low: Integers
    high: Integers
    simultaneous_low: Integers
    simultaneous_high: Integers
    p_best: Floats
    best: Flags


def ranking(
    values: Floats,
    *,
    lower_is_better: bool = False,
    alpha: float = 0.05,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Ranking:
    """The set of systems that may be the best, and every system's rank intervals.

    Args:
        values: (S, T) scores.
        lower_is_better: Whether the best has the lowest mean.
        alpha: 1 - the level of the set and of the intervals.
        samples: Samples of topics, and sign vectors, to draw.
        seed: Seed of the draws.
    """
    scores = -values if lower_is_better else values
    systems, topics = scores.shape
    found = _Elimination(scores)
    ranks = np.zeros((systems, systems), dtype=np.int64)
    with one_thread():
        for counts in _drawn(seed, samples, topics):
            ranks += _rank_counts(found.take(counts).T, found.equal)
    means, p_best = found.means, found.p(samples)
    better, worse = _surely(scores, means, alpha, samples, seed)
    return Ranking(
        rank=1 + (means[None, :] > means[:, None] + found.equal).sum(axis=1),
        low=_quantile(ranks, alpha / 2),
        high=_quantile(ranks, 1 - alpha / 2),
        simultaneous_low=1 + better,
        simultaneous_high=systems - worse,
        p_best=p_best,
        best=p_best > alpha,
    )


def confidence_sets(
    values: Floats,
    lower_is_better: list[bool],
    *,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> Floats:
    """(M, S) p of the model confidence sets of M measures, which share samples, by (M, S, T)."""
    oriented = zip(values, lower_is_better, strict=True)
    found = [_Elimination(-scores if falls else scores) for scores, falls in oriented]
    with one_thread():
        for counts in _drawn(seed, samples, values.shape[2]):
            for one in found:
                one.take(counts)
    return np.stack([one.p(samples) for one in found])


def _drawn(seed: int, samples: int, topics: int) -> Iterator[Floats]:
    return sample_counts(seed, samples, topics, min(CACHED_ROWS, block_rows(topics, 1)))


class _Elimination:
    """The order in which systems are eliminated, and what samples say of it.

    Attributes:
        means: (S,).
        equal: By how much means may differ and count as equal.
        order: (S,) systems, the first eliminated first.
        observed: (S - 1,) the largest t among those that are left at each step.
        reached: (S - 1,) samples whose largest |t| among the systems that are left at a step
            reaches the observed one.
    """

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

    def take(self, counts: Floats) -> Floats:
        """Count samples in, (N, T) how often each holds each topic; (S, N) their means."""
        sampled: Floats = (self.scores @ counts.T) / self.scores.shape[1]
        centred = sampled - self.means[:, None]
        reached = reached_by_largest(centred, *self._pairs, self._scale, self._bounds)
        self.reached += reached[self._last]
        return sampled

    def p(self, samples: int) -> Floats:
        """(S,) p of the model confidence set, once so many samples are counted in."""
        systems, topics = self.scores.shape
        p = np.ones(systems)
        shares = np.maximum((self.reached + 1.0) / (samples + 1.0), 2.0 ** (1 - topics))
        p[self.order[:-1]] = np.maximum.accumulate(shares)
        return p


def _rank_counts(means: Floats, equal: float) -> Integers:
    """(S, S) how often each system has each rank in rows (N, S) of means."""
    systems = means.shape[1]
    order = np.argsort(-means, axis=1)
    falls = np.diff(np.take_along_axis(means, order, axis=1), axis=1) < -equal
    places = np.zeros_like(order)
    places[:, 1:] = np.where(falls, np.arange(1, systems), 0)
    np.maximum.accumulate(places, axis=1, out=places)
    counts = np.bincount((order * systems + places).ravel(), minlength=systems**2)
    return counts.reshape(systems, systems)


def _surely(
    scores: Floats, means: Floats, alpha: float, samples: int, seed: int
) -> tuple[Integers, Integers]:
    """How many systems are significantly better, and worse, than each: two (S,) counts."""
    first, second = np.triu_indices(len(means), 1)
    family = PairFamily(np.ones(first.size), scores, first, second)
    p = MaxT(permutations=samples, seed=seed).of_pairs(family) if first.size else np.ones(0)
    better, worse = np.zeros((2, len(means)), dtype=np.int64)
    for i, j in zip(first[p <= alpha], second[p <= alpha], strict=True):
        winner, loser = (i, j) if means[i] > means[j] else (j, i)
        better[loser] += 1
        worse[winner] += 1
    return better, worse


def _quantile(ranks: Integers, share: float) -> Integers:
    """(S,) the smallest rank that this share of the samples does not exceed."""
    cumulated = np.cumsum(ranks, axis=1) / ranks.sum(axis=1, keepdims=True)
    return np.asarray(1 + (cumulated < share - 1e-12).sum(axis=1), dtype=np.int64)
