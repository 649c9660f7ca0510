"""What can be tuned: a system with some of its parameters left open.

RM3 (Abdul-Jaleel et al., TREC 2004) mixes the query model and the relevance model, which comes from
the feedback documents: ``w * query + (1 - w) * relevance``. Only the mixture depends on w; what
costs time is the relevance model. An index gives both: the query model is RM3 with w = 1, the
relevance model RM3 with w = 0. Weights are computed as Anserini computes them, so that the mixture
is bit for bit that of the index. Scores can differ from a direct search in the last bit at most, if
the index adds terms in another order.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.core.recipe import Kind
from adducir.corpora.topics import Topics
from adducir.experiments.tuning.grid import Grid, Hyperparameter, Setting, hyperparameters_of
from adducir.indexes.feedback import FEEDBACK, RM3, FeedbackMethod
from adducir.indexes.index import FieldWeights, Index, Query
from adducir.indexes.models import BM25, MODELS, Model
from adducir.runs.fusion import FUSION, fuse
from adducir.runs.run import Run

K = TypeVar("K", bound=Kind)
Weights = dict[str, float]


class Tunable(ABC):
    """A system that ranks topics with given settings."""

    hyperparameters: Mapping[str, Hyperparameter]
    """The parameters that a grid can name."""

    @abstractmethod
    def run(self, setting: Setting, topics: Topics) -> Run:
        """Rank the topics."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What the system is, for metadata."""

    def identity(self) -> dict[str, Any]:
        """All that determines its rankings beside topics and settings, as plain values."""
        return self.facts()

    def check(self, setting: Setting) -> None:
        """Raise UsageError if the setting makes no sense."""
        del setting

    def order(self, grid: Grid) -> Sequence[int]:
        """The settings' numbers in the order in which they are done at the least cost."""
        return range(len(grid))


def lexical_hyperparameters(
    model: type[Model], feedback: type[FeedbackMethod] | None
) -> dict[str, Hyperparameter]:
    """The parameters of a search: the model's numbers, and those of feedback."""
    return hyperparameters_of(model) | (hyperparameters_of(feedback) if feedback else {})


