"""What can be tuned: a system with some of its parameters left open.

A new kind (a reranker, say) is a class with these members; nothing else of tuning has to know it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from adducir.core.recipe import Kind
from adducir.corpora.topics import Topics
from adducir.experiments.tuning.feedback import SharedFeedback
from adducir.experiments.tuning.grid import Grid, Hyperparameter, Setting, hyperparameters_of
from adducir.indexes.feedback import FEEDBACK, RM3, FeedbackMethod
from adducir.indexes.field_weights import FieldWeights
from adducir.indexes.index import Hits, Query
from adducir.indexes.models import BM25, MODELS, Model
from adducir.runs.run import Run

K = TypeVar("K", bound=Kind)


class Tunable(Protocol):
    """A system that ranks topics with given settings."""

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        """The parameters that a grid can name."""

    def check(self, setting: Setting) -> None:
        """Raise UsageError if the setting makes no sense."""

    def order(self, grid: Grid) -> Sequence[int]:
        """The settings' numbers in the order in which they are done at the least cost."""

    def run(self, setting: Setting, topics: Topics) -> Run:
        """Rank the topics."""

    def facts(self) -> dict[str, Any]:
        """What the system is, for metadata."""

    def identity(self) -> dict[str, Any]:
        """All that determines its rankings beside topics and settings, as plain values."""


class Searchable(Protocol):
    """What tuning needs of an index; LuceneIndex and MemoryIndex have it."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the index is."""

    def search(
        self,
        queries: Sequence[Query],
        model: Any,
        *,
        feedback: FeedbackMethod | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> Hits:
        """Rank the documents for each query."""

    def expand(
        self, queries: Sequence[str], model: Any, feedback: Any, *, threads: int | None = None
    ) -> list[dict[str, float]]:
        """The query that feedback makes of each query."""


def lexical_hyperparameters(
    model: type[Model], feedback: type[FeedbackMethod] | None
) -> dict[str, Hyperparameter]:
    """The parameters of a search: the model's numbers, and those of feedback."""
    return hyperparameters_of(model) | (hyperparameters_of(feedback) if feedback else {})


class LexicalSearch:
    """A search with a lexical model, with feedback on request.

    All topics are searched in one call. Settings of RM3 that differ in the original query's weight
    only share feedback documents and relevance model.

    Args:
        index: What is searched.
        model: The model's class; its fields are parameters.
        feedback: The class of the feedback method; None for none.
        fixed: Values of parameters that are not in the grid; others keep their defaults.
        fields: Weights of fields that the index keeps by themselves.
        depth: Hits a topic; None for all documents that hold a term of the query.
        threads: Threads of the search.
    """

    def __init__(
        self,
        index: Searchable,
        model: type[Model] = BM25,
        *,
        feedback: type[FeedbackMethod] | None = None,
        fixed: Mapping[str, Any] | None = None,
        fields: FieldWeights | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> None:
        self._fields = fields
        self._index = index
        self._model = model
        self._feedback = feedback
        self._fixed = dict(fixed or {})
        self._depth = depth
        self._threads = threads
        self._shared = SharedFeedback(index, threads)

    @property
    def hyperparameters(self) -> Mapping[str, Hyperparameter]:
        """The model's parameters, and those of feedback."""
        hyperparameters = lexical_hyperparameters(self._model, self._feedback)
        return {
            name: hyperparameter
            for name, hyperparameter in hyperparameters.items()
            if name not in self._fixed
        }

    def check(self, setting: Setting) -> None:
        """Raise UsageError if a value is out of range."""
        self._parts(setting)

    def order(self, grid: Grid) -> Sequence[int]:
        """Settings that share a relevance model stand together."""
        weight = [name == "original_query_weight" for name in grid.names]

        def without_weight(number: int) -> tuple[int, ...]:
            places = grid.places(number)
            return tuple(
                place for place, is_weight in zip(places, weight, strict=True) if not is_weight
            )

        return sorted(range(len(grid)), key=lambda number: (without_weight(number), number))

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
        return Run(_frame(hits, topics, texts), "tuned")

    def facts(self) -> dict[str, Any]:
        """Index, model, fixed values and depth."""
        return {
            "index": self._index.identity,
            "model": MODELS.name_of(self._model),
            "feedback": FEEDBACK.name_of(self._feedback) if self._feedback else None,
            **({"fixed": self._fixed} if self._fixed else {}),
            **({"fields": dict(self._fields)} if self._fields else {}),
            "depth": self._depth or "all",
        }

    def identity(self) -> dict[str, Any]:
        """The facts: an index has its fingerprint."""
        return self.facts()

    def _parts(self, setting: Setting) -> tuple[Model, FeedbackMethod | None]:
        values: dict[str, Any] = {**self._fixed, **setting}
        model = _made(self._model, values)
        return model, None if self._feedback is None else _made(self._feedback, values)


def _made(kind: type[K], values: Mapping[str, Any]) -> K:
    return kind(**{name: value for name, value in values.items() if name in kind.model_fields})


def _frame(hits: Hits, topics: Topics, texts: Sequence[str]) -> pl.DataFrame:
    """The hits of texts as a run's frame, topic by topic."""
    if len(texts) == len(topics):
        return hits.frame(topics.qids)
    number = {text: place for place, text in enumerate(texts)}
    numbers = np.array([number[text] for text in topics.queries], dtype=np.int64)
    lengths = hits.counts[numbers].astype(np.int64)
    starts = (np.cumsum(hits.counts, dtype=np.int64) - hits.counts)[numbers]
    rank = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(starts, lengths) + rank
    return Hits(lengths, hits.docnos.gather(rows), hits.scores[rows]).frame(topics.qids)
