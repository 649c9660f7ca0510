"""How well one experiment reproduces another (Breuer et al., SIGIR 2020); equal to ``repro_eval``.

* **Order of documents**: rank-biased overlap (Webber, Moffat and Zobel 2010) up to a depth, divided
  by the sum of its weights, so that equal rankings of that depth have 1.
* **Effectiveness**: root mean square error of the values per topic.
* **Overall effect**, if both have a baseline: the effect ratio, the mean improvement in the
  reproduction divided by that in the original (1: the same), and the delta relative improvement,
  the relative improvement in the original minus that in the reproduction (0: the same).
"""

from math import nan
from typing import NamedTuple

import numpy as np

from adducir.core.errors import InputError, UsageError
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run


class Reproduced(NamedTuple):
    """How similar two experiments are on a measure: None without baselines, NaN if undefined."""

    rmse: float
    effect_ratio: float | None = None
    delta_improvement: float | None = None


def rank_biased_overlap(
    original: list[str], reproduced: list[str], *, p: float = 0.8, depth: int = 1000
) -> float:
    """Rank-biased overlap of two rankings of one topic, divided by the sum of its weights."""
    seen: tuple[set[str], set[str]] = set(), set()
    shared, score, most, weight = 0, 0.0, 0.0, 1.0
    for place in range(depth):
        for side, ranking in enumerate((original, reproduced)):
            if place < len(ranking):
                shared += ranking[place] in seen[1 - side]
                seen[side].add(ranking[place])
        score += weight * shared / (place + 1)
        most += weight
        weight *= p
    return score / most


def overlap_of_runs(
    original: Run, reproduced: Run, *, depth: int = 1000, p: float = 0.8
) -> tuple[float, int]:
    if depth < 1 or not 0 < p < 1:
        raise UsageError(f"depth ({depth}) must be at least 1 and p ({p}) between 0 and 1.")
    first, second = (
        dict(run.top(depth).frame.group_by("qid", maintain_order=True).agg("docno").iter_rows())
        for run in (original, reproduced)
    )
    overlaps = [
        rank_biased_overlap(first[qid], second[qid], p=p, depth=depth)
        for qid in first
        if qid in second
    ]
    if not overlaps:
        raise InputError("the two runs do not share any topics.", path=reproduced.path)
    return float(np.mean(overlaps)), len(overlaps)


def compare_effects(
    original: Scores, reproduced: Scores, baselines: tuple[Scores, Scores] | None = None
) -> dict[str, Reproduced]:
    """The similarity of two experiments' effectiveness by measure, with ``baselines`` of each."""
    every = (original, reproduced, *(baselines or ()))
    if any(set(one.measures) != set(original.measures) for one in every):
        raise UsageError("the two sets of scores have different measures.")
    found = {}
    for measure in original.measures:
        values = [one.values(measure) for one in every]
        same = original.qids == reproduced.qids
        rmse = float(np.sqrt(np.mean((values[0] - values[1]) ** 2))) if same else nan
        if baselines is None:
            found[measure] = Reproduced(rmse)
            continue
        means = [float(one.mean()) for one in values]
        before, after = means[0] - means[2], means[1] - means[3]
        ratio = after / before if before else nan
        delta = before / means[2] - after / means[3] if means[2] and means[3] else nan
        found[measure] = Reproduced(rmse, ratio, delta)
    return found
