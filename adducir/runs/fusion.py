"""Fuse the rankings of several systems into one: the methods and their family.

A method gives each ranked document of a run a contribution; the contributions of all runs, times
the runs' weights, are summed by document (or their largest, smallest or median is taken), and the
method may adjust the result by the number of runs that rank the document. Where runs vote (Borda),
they contribute to every candidate, the documents that any run ranks. Values equal ranx's.
Packages add methods through entry points ``adducir.fusion``.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from adducir.core.errors import UsageError, worded
from adducir.core.recipe import Recipe, refusing
from adducir.core.registry import numbers
from adducir.corpora.frames import Floats, Integers
from adducir.runs.kinds import FUSION as FUSION
from adducir.runs.kinds import FusionSettings
from adducir.runs.run import Run

Normalisation = Literal["min-max", "z-score", "max", "sum", "rank", "borda", "none"]
Aggregate = Literal["sum", "max", "min", "median"]


def fuse(runs: Sequence[Run], settings: FusionSettings, tag: str | None = None) -> Run:
    """Fuse two or more runs topic by topic.

    A run that does not rank a document contributes nothing to it. Equal scores are ordered by
    docno, ascending; topics by first appearance, the only effect of the order of the runs. The tag
    defaults to the method's name.
    """
    fusion, method, depth = settings.fusion, settings.method, settings.depth
    if len(runs) < 2:
        raise UsageError(f"fusion needs two or more runs, not {len(runs)}.")
    with refusing():
        settings.fit(len(runs))
    weights = settings.weights or (1.0,) * len(runs)
    qids = list(dict.fromkeys(qid for run in runs for qid in run.qids))
    number = {qid: place for place, qid in enumerate(qids)}
    topics = [np.array([number[q] for q in run.qids], dtype=np.int64)[run.topics] for run in runs]
    rows = [
        pl.DataFrame({"topic": topic, "docno": run.frame["docno"]})
        for topic, run in zip(topics, runs, strict=True)
    ]
    pool = pl.concat(rows).unique(maintain_order=True)
    size = np.bincount(pool["topic"].to_numpy(), minlength=len(qids))
    if fusion.votes == "pairs":
        ranked = [own.with_columns(rank=run.ranks) for own, run in zip(rows, runs, strict=True)]
        found = _by_majority(pool.sort("topic", "docno"), ranked, np.array(weights), qids)
        result = Run.ranked(found, tag or method, ties="ascending")
        return result if depth is None else result.top(depth)
    parts = []
    for run, own, topic, weight in zip(runs, rows, topics, weights, strict=True):
        if fusion.votes:
            length = np.bincount(topic, minlength=len(qids))
            value = _votes(fusion.votes, size[topic], run.ranks)
            rest = pool.join(own, on=["topic", "docno"], how="anti")
            of = rest["topic"].to_numpy()
            unranked = _votes(fusion.votes, size[of], (size[of] + length[of] - 1) / 2)
            own, value = pl.concat([own, rest]), np.concatenate([value, unranked])
        else:
            value = numbers(
                *(fusion, "contributions", fusion.contributions(run), len(run)),
                meaning="a number per row of the run",
                finite=False,
            )
        parts.append(own.with_columns(score=pl.Series(weight * value, dtype=pl.Float64)))
    score = pl.col("score")
    aggregates = {
        # Terms are added by size, so that sums do not depend on the order of the runs.
        "sum": score.sort().sum(),
        "max": score.max(),
        "min": score.min(),
        "median": score.median(),
    }
    fused = (
        pl.concat(parts)
        .filter(score.is_not_nan())
        .group_by("topic", "docno")
        .agg(aggregates[fusion.aggregate], count=pl.len().cast(pl.Float64))
        .sort("topic")
    )
    combined = fusion.combined(fused["score"].to_numpy(), fused["count"].to_numpy())
    combined = numbers(fusion, "combined", combined, len(fused), meaning="a score per document")
    found = fused.select(
        "docno",
        score=pl.Series(combined, dtype=pl.Float64),
        qid=pl.Series(qids, dtype=pl.String).gather(fused["topic"]),
    )
    result = Run.ranked(found, tag or method, ties="ascending")
    return result if depth is None else result.top(depth)


def fused_method(settings: FusionSettings, runs: Sequence[Any]) -> dict[str, Any]:
    """The section ``method`` of a fused run's metadata; ``runs``: what is said of each."""
    stated = {"depth": settings.depth or "all", "runs": [*runs]}
    stated["weights"] = [*settings.weights] or [1.0] * len(runs)
    return {"fusion": {**FUSION.settings(settings.fusion, "method"), **stated}}


