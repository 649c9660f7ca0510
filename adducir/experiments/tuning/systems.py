"""What can be tuned: a system with some of its parameters left open.

A new kind (a reranker, say) is a class with these members; nothing else of tuning has to know it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol

import numpy as np
import polars as pl

from adducir.corpora.topics import Topics
from adducir.experiments.tuning.feedback import SharedFeedback
from adducir.experiments.tuning.grid import Grid, Knob, Setting
from adducir.indexes.lucene import Hits, Query
from adducir.indexes.models import BM25, RM3Settings
from adducir.indexes.named import AnyModel, parameters_of
from adducir.runs.run import Run


class Tunable(Protocol):
    """A system that ranks topics with given settings."""

    @property
    def knobs(self) -> Mapping[str, Knob]:
        """The parameters that a grid can name."""

    def check(self, setting: Setting) -> None:
        """Raise UsageError if the setting makes no sense."""

    def order(self, grid: Grid) -> Sequence[int]:
        """The settings' numbers in the order in which they are done at the least cost."""

    def run(self, setting: Setting, topics: Topics) -> Run:
        """Rank the topics."""

    def facts(self) -> dict[str, Any]:
        """What the system is, for metadata."""


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
        rm3: RM3Settings | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> Hits:
        """Rank the documents for each query."""

    def expand(
        self, queries: Sequence[str], model: Any, rm3: RM3Settings, *, threads: int | None = None
    ) -> list[dict[str, float]]:
        """The query that RM3 makes of each query."""


_KNOBS = {
    "k1": Knob(low=0),
    "b": Knob(low=0, high=1),
    "mu": Knob(low=0),
    "epsilon": Knob(),
    "delta": Knob(low=0),
    "fb_terms": Knob(whole=True, low=1),
    "fb_docs": Knob(whole=True, low=1),
    "original_query_weight": Knob(low=0, high=1),
}
_FEEDBACK = tuple(field.name for field in fields(RM3Settings))


def lexical_knobs(model: type[AnyModel], *, rm3: bool) -> dict[str, Knob]:
    """The parameters of a search: the model's numbers, and RM3's."""
    names = [*parameters_of(model), *(_FEEDBACK if rm3 else ())]
    return {name: _KNOBS[name] for name in names}


class LexicalSearch:
    """A search with a lexical model, with RM3 on request.

    All topics are searched in one call. Settings of RM3 that differ in the original query's weight
    only share feedback documents and relevance model.

    Args:
        index: What is searched.
        model: The model's class; its fields are parameters.
        rm3: Whether queries are expanded.
        fixed: Values of parameters that are not in the grid; others keep their defaults.
        depth: Hits a topic; None for all documents that hold a term of the query.
        threads: Threads of the search.
    """

    def __init__(
        self,
        index: Searchable,
        model: type[AnyModel] = BM25,
        *,
        rm3: bool = False,
        fixed: Mapping[str, float] | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> None:
        self._index = index
        self._model = model
        self._rm3 = rm3
        self._fixed = dict(fixed or {})
        self._depth = depth
        self._threads = threads
        self._shared = SharedFeedback(index, threads)

    @property
    def knobs(self) -> Mapping[str, Knob]:
        """The model's parameters, and RM3's."""
        knobs = lexical_knobs(self._model, rm3=self._rm3)
        return {name: knob for name, knob in knobs.items() if name not in self._fixed}

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
        model, rm3 = self._parts(setting)
        texts = list(dict.fromkeys(topics.queries))
        queries: Sequence[Query] = texts
        if rm3 is not None and "original_query_weight" in setting:
            queries, rm3 = self._shared.queries(texts, model, rm3), None
        hits = self._index.search(queries, model, rm3=rm3, depth=self._depth, threads=self._threads)
        return Run(_frame(hits, topics, texts), "tuned")

    def facts(self) -> dict[str, Any]:
        """Index, model, fixed values and depth."""
        return {
            "index": self._index.identity,
            "model": self._model.name,
            "rm3": self._rm3,
            **({"fixed": self._fixed} if self._fixed else {}),
            "depth": self._depth or "all",
        }

    def _parts(self, setting: Setting) -> tuple[AnyModel, RM3Settings | None]:
        values: dict[str, Any] = {**self._fixed, **setting}
        feedback = {name: values.pop(name) for name in _FEEDBACK if name in values}
        return self._model(**values), RM3Settings(**feedback) if self._rm3 else None


def _frame(hits: Hits, topics: Topics, texts: Sequence[str]) -> pl.DataFrame:
    """The hits of texts as a run's frame, topic by topic."""
    if len(texts) == len(topics):
        return hits.frame(topics.qids)
    number = {text: place for place, text in enumerate(texts)}
    asked = np.array([number[text] for text in topics.queries], dtype=np.int64)
    lengths = hits.counts[asked].astype(np.int64)
    starts = (np.cumsum(hits.counts, dtype=np.int64) - hits.counts)[asked]
    rank = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(starts, lengths) + rank
    return Hits(lengths, hits.docnos.gather(rows), hits.scores[rows]).frame(topics.qids)
