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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adducir.statistics.blas import one_thread
from adducir.statistics.choices import DEFAULT_SAMPLES, DEFAULT_SEED
from adducir.statistics.corrections.correction import PairFamily
from adducir.statistics.corrections.max_t import MaxT
from adducir.statistics.differences import FloatArray, scores_array, tolerance
from adducir.statistics.effects import check_share
from adducir.statistics.signs import block_rows, sample_counts
from adducir.statistics.tests.randomisation import check_draws

IntArray = NDArray[np.int64]

_ROWS = 2048
"""Samples at a time: what belongs to one system stays in the processor's nearest cache."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """S systems on one measure.

    Attributes:
        rank: (S,) rank of the mean, 1 the best; equal means share the smallest.
        low: (S,) best end of the bootstrap interval of the rank.
        high: (S,) its worst end.
        surely_low: (S,) best end of the simultaneous interval of the rank.
        surely_high: (S,) its worst end.
        p_best: (S,) p of the model confidence set; 1 for the system that is left last.
        best: (S,) whether the system is in the set: it may be the best.
        alpha: 1 - the level of the set and of the intervals.
        samples: Samples and sign vectors drawn.
        seed: Seed of the draws.
        n: Number of topics.
    """

    rank: IntArray
    low: IntArray
    high: IntArray
    surely_low: IntArray
    surely_high: IntArray
    p_best: FloatArray
    best: NDArray[np.bool_]
    alpha: float
    samples: int
    seed: int
    n: int


def ranking(
    values: ArrayLike,
    *,
    lower_is_better: bool = False,
    alpha: float = 0.05,
    samples: int = DEFAULT_SAMPLES,
    seed: int = DEFAULT_SEED,
) -> Ranking:
    """The set of systems that may be the best, and every system's rank intervals.

    Args:
        values: Scores, shape (S, T).
        lower_is_better: The best has the lowest mean.
        alpha: 1 - the level of the set and of the intervals.
        samples: Samples of topics, and sign vectors, to draw.
        seed: Seed of the draws.

    Raises:
        UsageError: Fewer than two topics, NaN, or an option that makes no sense.
    """
    check_share(alpha, "alpha")
    check_draws(samples, seed, "samples")
    scores = _oriented(values, lower_is_better)
    systems, topics = scores.shape
    found = _Elimination(scores)
    ranks = np.zeros((systems, systems), dtype=np.int64)
    with one_thread():
        for counts in _drawn(seed, samples, topics):
            ranks += _rank_counts(found.take(counts).T, found.equal)
    better, worse = _surely(scores, found.means, alpha, samples, seed)
    means, p_best = found.means, found.p(samples)
    return Ranking(
        rank=1 + (means[None, :] > means[:, None] + found.equal).sum(axis=1),
        low=_quantile(ranks, alpha / 2),
        high=_quantile(ranks, 1 - alpha / 2),
        surely_low=1 + better,
        surely_high=systems - worse,
        p_best=p_best,
        best=p_best > alpha,
        alpha=alpha,
        samples=samples,
        seed=seed,
        n=topics,
    )


def confidence_sets(
    values: ArrayLike,
    lower_is_better: Sequence[bool],
    *,
    samples: int = DEFAULT_SAMPLES,
    seed: int = DEFAULT_SEED,
) -> FloatArray:
    """(M, S) p of the model confidence sets of M measures, as each :func:`ranking` has it.

    Args:
        values: Scores, shape (M, S, T).
        lower_is_better: Of each measure, whether the best has the lowest mean.
        samples: Samples of topics; all measures share them.
        seed: Seed of the draw.

    Raises:
        UsageError: Fewer than two topics, NaN, or an option that makes no sense.
    """
    check_draws(samples, seed, "samples")
    scores = [_oriented(*one) for one in zip(np.asarray(values), lower_is_better, strict=True)]
    found = [_Elimination(one) for one in scores]
    with one_thread():
        for counts in _drawn(seed, samples, scores[0].shape[1]):
            for one in found:
                one.take(counts)
    return np.stack([one.p(samples) for one in found])


def _oriented(values: ArrayLike, lower_is_better: bool) -> FloatArray:
    """(S, T) scores of which more is better."""
    return scores_array(values) * (-1.0 if lower_is_better else 1.0)


def _drawn(seed: int, samples: int, topics: int) -> Iterator[FloatArray]:
    """How often each sample holds each topic, in blocks of bounded memory."""
    return sample_counts(seed, samples, topics, min(_ROWS, block_rows(topics, 1)))


class _Elimination:
    """The order in which systems are eliminated, and what samples say of it.

    Attributes:
        means: (S,).
        equal: By how much means may differ and count as equal.
        order: (S,) systems, the first eliminated first.
        observed: (S - 1,) the largest t among those that are left at each step.
        scale: (S, S) 1 / standard error of the difference of each pair; 0 where a difference does
            not vary.
        reached: (S - 1,) samples whose largest |t| among the systems that are left at a step
            reaches the observed one.
    """

    def __init__(self, scores: FloatArray) -> None:
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
            worst = int(np.argmax(among.max(axis=1)))
            observed.append(among.max())
            order.append(left.pop(worst))
        self.order, self.observed = np.array([*order, *left]), np.array(observed)
        self.scale = np.where(np.isinf(scale), 0.0, scale)
        self.reached = np.zeros(systems - 1)

    def take(self, counts: FloatArray) -> FloatArray:
        """Count samples in, (N, T) how often each holds each topic; (S, N) their means."""
        sampled: FloatArray = (self.scores @ counts.T) / self.scores.shape[1]
        centred = sampled - self.means[:, None]
        limits = self.observed * (1.0 - 1e-12)
        largest, gap = np.zeros(len(counts)), np.empty(len(counts))
        for step in range(len(self.means) - 2, -1, -1):
            one = self.order[step]
            for other in self.order[step + 1 :]:
                np.subtract(centred[one], centred[other], out=gap)
                np.abs(gap, out=gap)
                gap *= self.scale[one, other]
                np.maximum(largest, gap, out=largest)
            self.reached[step] += np.count_nonzero(largest >= limits[step])
        return sampled

    def p(self, samples: int) -> FloatArray:
        """(S,) p of the model confidence set, once so many samples are counted in."""
        systems, topics = self.scores.shape
        p = np.ones(systems)
        shares = np.maximum((self.reached + 1.0) / (samples + 1.0), 2.0 ** (1 - topics))
        p[self.order[:-1]] = np.maximum.accumulate(shares)
        return p


def _rank_counts(means: FloatArray, equal: float) -> IntArray:
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
    scores: FloatArray, means: FloatArray, alpha: float, samples: int, seed: int
) -> tuple[IntArray, IntArray]:
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


def _quantile(ranks: IntArray, share: float) -> IntArray:
    """(S,) the smallest rank that this share of the samples does not exceed."""
    cumulated = np.cumsum(ranks, axis=1) / ranks.sum(axis=1, keepdims=True)
    return np.asarray(1 + (cumulated < share - 1e-12).sum(axis=1), dtype=np.int64)
