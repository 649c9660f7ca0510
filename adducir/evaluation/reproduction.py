"""How well one experiment reproduces another (Breuer et al., SIGIR 2020); equal to ``repro_eval``.

* **Order of documents**: rank-biased overlap (Webber, Moffat and Zobel 2010) up to a depth, divided
  by the sum of its weights, so that equal rankings of that depth have 1; and Kendall's tau union:
  tau of the documents at each rank, by their places in the sorted union of both rankings. It needs
  rankings of one length, so the longer is cut; topics with fewer than two documents are left out.
* **Effectiveness**: root mean square error of the values per topic; normalised, it is divided by
  the largest that values from 0 to 1 could have, with max(x, 1 - x) on each topic.
* **Overall effect**, if both have a baseline: the effect ratio, the mean improvement in the
  reproduction divided by that in the original (1: the same), and the delta relative improvement,
  the relative improvement in the original minus that in the reproduction (0: the same).
"""

from math import isnan, nan
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
    nrmse: float = nan  # normalised


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


def kendall_tau_union(original: list[str], reproduced: list[str]) -> float:
    """Kendall's tau union of two rankings of one topic; NaN for fewer than two documents."""
    from scipy.stats import kendalltau

    length = min(len(original), len(reproduced))
    if length < 2:
        return nan
    sides = original[:length], reproduced[:length]
    number = {docno: place for place, docno in enumerate(sorted({*sides[0], *sides[1]}))}
    return float(kendalltau(*([number[docno] for docno in side] for side in sides)).statistic)


def overlap_of_runs(
    original: Run, reproduced: Run, *, depth: int = 1000, p: float = 0.8
) -> tuple[float, int]:
    """The mean rank-biased overlap of two runs, and the number of topics that both have."""
    if depth < 1 or not 0 < p < 1:
        raise UsageError(f"depth ({depth}) must be at least 1 and p ({p}) between 0 and 1.")
    pairs = _rankings(original, reproduced, depth)
    overlaps = [rank_biased_overlap(*pair, p=p, depth=depth) for pair in pairs]
    return float(np.mean(overlaps)), len(overlaps)


def kendall_tau_of_runs(original: Run, reproduced: Run, *, depth: int = 1000) -> float:
    """The mean Kendall's tau union of two runs; NaN if no topic has two documents in both."""
    taus = [kendall_tau_union(*pair) for pair in _rankings(original, reproduced, depth)]
    defined = [tau for tau in taus if not isnan(tau)]
    return float(np.mean(defined)) if defined else nan


def _rankings(original: Run, reproduced: Run, depth: int) -> list[tuple[list[str], list[str]]]:
    first, second = (
        dict(run.top(depth).frame.group_by("qid", maintain_order=True).agg("docno").iter_rows())
        for run in (original, reproduced)
    )
    pairs = [(first[qid], second[qid]) for qid in first if qid in second]
    if not pairs:
        raise InputError("the two runs do not share any topics.", path=reproduced.path)
    return pairs


def compare_effects(
    original: Scores, reproduced: Scores, baselines: tuple[Scores, Scores] | None = None
) -> dict[str, Reproduced]:
    """The similarity of two experiments' effectiveness by measure, with ``baselines`` of each."""
    all_scores = (original, reproduced, *(baselines or ()))
    if any(set(scores.measures) != set(original.measures) for scores in all_scores):
        raise UsageError("the two sets of scores have different measures.")
    results = {}
    for measure in original.measures:
        values = [scores.values(measure) for scores in all_scores]
        same = original.qids == reproduced.qids
        rmse = float(np.sqrt(np.mean((values[0] - values[1]) ** 2))) if same else nan
        largest = float(np.sqrt(np.mean(np.maximum(values[0], 1 - values[0]) ** 2)))
        if baselines is None:
            results[measure] = Reproduced(rmse, nrmse=rmse / largest)
            continue
        means = [float(row.mean()) for row in values]
        before, after = means[0] - means[2], means[1] - means[3]
        ratio = after / before if before else nan
        delta = before / means[2] - after / means[3] if means[2] and means[3] else nan
        results[measure] = Reproduced(rmse, ratio, delta, rmse / largest)
    return results
