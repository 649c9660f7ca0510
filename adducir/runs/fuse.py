"""Fuse the rankings of several systems into one.

- ``rrf``: reciprocal rank fusion, the sum of ``weight / (k + rank)`` with ranks from 1 (Cormack,
  Clarke and Büttcher, SIGIR 2009, who set k = 60).
- ``combsum``: the sum of ``weight * score`` (Fox and Shaw, TREC-2, 1994).
- ``combmnz``: the same, multiplied by the number of runs that ranked the document.

The last two add scores, which must therefore be of one scale. ``min-max`` brings each topic's
scores of a run to 0 (its last document) ... 1 (its first); a ranking whose scores are all equal
gets 1 throughout. ``none`` adds scores as they are. A run that does not rank a document adds
nothing to it.
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import polars as pl

from adducir.runs.order import Floats
from adducir.runs.run import Run
from adducir.study.checking import checked
from adducir.study.errors import UsageError

Method = Literal["rrf", "combsum", "combmnz"]
Normalise = Literal["min-max", "none"]


@checked
def fuse(
    runs: Sequence[Run],
    method: Method = "rrf",
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    normalise: Normalise = "min-max",
    depth: int | None = 1000,
    tag: str | None = None,
) -> Run:
    """Fuse runs topic by topic.

    The topics of all runs are fused, in order of first appearance; :func:`lacking` tells which
    runs lack some. Equal sums are ordered by docno, ascending. The order of the runs does not
    matter, except for that of the topics.

    Args:
        runs: Two or more.
        method: See the module's text.
        k: How much ``rrf`` evens out the first ranks.
        weights: One a run, 0 or more; by default all are 1.
        normalise: What ``combsum`` and ``combmnz`` do to scores first.
        depth: How many documents a topic keeps; None for all.
        tag: The tag of the result; by default the method's name.

    Raises:
        UsageError: There are fewer than two runs, or an argument makes no sense.
    """
    chosen = [1.0] * len(runs) if weights is None else [float(weight) for weight in weights]
    _refuse_nonsense(runs, method, k, chosen, normalise, depth)
    qids = list(dict.fromkeys(qid for run in runs for qid in run.qids))
    number = {qid: place for place, qid in enumerate(qids)}
    parts = []
    for run, weight in zip(runs, chosen, strict=True):
        topic = np.array([number[qid] for qid in run.qids], dtype=np.int64)[run.topics]
        value = 1 / (k + 1 + run.ranks) if method == "rrf" else _normalised(run, normalise)
        parts.append(
            pl.DataFrame({"topic": topic, "docno": run.frame["docno"], "score": weight * value})
        )
    # Terms are added in order of size, so that sums do not depend on the order of the runs.
    score = pl.col("score").sort().sum()
    fused = (
        pl.concat(parts)
        .group_by("topic", "docno")
        .agg(score * pl.len() if method == "combmnz" else score)
        .sort("topic")
    )
    rows = fused.with_columns(qid=pl.Series(qids, dtype=pl.String).gather(fused["topic"]))
    fused_run = Run.ranked(rows, tag or method)
    return fused_run if depth is None else fused_run.top(depth)


def lacking(runs: Sequence[Run]) -> list[list[str]]:
    """For each run, the topics that others of the runs have and it has not."""
    qids = list(dict.fromkeys(qid for run in runs for qid in run.qids))
    return [[qid for qid in qids if qid not in own] for own in (set(run.qids) for run in runs)]


def _normalised(run: Run, normalise: Normalise) -> Floats:
    """(n,) scores as ``normalise`` wants them."""
    score = run.frame["score"].to_numpy()
    if normalise == "none" or not len(score):
        return score
    starts = np.cumsum(run.lengths) - run.lengths
    high = np.maximum.reduceat(score, starts)[run.topics]
    low = np.minimum.reduceat(score, starts)[run.topics]
    # Halved, since the span of doubles is twice what a double holds.
    span = high / 2 - low / 2
    flat = span == 0
    return np.where(flat, 1.0, (score / 2 - low / 2) / np.where(flat, 1.0, span))


def _refuse_nonsense(
    runs: Sequence[Run],
    method: str,
    k: float,
    weights: list[float],
    normalise: str,
    depth: int | None,
) -> None:
    if len(runs) < 2:
        raise UsageError("fusion needs two or more runs.", mend="Name another run.")
    if method not in get_args(Method):
        raise UsageError(
            f"there is no fusion method {method!r}.", mend=f"Choose {', '.join(get_args(Method))}."
        )
    if normalise not in get_args(Normalise):
        raise UsageError(f"scores cannot be normalised by {normalise!r}.", mend="Choose min-max.")
    if len(weights) != len(runs):
        raise UsageError(f"{len(runs)} runs need as many weights, not {len(weights)}.")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise UsageError("weights are numbers from 0 up, and not all of them 0.")
    if not (math.isfinite(k) and k >= 0):
        raise UsageError(f"k is a number from 0 up, not {k}.")
    if depth is not None and depth < 1:
        raise UsageError(f"the depth is 1 or more, not {depth}.")
    if method == "combmnz" and normalise == "none":
        negative = [run.tag for run in runs if (run.frame["score"] < 0).any()]
        if negative:
            raise UsageError(
                f"{negative[0]} has negative scores, which combmnz would lower for every run that "
                "ranks the document.",
                mend="Normalise by min-max.",
            )