def lacking(runs: Sequence[Run]) -> list[list[str]]:
    """For each run, the topics that only other runs have."""
    qids = list(dict.fromkeys(qid for run in runs for qid in run.qids))
    return [[qid for qid in qids if qid not in own] for own in (set(run.qids) for run in runs)]


class FusionMethod(Recipe):
    """A way to combine several runs' scores of a document; fields: hyperparameters."""

    aggregate: ClassVar[Aggregate] = "sum"  # what is taken of a document's contributions

    @property
    def votes(self) -> str:
        """How runs vote on every candidate, "points", "shares" or "pairs"; empty: they do not."""
        return ""

    @abstractmethod
    def contributions(self, run: Run) -> Floats:
        """(n,) each row's contribution to its document's score, before the run's weight.

        NaN: the run does not rank the document.
        """

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        """(m,) document scores from weighted sums and the number of runs that rank each."""
        return sums


def _by_majority(
    pool: pl.DataFrame, ranked: Sequence[pl.DataFrame], weights: Floats, qids: Sequence[str]
) -> pl.DataFrame:
    """Each topic's candidates, sorted by pairwise majorities; the first of c has the score c."""
    places = [
        pool.join(one, on=["topic", "docno"], how="left", maintain_order="left")["rank"]
        for one in ranked
    ]
    ranks = np.array([place.cast(pl.Float64).fill_null(math.inf) for place in places]).T
    scores = np.empty(len(pool))
    lengths = np.bincount(pool["topic"].to_numpy(), minlength=len(qids))
    for start, end in zip(np.cumsum(lengths) - lengths, np.cumsum(lengths), strict=True):

        def compared(x: int, y: int) -> int:
            ahead = weights[ranks[x] < ranks[y]].sum() - weights[ranks[x] > ranks[y]].sum()
            return int(-np.sign(ahead)) or x - y  # a draw goes by docno

        order = sorted(range(start, end), key=cmp_to_key(compared))
        scores[order] = np.arange(len(order), 0, -1)
    qid = pl.Series(qids, dtype=pl.String).gather(pool["topic"])
    return pool.select("docno", score=pl.Series(scores), qid=qid)


def _votes(how: str, candidates: Integers, rank: Integers | Floats) -> Floats:
    """(n,) Borda's votes for documents at ranks from 0, of c candidates: c to 1, or 1 to 1 / c.

    The unranked candidates share what is left: each has the mean of the remaining ranks.
    """
    points = candidates - rank
    return np.asarray(points / candidates if how == "shares" else points, dtype=np.float64)


def normalised(run: Run, how: Normalisation) -> Floats:
    """(n,) a run's scores, normalised per topic by ``how``.

    - ``min-max``: 0 for the last document of the run's ranking, 1 for the first (Lee, SIGIR 1997).
      Scores that are all equal become 1.
    - ``z-score``: zero mean and unit variance, of the population (Montague and Aslam, CIKM 2001).
      Scores that are all equal become 0, as if unranked documents had the mean.
    - ``max``: divided by the largest; ``sum``: shifted to a minimum of 0, then divided by the sum.
    - ``rank``: 1 - (rank - 1) / documents of the ranking (Renda and Straccia, SAC 2003); ``borda``
      the same over all candidates (:func:`fuse`).
    """
    score: Floats = run.frame["score"].to_numpy()
    if how == "none" or not len(score):
        return score
    starts = np.cumsum(run.lengths) - run.lengths
    if how in ("rank", "borda"):
        return np.asarray(1 - run.ranks / run.lengths[run.topics])
    high = np.maximum.reduceat(score, starts)[run.topics]
    if how == "max":
        return score / np.maximum(high, _LEAST)
    low = np.minimum.reduceat(score, starts)[run.topics]
    # Halved, since the span of doubles is twice the largest double.
    span = high / 2 - low / 2
    flat = span == 0
    scaled: Floats = np.where(flat, 1.0, (score / 2 - low / 2) / np.where(flat, 1.0, span))
    if how == "min-max":
        return scaled
    if how == "sum":
        shifted = score - low
        return shifted / np.maximum(np.add.reduceat(shifted, starts)[run.topics], _LEAST)
    # z-scores do not depend on the scale, and those of numbers from 0 to 1 never overflow.
    lengths = run.lengths[run.topics]
    centred = scaled - (np.add.reduceat(scaled, starts)[run.topics] / lengths)
    deviation = np.sqrt(np.add.reduceat(centred**2, starts)[run.topics] / lengths)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, deviation))


