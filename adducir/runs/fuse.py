"""Fuse the rankings of several systems into one; see :mod:`adducir.runs.fusion` for the methods."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.runs.fusion import FUSION
from adducir.runs.run import Run


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    *,
    weights: Sequence[float] | None = None,
    depth: int | None = 1000,
    tag: str | None = None,
    **hyperparameters: Any,
) -> Run:
    """Fuse runs topic by topic.

    The topics of all runs are fused, in order of first appearance; :func:`lacking` gives those
    that some runs lack. A run that does not rank a document adds nothing to it. Equal scores are
    ordered by docno, ascending. The order of the runs does not matter, except for that of the
    topics.

    Args:
        runs: Two or more.
        method: ``rrf``, ``combsum``, ``combmnz``, ``combanz``, ``isr``, ``log-isr``, or one of an
            installed package.
        weights: One per run, 0 or more; by default all are 1.
        depth: How many documents per topic keeps; None for all.
        tag: The tag of the result; by default the method's name.
        hyperparameters: The method's own, such as ``k`` of ``rrf``.

    Raises:
        UsageError: There are fewer than two runs, or an argument makes no sense.
    """
    fusion = FUSION.make(method, hyperparameters)
    chosen = [1.0] * len(runs) if weights is None else [float(weight) for weight in weights]
    _refuse_nonsense(runs, chosen, depth)
    fusion.check(runs)
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
        # Terms are added in order of size, so that sums do not depend on the order of the runs.
        .agg(pl.col("score").sort().sum(), count=pl.len().cast(pl.Float64))
        .sort("topic")
    )
    score = fusion.combined(fused["score"].to_numpy(), fused["count"].to_numpy())
    rows = fused.select(
        "docno",
        score=pl.Series(score, dtype=pl.Float64),
        qid=pl.Series(qids, dtype=pl.String).gather(fused["topic"]),
    )
    fused_run = Run.ranked(rows, tag or method)
    return fused_run if depth is None else fused_run.top(depth)


def lacking(runs: Sequence[Run]) -> list[list[str]]:
    """For each run, the topics that others of the runs have and it has not."""
    qids = list(dict.fromkeys(qid for run in runs for qid in run.qids))
    return [[qid for qid in qids if qid not in own] for own in (set(run.qids) for run in runs)]


def _refuse_nonsense(runs: Sequence[Run], weights: list[float], depth: int | None) -> None:
    if len(runs) < 2:
        raise UsageError("fusion needs two or more runs.", hint="Name another run.")
    if len(weights) != len(runs):
        raise UsageError(f"{len(runs)} runs need as many weights, not {len(weights)}.")
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not any(weights):
        raise UsageError("weights are numbers from 0 up, and not all of them 0.")
    if depth is not None and depth < 1:
        raise UsageError(f"the depth is 1 or more, not {depth}.")
