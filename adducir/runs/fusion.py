"""Fuse the rankings of several systems into one: the methods and their family.

A method gives each ranked document of a run a contribution; the contributions of all runs, times
the runs' weights, are summed by document, and the method may adjust the sum by the number of runs
that rank the document. Packages add methods through entry points ``adducir.fusion``.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.core.texts import counted
from adducir.corpora.frames import Floats
from adducir.runs.run import Run

Normalisation = Literal["min-max", "z-score", "none"]


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    *,
    weights: Sequence[float] | None = None,
    depth: int | None = 1000,
    tag: str | None = None,
    **hyperparameters: Any,
) -> Run:
    """Fuse two or more runs topic by topic, keeping ``depth`` documents per topic (None: all).

    A run that does not rank a document contributes nothing to it. Equal scores are ordered by
    docno, ascending; topics by first appearance, the only effect of the order of the runs.
    ``method`` is one of :data:`FUSION`, ``hyperparameters`` are its own, such as ``k`` of ``rrf``;
    ``weights`` has one per run, 0 or more; the tag defaults to the method's name.
    """
    fusion = FUSION.make(method, hyperparameters)
    chosen = [1.0] * len(runs) if weights is None else [float(weight) for weight in weights]
    if len(runs) < 2 or len(runs) != len(chosen):
        given = f"{counted(len(runs), 'run')} and {counted(len(chosen), 'weight')}"
        raise UsageError(f"fusion needs two or more runs and as many weights, not {given}.")
    if not all(math.isfinite(weight) and weight >= 0 for weight in chosen) or not any(chosen):
        raise UsageError("weights must be numbers of 0 or more, and not all 0.")
    if depth is not None and depth < 1:
        raise UsageError(f"the depth must be 1 or more, not {depth}.")
    qids = list(dict.fromkeys(qid for run in runs for qid in run.qids))
    number = {qid: place for place, qid in enumerate(qids)}
    parts = []
    for run, weight in zip(runs, chosen, strict=True):
        topic = np.array([number[qid] for qid in run.qids], dtype=np.int64)[run.topics]
        value = weight * fusion.contributions(run)
        parts.append(pl.DataFrame({"topic": topic, "docno": run.frame["docno"], "score": value}))
    fused = (
        pl.concat(parts)
        .group_by("topic", "docno")
        # Terms are added by size, so that sums do not depend on the order of the runs.
        .agg(pl.col("score").sort().sum(), count=pl.len().cast(pl.Float64))
        .sort("topic")
    )
    score = fusion.combined(fused["score"].to_numpy(), fused["count"].to_numpy())
    rows = fused.select(
        "docno",
        score=pl.Series(score, dtype=pl.Float64),
        qid=pl.Series(qids, dtype=pl.String).gather(fused["topic"]),
    )
    result = Run.ranked(rows, tag or method, ties="ascending")
    return result if depth is None else result.top(depth)


def lacking(runs: Sequence[Run]) -> list[list[str]]:
    """For each run, the topics that only other runs have."""
    qids = list(dict.fromkeys(qid for run in runs for qid in run.qids))
    return [[qid for qid in qids if qid not in own] for own in (set(run.qids) for run in runs)]


class FusionMethod(Recipe):
    """A way to combine several runs' scores of a document; fields: hyperparameters."""

    @abstractmethod
    def contributions(self, run: Run) -> Floats:
        """(n,) each row's contribution to its document's score, before the run's weight."""

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        """(m,) document scores from weighted sums and the number of runs that rank each."""
        return sums


def normalised(run: Run, how: Normalisation) -> Floats:
    """(n,) a run's scores, normalised per topic by ``how``.

    - ``min-max``: 0 for the last document of the run's ranking, 1 for the first (Lee, SIGIR 1997).
      Scores that are all equal become 1.
    - ``z-score``: zero mean and unit variance, of the population (Montague and Aslam, CIKM 2001).
      Scores that are all equal become 0, as if unranked documents had the mean.
    """
    score: Floats = run.frame["score"].to_numpy()
    if how == "none" or not len(score):
        return score
    starts = np.cumsum(run.lengths) - run.lengths
    high = np.maximum.reduceat(score, starts)[run.topics]
    low = np.minimum.reduceat(score, starts)[run.topics]
    # Halved, since the span of doubles is twice the largest double.
    span = high / 2 - low / 2
    flat = span == 0
    scaled: Floats = np.where(flat, 1.0, (score / 2 - low / 2) / np.where(flat, 1.0, span))
    if how == "min-max":
        return scaled
    # z-scores do not depend on the scale, and those of numbers from 0 to 1 never overflow.
    lengths = run.lengths[run.topics]
    centred = scaled - (np.add.reduceat(scaled, starts)[run.topics] / lengths)
    deviation = np.sqrt(np.add.reduceat(centred**2, starts)[run.topics] / lengths)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, deviation))


class RRF(FusionMethod):
    """Reciprocal rank fusion.

    The sum of ``weight / (k + rank)``, ranks from 1 (Cormack, Clarke and Büttcher, SIGIR 2009).
    """

    k: float = Field(60.0, ge=0, description="How much to flatten differences between top ranks.")

    def contributions(self, run: Run) -> Floats:
        return np.asarray(1 / (self.k + 1 + run.ranks))


class CombSUM(FusionMethod):
    """The sum of scores.

    With weights, the weighted sum (Fox and Shaw, TREC-2, 1994).
    """

    normalise: Normalisation = Field(
        "min-max", description="How to normalise a topic's scores first."
    )

    def contributions(self, run: Run) -> Floats:
        return normalised(run, self.normalise)


class CombMNZ(CombSUM):
    """The sum of scores times the number of runs that rank the document."""

    def contributions(self, run: Run) -> Floats:
        found = super().contributions(run)
        if (found < 0).any():
            what = f"{run.tag} has negative scores, which more runs would lower."
            raise UsageError(what, hint="Normalise by min-max.")
        return found

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        return sums * counts


FUSION = Family(
    "fusion",
    FusionMethod,
    {"rrf": f"{__name__}:RRF", "combsum": f"{__name__}:CombSUM", "combmnz": f"{__name__}:CombMNZ"},
    what="fusion method",
)
