"""Which of several systems of several runs may be the best, and which rank each may have.

As :mod:`adducir.statistics.ranking`, over topics and runs. Nothing is drawn with replacement: two
to five runs are too few for that. In place of samples of topics stand draws of the means from their
estimated normal distribution (:mod:`adducir.statistics.joint`).

* **The model confidence set**: any test of equality and any rule of elimination will do (Hansen,
  Lunde and Nason 2011, section 2). Systems go in the order of the strongest evidence against them,
  the pair with the smallest two-level p; p of a step is that of this pair against the largest |t|
  among all pairs that are left.
* **Ranks**: percentiles of a system's rank among the drawn means (a parametric bootstrap).
* **Simultaneous ranks**: all pairs by the step-down max-T of :class:`.Joint`.
"""

from collections.abc import Sequence

import numpy as np

from adducir.statistics.choices import DEFAULT_SAMPLES, DEFAULT_SEED
from adducir.statistics.differences import FloatArray, tolerance
from adducir.statistics.effects import check_share
from adducir.statistics.joint import Joint
from adducir.statistics.ranking import Ranking, rank_counts, surely
from adducir.statistics.tests.randomisation import check_draws
from adducir.statistics.two_level import TwoLevel


def ranking_of_runs(
    runs: Sequence[FloatArray],
    *,
    lower_is_better: bool = False,
    alpha: float = 0.05,
    samples: int = DEFAULT_SAMPLES,
    seed: int = DEFAULT_SEED,
) -> Ranking:
    """The set of systems that may be the best, and every system's rank intervals.

    Args:
        runs: Scores of S systems, (R, T) of R runs each on the same T topics.
        lower_is_better: The best has the lowest mean.
        alpha: 1 - the level of the set and of the intervals.
        samples: Draws of the means.
        seed: Seed of the draws.

    Raises:
        UsageError: Other topics, fewer than two, or an option that makes no sense.
    """
    check_share(alpha, "alpha")
    check_draws(samples, seed, "samples")
    sign = -1.0 if lower_is_better else 1.0
    joint = Joint([sign * np.atleast_2d(one) for one in runs], draws=samples, seed=seed)
    systems = len(joint.means)
    equal = float(tolerance(joint.means[None], joint.means[None])[0])
    ranks = np.zeros((systems, systems), dtype=np.int64)
    for start in range(0, samples, 2048):
        drawn = joint.means[:, None] + joint.drawn[:, start : start + 2048]
        ranks += rank_counts(drawn.T, equal)
    pairs = {(i, j): joint.pair(i, j) for i in range(systems) for j in range(i)}
    first, second = np.triu_indices(systems, 1)
    p = joint.step_down(first, second) if systems > 1 else np.ones(0)
    sure = surely(joint.means, first[p <= alpha], second[p <= alpha])
    p_best = _p_best(joint, pairs)
    how = {"samples": samples, "seed": seed, "n": joint.topics}
    return Ranking.of(joint.means, equal, ranks, sure, p_best, alpha=alpha, **how)


def _p_best(joint: Joint, pairs: dict[tuple[int, int], TwoLevel]) -> FloatArray:
    """(S,) p of the model confidence set; 1 for the system that is left last."""
    left = list(range(len(joint.means)))
    p_best, steps, order = np.ones(len(left)), [], []
    while len(left) > 1:
        among = [pair for pair in pairs if pair[0] in left and pair[1] in left]
        against = min(among, key=lambda pair: pairs[pair].p)
        i, j = against
        worst = i if pairs[against].difference < 0 else j
        steps.append((worst, against))
        order.append(worst)
        left.remove(worst)
    # Pairs in the order in which they leave: those of a step are then all from its first pair on.
    place = {system: number for number, system in enumerate([*order, *left])}
    ordered = sorted(pairs, key=lambda pair: min(place[pair[0]], place[pair[1]]))
    counts = joint.largest([pairs[pair] for pair in ordered], ordered)
    starts = [min(place[pair[0]], place[pair[1]]) for pair in ordered]
    reached = 0.0
    for number, (worst, against) in enumerate(steps):
        found = pairs[against]
        own = (
            max(joint.tail(counts[starts.index(number)], found), found.p)
            if np.isfinite(found.t)
            else min(1.0, found.p * sum(start >= number for start in starts))
        )
        reached = max(reached, own)
        p_best[worst] = reached
    return p_best