class LexicalSearch(Tunable):
    """A search with a lexical model, with feedback on request.

    All topics are searched in one call. Settings of RM3 that differ in the original query's weight
    only share feedback documents and relevance model. ``fixed`` has values of parameters that are
    not in the grid; others keep their defaults.
    """

    def __init__(
        self,
        index: Index,
        model: type[Model] = BM25,
        *,
        feedback: type[FeedbackMethod] | None = None,
        fixed: Mapping[str, Any] | None = None,
        fields: FieldWeights | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> None:
        self._index, self._model, self._feedback = index, model, feedback
        self._fixed, self._fields = dict(fixed or {}), fields
        self._depth, self._threads = depth, threads
        self._shared = SharedFeedback(index, threads)
        self.hyperparameters = {
            name: one
            for name, one in lexical_hyperparameters(model, feedback).items()
            if name not in self._fixed
        }

    def check(self, setting: Setting) -> None:
        self._parts(setting)  # an impossible value is refused

    def order(self, grid: Grid) -> Sequence[int]:
        """Settings that share a relevance model stand together."""

        def but_the_weight(number: int) -> list[int]:
            places = zip(grid.names, grid.places(number), strict=True)
            return [place for name, place in places if name != "original_query_weight"]

        return sorted(range(len(grid)), key=lambda number: (but_the_weight(number), number))

    def run(self, setting: Setting, topics: Topics) -> Run:
        """Search the topics; queries of the same text are searched once."""
        model, feedback = self._parts(setting)
        texts = list(dict.fromkeys(topics.queries))
        queries: Sequence[Query] = texts
        if isinstance(feedback, RM3) and "original_query_weight" in setting:
            queries, feedback = self._shared.queries(texts, model, feedback), None
        options: dict[str, Any] = {"depth": self._depth, "threads": self._threads}
        if self._fields is not None:
            options["fields"] = self._fields
        hits = self._index.search(queries, model, feedback=feedback, **options)
        if len(texts) == len(topics):
            return Run(hits.frame(topics.qids), "tuned")
        asked = pl.DataFrame({"topic": topics.qids, "qid": topics.queries})
        frame = asked.join(hits.frame(texts), on="qid", maintain_order="left_right")
        return Run(frame.select(pl.col("topic").alias("qid"), "docno", "score"), "tuned")

    def facts(self) -> dict[str, Any]:
        return {
            "index": self._index.identity,
            "model": MODELS.name_of(self._model),
            "feedback": FEEDBACK.name_of(self._feedback) if self._feedback else None,
            **({"fixed": self._fixed} if self._fixed else {}),
            **({"fields": dict(self._fields)} if self._fields else {}),
            "depth": self._depth or "all",
        }

    def _parts(self, setting: Setting) -> tuple[Model, FeedbackMethod | None]:
        values: dict[str, Any] = {**self._fixed, **setting}
        model = _made(self._model, values)
        return model, None if self._feedback is None else _made(self._feedback, values)


def _made(kind: type[K], values: Mapping[str, Any]) -> K:
    return kind(**{name: value for name, value in values.items() if name in kind.model_fields})


class SharedFeedback:
    """RM3's queries for several weights; keeps query models and the latest relevance models."""

    def __init__(self, index: Index, threads: int | None = None) -> None:
        self._index, self._threads = index, threads
        self._own: dict[tuple[str, ...], list[Weights]] = {}
        self._relevance: dict[tuple[str, ...], tuple[object, list[Weights]]] = {}

    def queries(self, texts: Sequence[str], model: Model, rm3: RM3) -> list[Weights]:
        """The expanded queries; a UsageError where the index has no document vectors."""
        asked, key = tuple(texts), (model, rm3.fb_terms, rm3.fb_docs)
        if asked not in self._own:
            # The query's own terms have a weight; the one feedback term has 0.
            alone = RM3(fb_terms=1, fb_docs=1, original_query_weight=1.0)
            self._own[asked] = [
                {term: share for term, share in query.items() if share > 0}
                for query in self._index.expand(texts, model, alone, threads=self._threads)
            ]
        if self._relevance.get(asked, (None,))[0] != key:
            other = rm3.model_copy(update={"original_query_weight": 0.0})
            found = self._index.expand(texts, model, other, threads=self._threads)
            self._relevance[asked] = key, found
        pairs = zip(self._own[asked], self._relevance[asked][1], strict=True)
        return [mixed(own, other, rm3.original_query_weight) for own, other in pairs]


def mixed(own: Mapping[str, float], other: Mapping[str, float], weight: float) -> Weights:
    """``weight * own + (1 - weight) * other``, over the terms of both.

    Single-precision numbers, as Java's ``(float) (w * x + (1.0 - w) * y)`` gives them for floats
    w, x and y: the first product is single precision, the rest double.
    """
    terms = [*own, *(term for term in other if term not in own)]
    first = np.array([own.get(term, 0.0) for term in terms], dtype=np.float32)
    second = np.array([other.get(term, 0.0) for term in terms], dtype=np.float32)
    share = np.float32(weight)
    product = (share * first).astype(np.float64)
    sums = product + (1.0 - np.float64(share)) * second.astype(np.float64)
    return dict(zip(terms, sums.astype(np.float32).tolist(), strict=True))


def fusion_hyperparameters(names: Sequence[str], method: str) -> dict[str, Hyperparameter]:
    """The parameters of a fusion of runs of these names: the method's own, and weights."""
    return hyperparameters_of(FUSION.kind(method)) | {
        f"weights.{name}": Hyperparameter(low=0) for name in names
    }


class Fusion(Tunable):
    """The fusion of runs: the method's hyperparameters, and ``weights.NAME`` of each run.

    A weight that is not in the grid is 1. Only the proportions of weights matter, so one of them
    is best left there. ``fixed`` has numbers that are not in the grid, ``settings`` the method's
    other hyperparameters, such as ``normalise``.
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
        self._runs, self._method, self._depth = dict(runs), method, depth
        self._fixed, self._settings = dict(fixed or {}), dict(settings or {})
        self.hyperparameters = {
            name: one
            for name, one in fusion_hyperparameters(list(runs), method).items()
            if name not in self._fixed
        }

    def check(self, setting: Setting) -> None:
        if not any(self._weights(setting)):
            raise UsageError(
                "in one of the settings all weights are 0.",
                hint="Leave out a weight's 0, or leave one weight out of the grid: it is 1.",
            )

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
        return {
            "fuse": list(self._runs),
            "method": self._method,
            **self._settings,
            **({"fixed": self._fixed} if self._fixed else {}),
            "depth": self._depth or "all",
        }

    def identity(self) -> dict[str, Any]:
        return self.facts() | {"runs": [_digest(run.frame) for run in self._runs.values()]}

    def _weights(self, setting: Setting) -> list[float]:
        values = {**self._fixed, **setting}
        return [float(values.get(f"weights.{name}", 1)) for name in self._runs]


RERANK_DEPTH = Hyperparameter(whole=True, low=1)
"""How many documents are reranked."""


class RerankDepth(Tunable):
    """How much of a run is reranked: a parameter called ``name``.

    The first so many documents of the first run are put in the order that the reranked run gives
    them; the rest follows as it was. It takes one reranked run of the greatest depth: what a
    reranker gives a document does not depend on the others. (Of one that looks at whole lists
    it does; make a run for each depth then.) ``depth`` says how deep it was reranked where lists
    may be shorter than that.
    """

    def __init__(
        self,
        first: Run,
        reranked: Run,
        *,
        depth: int | None = None,
        name: str = "rerank_depth",
    ) -> None:
        self._depth, self._name = depth or reranked.depth, name
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
        self.hyperparameters = {name: RERANK_DEPTH}

    def check(self, setting: Setting) -> None:
        if setting[self._name] > self._depth:
            raise UsageError(
                f"{self._names[1]} holds {self._depth} documents per topic at most, fewer than a "
                f"{self._name} of {setting[self._name]}."
            )

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
        return {"first stage": self._names[0], "reranked": self._names[1]}

    def identity(self) -> dict[str, Any]:
        return self.facts() | {"depth": self._depth, "rows": _digest(self._rows)}


def _digest(frame: pl.DataFrame) -> str:
    return hashlib.sha256(frame.write_csv().encode()).hexdigest()


def of_topics(run: Run, topics: Topics) -> Run:
    """The part of a run that is of these topics."""
    if set(run.qids) <= set(topics.qids):
        return run
    wanted = pl.Series(topics.qids, dtype=pl.String)
    return Run(run.frame.filter(pl.col("qid").is_in(wanted.implode())), run.tag)
