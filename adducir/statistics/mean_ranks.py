"""Mean ranks over topics: Friedman's test, Nemenyi's critical difference, systems joined in groups.

On each topic the systems are ranked, 1 the best; equal scores share the mean of their ranks.

* **Friedman's test** (1937; with Conover's correction for ties, 1999, section 5.8): are all mean
  ranks equal?
* **Nemenyi's critical difference** (1963; Demšar, JMLR 2006, section 3.2.2): q sqrt(k (k + 1) / 6n)
  for k systems on n topics, q the studentised range of k and infinite degrees of freedom over
  sqrt(2). Two systems differ significantly where their mean ranks differ by at least as much. As
  Demšar has it, no pair is looked at unless Friedman's test rejects.

Whether two systems differ by Nemenyi depends on which other systems are there (Benavoli, Corani and
Mangili, JMLR 2016), and a rank forgets by how much: a paired test of the scores does neither.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adducir.core.errors import UsageError
from adducir.statistics.differences import FloatArray, scores_array, tolerance
from adducir.statistics.effects import check_share


@dataclass(frozen=True, slots=True)
class MeanRanks:
    """Ranks of S systems over T topics.

    Attributes:
        mean: (S,) mean rank, 1 the best.
        statistic: Friedman's chi-square, with S - 1 degrees of freedom.
        p: Of the null hypothesis that all mean ranks are equal.
        difference: Nemenyi's critical difference.
        joined: (S, S) whether two systems do not differ significantly by Nemenyi.
        alpha: Level of both tests.
        n: Number of topics.
    """

    mean: FloatArray
    statistic: float
    p: float
    difference: float
    joined: NDArray[np.bool_]
    alpha: float
    n: int


def mean_ranks(
    values: ArrayLike, *, lower_is_better: bool = False, alpha: float = 0.05
) -> MeanRanks:
    """Rank systems on each topic, and compare their mean ranks by Friedman and Nemenyi.

    Args:
        values: Scores, shape (S, T).
        lower_is_better: The best has the lowest score.
        alpha: Level of both tests.

    Raises:
        UsageError: One system, fewer than two topics, NaN, or an alpha that is no share.
    """
    from scipy.special import chdtrc
    from scipy.stats import studentized_range

    check_share(alpha, "alpha")
    scores = scores_array(values) * (1.0 if lower_is_better else -1.0)
    systems, topics = scores.shape
    if systems < 2:
        raise UsageError("ranks need two systems at least.")
    ranks = _ranks(scores)
    mean = ranks.mean(axis=1)
    spread = float(np.square(ranks - (systems + 1) / 2).sum())
    between = topics**2 * float(np.square(mean - (systems + 1) / 2).sum())
    statistic = (systems - 1) * between / spread if spread > 0 else 0.0
    p = float(chdtrc(systems - 1, statistic))
    quantile = float(studentized_range.ppf(1 - alpha, systems, np.inf)) / np.sqrt(2)
    difference = float(quantile * np.sqrt(systems * (systems + 1) / (6 * topics)))
    gap = np.abs(mean[:, None] - mean[None, :])
    joined = (gap < difference * (1 - 1e-12)) | (p > alpha)
    return MeanRanks(mean, statistic, p, difference, joined, alpha, topics)


def _ranks(scores: FloatArray) -> FloatArray:
    """(S, T) rank of each system on each topic, the lowest score first; noise makes no order."""
    from scipy.stats import rankdata

    order = np.argsort(scores, axis=0)
    steps = np.diff(np.take_along_axis(scores, order, axis=0), axis=0)
    levels = np.zeros(scores.shape, dtype=np.int64)
    levels[1:] = np.cumsum(steps > tolerance(scores, scores).max(), axis=0)
    placed = np.empty_like(levels)
    np.put_along_axis(placed, order, levels, axis=0)
    return np.asarray(rankdata(placed, axis=0), dtype=np.float64)


def groups(joined: NDArray[np.bool_]) -> list[list[int]]:
    """Groups such that two systems share one if, and only if, they are joined.

    The farthest pair that shares no group yet begins one, which takes in whatever is joined with
    all that it holds, the systems in between first. Where a distance alone says who is joined, as
    by Nemenyi, these are all the largest groups that there are.

    Args:
        joined: (S, S), symmetric; systems in the order of their mean ranks.

    Returns:
        Systems in order, for each group: none can be added to it. A system that is joined with no
        other is in none. Those that begin first come first.
    """
    count = len(joined)
    first, second = np.nonzero(np.triu(joined, 1))
    shared = np.zeros_like(joined)
    found = []
    for at in np.argsort(first - second, kind="stable"):
        low, high = int(first[at]), int(second[at])
        if shared[low, high]:
            continue
        inside = range(low + 1, high)
        group, all_of = [low, high], joined[low] & joined[high]
        for one in (*inside, *range(low - 1, -1, -1), *range(high + 1, count)):
            if all_of[one]:
                group.append(one)
                all_of = all_of & joined[one]
        shared[np.ix_(group, group)] = True
        found.append(sorted(group))
    return sorted(found)
