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
    joint = _joint(runs, lower_is_better, samples, seed)
    systems = len(joint.means)
    equal = float(tolerance(joint.means[None], joint.means[None])[0])
    ranks = np.zeros((systems, systems), dtype=np.int64)
    for start in range(0, samples, 2048):
        drawn = joint.means[:, None] + joint.drawn[:, start : start + 2048]
        ranks += rank_counts(drawn.T, equal)
    first, second = np.triu_indices(systems, 1)
    p = joint.step_down(first, second) if systems > 1 else np.ones(0)
    sure = surely(joint.means, first[p <= alpha], second[p <= alpha])
    how = {"samples": samples, "seed": seed, "n": joint.topics}
    return Ranking.of(joint.means, equal, ranks, sure, _p_best(joint), alpha=alpha, **how)


def confidence_set_of_runs(
    runs: Sequence[FloatArray],
    *,
    lower_is_better: bool = False,
    samples: int = DEFAULT_SAMPLES,
    seed: int = DEFAULT_SEED,
) -> FloatArray:
    """(S,) p of the model confidence set, as :func:`ranking_of_runs` has it; likewise else."""
    check_draws(samples, seed, "samples")
    return _p_best(_joint(runs, lower_is_better, samples, seed))


def _joint(runs: Sequence[FloatArray], lower: bool, samples: int, seed: int) -> Joint:
    """All systems at once, of whose scores more is better."""
    sign = -1.0 if lower else 1.0
    return Joint([sign * np.atleast_2d(one) for one in runs], draws=samples, seed=seed)


def _p_best(joint: Joint) -> FloatArray:
    """(S,) p of the model confidence set; 1 for the system that is left last."""
    systems = len(joint.means)
    pairs = {(i, j): joint.pair(i, j) for i in range(systems) for j in range(i)}
    p = np.full((systems, systems), np.inf)
    for pair, found in pairs.items():
        p[pair] = found.p
    left, p_best, steps, order = list(range(systems)), np.ones(systems), [], []
    while len(left) > 1:
        row, column = np.unravel_index(np.argmin(p[np.ix_(left, left)]), (len(left), len(left)))
        against = left[row], left[column]
        worst = against[0] if pairs[against].difference < 0 else against[1]
        steps.append((worst, against))
        order.append(worst)
        left.remove(worst)
    # Pairs in the order in which they leave: those of a step are then all from its first pair on.
    place = {system: number for number, system in enumerate([*order, *left])}
    ordered = sorted(pairs, key=lambda pair: min(place[pair[0]], place[pair[1]]))
    starts = [sum(range(systems - number, systems)) for number in range(len(steps))]
    counts = joint.largest([pairs[pair] for pair in ordered], ordered, starts)
    reached = 0.0
    for start, count, (worst, against) in zip(starts, counts, steps, strict=True):
        found = pairs[against]
        own = (
            max(joint.tail(count, found), found.p)
            if np.isfinite(found.t)
            else min(1.0, found.p * (len(pairs) - start))
        )
        reached = max(reached, own)
        p_best[worst] = reached
    return p_best
