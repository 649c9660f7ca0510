"""BM25PRF as Anserini computes it (``BM25PrfReranker`` of Anserini 1.7), with its defaults.

Robertson and Spärck Jones, "Simple, proven approaches to text retrieval", TR 356, Cambridge, 1994.
With N documents, n that hold a term, R feedback documents and r of them that hold it, a term's
relevance weight is ``ln((r + .5) * (N - n - R + r + .5) / ((n - r + .5) * (R - r + .5)))``, at
least 1e-6. Terms that match ``[a-z0-9]+`` (in English only), are not numbers, have 2 to 20
characters, are in 2 feedback documents or more and not in the query are offered by that weight
times ln r (Sakai and Robertson, SIGIR 2002); the ``fb_terms`` best come to the query's own, their
weights times ``new_term_weight``. The new query is searched by BM25 with these weights in place of
the idf.

Where two offers are equal, Anserini takes them in the order of Java's hash sets: so does this.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from pydantic import Field

from adducir.indexes.feedback.method import Collection, Document, FeedbackMethod
from adducir.indexes.models.bm25 import BM25
from adducir.indexes.models.model import Model, Saturation

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics

_PLAIN = re.compile("(?![0-9]+$)[a-z0-9]+")
_WORD = re.compile("(?![0-9]+$).+")
_LEAST = 1e-6


class BM25PRF(FeedbackMethod):
    """BM25PRF."""

    fb_terms: int = Field(default=20, ge=1, description="Feedback terms.")
    new_term_weight: float = Field(default=0.2, ge=0, description="Weight of new terms.")
    prf_k1: float = Field(
        default=0.9, ge=0, description="Saturation of the term frequency in the second search."
    )
    prf_b: float = Field(
        default=0.4, ge=0, le=1, description="Weight of the document's length in the second search."
    )

    def model(self, model: Model) -> Model:
        """BM25 without an idf."""
        return _WithoutIDF(k1=self.prf_k1, b=self.prf_b)

    def expanded(
        self, query: Mapping[str, int], documents: Sequence[Document], collection: Collection
    ) -> dict[str, float]:
        """The relevance weights; see the module."""
        import numpy as np

        from adducir.indexes.feedback.vectors import is_short_word

        held = Counter(chain.from_iterable(document.terms for document in documents))

        def weight(term: str, factor: float = 1.0) -> float:
            r, relevant = held[term], len(documents)
            n, all_of_them = collection.frequency(term), collection.documents
            top = (r + 0.5) * (all_of_them - n - relevant + r + 0.5)
            odds = top / ((n - r + 0.5) * (relevant - r + 0.5))
            return max(math.log(odds) * factor, _LEAST)

        new = float(np.float32(self.new_term_weight))
        word = _PLAIN if collection.has_plain_feedback else _WORD
        offers = {
            term: np.float32(weight(term, new) * math.log(held[term]))
            for term in _in_javas_order(documents)
            if held[term] > 1 and term not in query and is_short_word(term, word)
        }
        best = sorted(_hashed(offers), key=lambda term: -offers[term])[: self.fb_terms]
        weights = {term: weight(term, new) for term in best} | {one: weight(one) for one in query}
        return {term: float(np.float32(value)) for term, value in weights.items()}


class _WithoutIDF(BM25):
    """BM25 whose idf is 1."""

    def similarity(self, *, exact_lengths: bool) -> Any:
        from adducir.indexes.jvm import java_class

        return None if exact_lengths else java_class("adducir.BM25WithoutIdf")(self.k1, self.b)

    def compiled(self) -> Saturation:
        return Saturation(self.k1, self.b, idf=False)

    def term_factors(self, statistics: "Statistics") -> "Array":
        import numpy as np

        return np.ones(len(statistics.frequencies))


def _in_javas_order(documents: Sequence[Document]) -> list[str]:
    """The terms of documents as a hash set has them that took those of each document's in turn."""
    sets = (_hashed(sorted(document.terms, key=str.encode)) for document in documents)
    return _hashed(chain.from_iterable(sets))


def _hashed(terms: Iterable[str]) -> list[str]:
    """Terms in the order of a Java ``HashSet`` that took them in this order.

    A set of n has the least power of 2 of buckets, 16 or more, that n fill to three quarters.
    """
    distinct = list(dict.fromkeys(terms))
    buckets = 16
    while 4 * len(distinct) > 3 * buckets:
        buckets *= 2
    return sorted(distinct, key=lambda term: _hash(term) % buckets)


@lru_cache(maxsize=1 << 16)
def _hash(term: str) -> int:
    """Java's ``hashCode`` of a text, as its ``HashMap`` spreads it."""
    code, units = 0, term.encode("utf-16-be")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8) + low) & 0xFFFFFFFF
    return code ^ (code >> 16)
