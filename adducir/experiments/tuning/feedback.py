"""RM3's expanded queries for several weights of the original query.

RM3 (Abdul-Jaleel et al., TREC 2004) mixes the query model and the relevance model, which comes from
the feedback documents: ``w * query + (1 - w) * relevance``. Only the mixture depends on w; what
costs time is the relevance model. An index gives both: the query model is RM3 with w = 1, the
relevance model RM3 with w = 0. Weights are computed as Anserini computes them, so that the mixture
is bit for bit that of the index. Scores can differ from a direct search in the last bit at most, if
the index adds terms in another order.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from adducir.indexes.feedback import RM3
from adducir.indexes.index import Index
from adducir.indexes.models import Model

Weights = dict[str, float]


class SharedFeedback:
    """Expanded queries; query models and the latest relevance models are kept."""

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