_LEAST = 1e-9
"""The least divisor of a normalisation, as in ranx."""


class RRF(FusionMethod):
    """Reciprocal rank fusion.

    The sum of ``weight / (k + rank)``, ranks from 1 (Cormack, Clarke and Büttcher, SIGIR 2009).
    """

    k: float = Field(60.0, ge=0)
    """How much to flatten differences between top ranks."""
    top: int | None = Field(None, ge=1)
    """Only the first documents of each run count."""

    def contributions(self, run: Run) -> Floats:
        value = 1 / (self.k + 1 + run.ranks)
        return np.where(run.ranks < self.top, value, np.nan) if self.top else np.asarray(value)


class ISR(FusionMethod):
    """Inverse square rank: the sum of 1 / rank^2, times the number of runs that rank the document.

    Mourão, Martins and Magalhães, CMIG 2015.
    """

    def contributions(self, run: Run) -> Floats:
        return np.asarray(1 / (run.ranks + 1.0) ** 2)

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        return sums * counts


class LogISR(ISR):
    """Inverse square rank, times the logarithm of the number of runs; 0 if one run ranks it."""

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        return np.asarray(sums * np.log(counts))


class Borda(FusionMethod):
    """Borda's count: c points for the first of c candidates, one less for each later one.

    A run's unranked candidates share its remaining points (Aslam and Montague, SIGIR 2001).
    """

    @property
    def votes(self) -> str:
        return "points"

    def contributions(self, run: Run) -> Floats:
        return _votes("points", run.lengths[run.topics], run.ranks)


class Condorcet(FusionMethod):
    """Condorcet fusion: a document precedes another if the majority of runs rank it higher.

    Runs rank what they lack last. Where majorities form a circle, the order within it is that in
    which a merge sort by docno meets it (Montague and Aslam, CIKM 2002).
    """

    @property
    def votes(self) -> str:
        return "pairs"

    def contributions(self, run: Run) -> Floats:
        return np.asarray(-run.ranks, dtype=np.float64)


class CombSUM(FusionMethod):
    """The sum of scores.

    With weights, the weighted sum (Fox and Shaw, TREC-2, 1994).
    """

    normalise: Normalisation = "min-max"
    """How to normalise a topic's scores first."""

    @property
    def votes(self) -> str:
        return "shares" if self.normalise == "borda" else ""

    def contributions(self, run: Run) -> Floats:
        return normalised(run, self.normalise)


class CombMAX(CombSUM):
    """The largest score (Fox and Shaw, TREC-2, 1994)."""

    aggregate: ClassVar = "max"


class CombMIN(CombSUM):
    """The smallest score of the runs that rank the document (Fox and Shaw, TREC-2, 1994)."""

    aggregate: ClassVar = "min"


class CombMED(CombSUM):
    """The median score of the runs that rank the document (Fox and Shaw, TREC-2, 1994)."""

    aggregate: ClassVar = "median"


class CombANZ(CombSUM):
    """The mean score of the runs that rank the document (Fox and Shaw, TREC-2, 1994)."""

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        return sums / counts


class CombMNZ(CombSUM):
    """The sum of scores times the number of runs that rank the document."""

    def contributions(self, run: Run) -> Floats:
        found = super().contributions(run)
        if (found < 0).any():
            what = f"{run.tag} has negative scores, which more runs would lower."
            raise UsageError(what, hint=f"Set {worded('normalise', 'min-max')}.")
        return found

    def combined(self, sums: Floats, counts: Floats) -> Floats:
        return sums * counts
