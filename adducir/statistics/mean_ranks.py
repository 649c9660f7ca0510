"""Mean ranks of systems over topics, and systems joined in groups."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adducir.statistics.differences import FloatArray, scores_array, tolerance


def mean_ranks(values: ArrayLike, *, lower_is_better: bool = False) -> FloatArray:
    """(S,) mean ranks of systems by scores (S, T), 1 the best; equal scores share a rank.

    Raises:
        UsageError: Fewer than two topics, or NaN.
    """
    from scipy.stats import rankdata

    scores = scores_array(values) * (1.0 if lower_is_better else -1.0)
    order = np.argsort(scores, axis=0)
    steps = np.diff(np.take_along_axis(scores, order, axis=0), axis=0)
    levels = np.zeros(scores.shape, dtype=np.int64)
    levels[1:] = np.cumsum(steps > tolerance(scores, scores).max(), axis=0)  # noise is no order
    placed = np.empty_like(levels)
    np.put_along_axis(placed, order, levels, axis=0)
    return np.asarray(rankdata(placed, axis=0).mean(axis=1), dtype=np.float64)


def groups(joined: NDArray[np.bool_]) -> list[list[int]]:
    """Groups such that two systems share one if, and only if, they are joined.

    The farthest pair that shares no group yet begins one, which takes in whatever is joined with
    all that it holds, the systems in between first.

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
