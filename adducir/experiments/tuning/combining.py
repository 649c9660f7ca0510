"""Tuning what is done with runs that are there already: fusion, and the depth of reranking."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from adducir.core.errors import UsageError
from adducir.corpora.topics import Topics
from adducir.experiments.tuning.grid import Grid, Hyperparameter, Setting, hyperparameters_of
from adducir.runs.fuse import fuse
from adducir.runs.fusion import FUSION
from adducir.runs.run import Run

RERANK_DEPTH = Hyperparameter(whole=True, low=1)
"""How many documents are reranked."""


def fusion_hyperparameters(names: Sequence[str], method: str) -> dict[str, Hyperparameter]:
    """The parameters of a fusion of runs of these names: the method's own, and weights.

    Raises:
        UsageError: There is no such method.
    """
    return hyperparameters_of(FUSION.kind(method)) | {
        f"weights.{name}": Hyperparameter(low=0) for name in names
    }


class Fusion:
    """The fusion of runs: the method's hyperparameters, and ``weights.NAME`` of each run.

    A weight that is not in the grid is 1. Only the proportions of weights matter, so one of them
    is best left there.

    Args:
        runs: Two or more, by name, over the ids of the pool.
        method: As in :func:`adducir.runs.fuse.fuse`.
        fixed: Values of numeric parameters that are not in the grid.
        settings: Values of the method's other hyperparameters, such as ``normalise``.
        depth: Documents a topic.
    """

    def __init__(
        self,
        runs: Mapping[str, Run],
        method: str = "rrf",
        *,
        fixed: Mapping[str, float] | None = None,
        settings: Mapping[str, Any] | None = None,
        depth: int | None = 1000,
    ) -> None:
        self._runs = dict(runs)
        self._method = method
        self._fixed = dict(fixed or {})
        self._settings = dict(settings or {})
        self._depth = depth

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        """The method's own, such as ``k`` of rrf, and a weight for each run."""
        hyperparameters = fusion_hyperparameters(list(self._runs), self._method)
        return {
            name: hyperparameter
            for name, hyperparameter in hyperparameters.items()
            if name not in self._fixed
        }

    def check(self, setting: Setting) -> None:
        """Raise UsageError if all weights are 0."""
        if not any(self._weights(setting)):
            raise UsageError(
                "in one of the settings all weights are 0.",
                hint="Leave out a weight's 0, or leave one weight out of the grid: it is 1.",
            )

    def order(self, grid: Grid) -> Sequence[int]:
        """As they stand."""
        return range(len(grid))

    def run(self, setting: Setting, topics: Topics) -> Run:
        """Fuse what the runs have of the topics."""
        values = {**self._settings, **self._fixed, **setting}
        own = FUSION.kind(self._method).model_fields
        return fuse(
            [of_topics(run, topics) for run in self._runs.values()],
            self._method,
            weights=self._weights(setting),
            depth=self._depth,
            tag="tuned",
            **{name: value for name, value in values.items() if name in own},
        )

    def facts(self) -> dict[str, Any]:
        """Runs, method, fixed values and depth."""
        return {
            "fuse": list(self._runs),
            "method": self._method,
            **self._settings,
            **({"fixed": self._fixed} if self._fixed else {}),
            "depth": self._depth or "all",
        }

    def identity(self) -> dict[str, Any]:
        """The facts, and the runs' rows."""
        return self.facts() | {"runs": [_digest(run.frame) for run in self._runs.values()]}

    def _weights(self, setting: Setting) -> list[float]:
        values = {**self._fixed, **setting}
        return [float(values.get(f"weights.{name}", 1)) for name in self._runs]


class RerankDepth:
    """How much of a run is reranked: ``rerank_depth``.

    The first so many documents of the first run are put in the order that the reranked run gives
    them; the rest follows as it was. It takes one reranked run of the greatest depth: what a
    reranker gives a document does not depend on the others. (Of one that looks at whole lists
    it does; make a run for each depth then.)

    Args:
        first: The run that was reranked, over the ids of the pool.
        reranked: The same documents, or the first so many of each topic, in the new order.
        depth: How deep it was reranked, where lists may be shorter than that; by default as deep
            as its longest list.
        name: What the parameter is called.

    Raises:
        UsageError: The reranked run holds what the first does not.
    """

    def __init__(
        self,
        first: Run,
        reranked: Run,
        *,
        depth: int | None = None,
        name: str = "rerank_depth",
    ) -> None:
        self._depth = depth or reranked.depth
        self._name = name
        places = reranked.frame.select("qid", "docno").with_columns(place=pl.Series(reranked.ranks))
        ranked = first.frame.with_columns(
            topic=pl.Series(first.topics), rank=pl.Series(first.ranks)
        )
        joined = ranked.join(places, on=["qid", "docno"], how="left", maintain_order="left")
        if joined["place"].count() < len(reranked):
            raise UsageError(
                f"the reranked run {reranked.tag} holds documents that {first.tag} does not.",
                hint="Name the run that was reranked first, then the reranked one.",
            )
        self._rows = joined.with_columns(pl.col("place").cast(pl.Int64))
        self._names = (first.tag, reranked.tag)

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        """``rerank_depth``, or what it is called."""
        return {self._name: RERANK_DEPTH}

    def check(self, setting: Setting) -> None:
        """Raise UsageError if the reranked run is not that deep."""
        if setting[self._name] > self._depth:
            raise UsageError(
                f"{self._names[1]} holds {self._depth} documents per topic at most, fewer than a "
                f"{self._name} of {setting[self._name]}."
            )

    def order(self, grid: Grid) -> Sequence[int]:
        """As they stand."""
        return range(len(grid))

    def run(self, setting: Setting, topics: Topics) -> Run:
        """The run reranked to the depth; scores are ranks from the end."""
        wanted = pl.Series(topics.qids, dtype=pl.String)
        rows = self._rows.filter(pl.col("qid").is_in(wanted.implode()))
        lacking = pl.lit(self._depth)
        place = pl.when(pl.col("rank") < setting[self._name]).then(
            pl.col("place").fill_null(lacking)
        )
        # Documents below the depth stand behind all that were reranked.
        final = rows.with_columns(place=place.otherwise(lacking + 1)).sort("topic", "place", "rank")
        in_topic = pl.int_range(pl.len(), dtype=pl.Int64).over("qid")
        scored = final.with_columns(score=(pl.len().over("qid") - in_topic).cast(pl.Float64))
        return Run.ranked(scored.select("qid", "docno", "score"), "tuned")

    def facts(self) -> dict[str, Any]:
        """The two runs."""
        return {"first stage": self._names[0], "reranked": self._names[1]}

    def identity(self) -> dict[str, Any]:
        """The facts, and both runs' rows."""
        return self.facts() | {"depth": self._depth, "rows": _digest(self._rows)}


def _digest(frame: pl.DataFrame) -> str:
    return hashlib.sha256(frame.write_csv().encode()).hexdigest()


def of_topics(run: Run, topics: Topics) -> Run:
    """The part of a run that is of these topics."""
    if set(run.qids) <= set(topics.qids):
        return run
    wanted = pl.Series(topics.qids, dtype=pl.String)
    return Run(run.frame.filter(pl.col("qid").is_in(wanted.implode())), run.tag)
