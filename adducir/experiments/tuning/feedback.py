"""RM3's expanded queries for several weights of the original query, at the cost of one.

RM3 (Abdul-Jaleel et al., TREC 2004) mixes the query model and the relevance model, which comes from
the feedback documents: ``w * query + (1 - w) * relevance``. Only the mixture depends on w; what
costs time is the relevance model. An index gives both: the query model is RM3 with w = 1, the
relevance model RM3 with w = 0.

Weights are computed as Anserini computes them (``FeatureVector.interpolate``: double precision,
rounded to single), so that the mixture is bit for bit that of the index. Scores can differ from a
direct search in the last bit at most, if the index adds terms in another order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from adducir.indexes.feedback import RM3
from adducir.indexes.models import Model

Weights = dict[str, float]


class Expanding(Protocol):
    """An index that expands queries."""

    def expand(
        self, queries: Sequence[str], model: Any, feedback: RM3, *, threads: int | None = None
    ) -> list[Weights]:
        """The query that RM3 makes of each query."""


@dataclass
class _Kept:
    """What was found out about one list of queries: the relevance models are those of ``key``."""

    own: list[Weights]
    key: tuple[Model, int, int] | None = None
    relevance: list[Weights] = field(default_factory=list)


class SharedFeedback:
    """Keeps query models, and the relevance models that were asked for last.

    Args:
        index: What expands queries.
        threads: Threads of the expansion.
    """

    def __init__(self, index: Expanding, threads: int | None = None) -> None:
        self._index = index
        self._threads = threads
        self._kept: dict[tuple[str, ...], _Kept] = {}

    def queries(self, texts: Sequence[str], model: Model, rm3: RM3) -> list[Weights]:
        """The expanded queries.

        Raises:
            UsageError: The index has no document vectors.
        """
        kept = self._kept.get(tuple(texts))
        if kept is None:
            # The query's own terms have a weight; the one feedback term has 0.
            requested = self._expanded(
                texts, model, RM3(fb_terms=1, fb_docs=1, original_query_weight=1.0)
            )
            own = [
                {term: share for term, share in query.items() if share > 0} for query in requested
            ]
            kept = self._kept[tuple(texts)] = _Kept(own)
        key = (model, rm3.fb_terms, rm3.fb_docs)
        if key != kept.key:
            settings = rm3.model_copy(update={"original_query_weight": 0.0})
            kept.relevance, kept.key = self._expanded(texts, model, settings), key
        return [
            mixed(own, other, rm3.original_query_weight)
            for own, other in zip(kept.own, kept.relevance, strict=True)
        ]

    def _expanded(self, texts: Sequence[str], model: Model, rm3: RM3) -> list[Weights]:
        return self._index.expand(texts, model, rm3, threads=self._threads)


def mixed(own: Mapping[str, float], other: Mapping[str, float], weight: float) -> Weights:
    """``weight * own + (1 - weight) * other``, over the terms of both.

    Single-precision numbers, as Java's ``(float) (w * x + (1.0 - w) * y)`` gives them for floats
    w, x and y: the first product is single precision, the rest double.
    """
    terms = [*own, *(term for term in other if term not in own)]
    first = np.array([own.get(term, 0.0) for term in terms], dtype=np.float32)
    second = np.array([other.get(term, 0.0) for term in terms], dtype=np.float32)
    share = np.float32(weight)
    artifact = (share * first).astype(np.float64)
    sums = artifact + (1.0 - np.float64(share)) * second.astype(np.float64)
    return dict(zip(terms, sums.astype(np.float32).tolist(), strict=True))
