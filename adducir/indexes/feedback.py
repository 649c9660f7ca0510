"""Relevance feedback, and the family that knows its methods by name.

A method makes a weighted query from a query and its best documents, which is then searched.
Packages add methods by the entry-point group ``adducir.feedback``. Vectors of terms are of single
precision, as in Anserini's class ``FeatureVector``.
"""

import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.core.recipe import Kind
from adducir.core.registry import Family
from adducir.indexes.models import BM25, Array, Model, Saturation, Statistics

Weights = dict[str, float]


def check_weights(query: Mapping[str, float]) -> None:
    """Refuse weights that are negative or not finite.

    Raises:
        UsageError: One is.
    """
    for term, weight in query.items():
        if not 0 <= weight < float("inf"):
            raise UsageError(f"the weight of {term!r} must be 0 or more, not {weight}.")


def heaviest_first(query: Mapping[str, float]) -> Weights:
    """The terms by falling weight; equal ones in alphabetical order."""
    return dict(sorted(query.items(), key=lambda one: (-one[1], one[0])))


Vector = dict[str, np.float32]

_COMMON = np.float32(0.1)


def tenth(documents: int) -> int:
    """The most documents that are not more than a tenth of all, in single precision."""
    most = documents // 10 + 1
    while np.float32(most) / np.float32(max(1, documents)) > _COMMON:
        most -= 1
    return most


def cut(vector: Vector, size: int) -> Vector:
    """The terms of the greatest values; of equal ones those that are alphabetically first."""
    best = sorted(vector.items(), key=lambda one: (-one[1], one[0].encode("utf-16-be")))
    return dict(best[:size])


def l1_norm(vector: Mapping[str, np.float32]) -> float:
    """The sum of the values, which are 0 or more."""
    return float(sum(map(float, vector.values())))


def l2_norm(vector: Mapping[str, np.float32]) -> float:
    """The Euclidean norm."""
    return math.sqrt(sum(float(value) ** 2 for value in vector.values()))


def is_short_word(term: str, pattern: re.Pattern[str] | None = None) -> bool:
    """Whether a term has 2 to 20 characters, in Java's units of UTF-16, and matches a pattern."""
    length = len(term) if term.isascii() else len(term.encode("utf-16-be")) // 2
    return 2 <= length <= 20 and (pattern is None or pattern.fullmatch(term) is not None)


def divided(vector: Vector, norm: float) -> Vector:
    """All values over a number that is not 0."""
    return {term: np.float32(float(value) / norm) for term, value in vector.items()}


class Document(NamedTuple):
    """A document that a search found: its score, and its terms with their frequencies."""

    score: float
    terms: Mapping[str, int]


class Collection(Protocol):
    """What feedback can know of an index."""

    @property
    def documents(self) -> int:
        """How many documents the index has."""

    @property
    def has_plain_feedback(self) -> bool:
        """Whether new terms are of ``[a-z0-9]`` only, as Anserini's filter for English has it."""

    def frequency(self, term: str) -> int:
        """How many documents hold a term; 0 for a term that is not in the index."""


class FeedbackMethod(Kind):
    """A way to make a better query from a query and the documents that it finds.

    The fields of a subclass are its hyperparameters.
    """

    fb_docs: int = Field(default=10, ge=1, description="Feedback documents.")

    @property
    def depth(self) -> int:
        """How many of the best documents are read."""
        return self.fb_docs

    @abstractmethod
    def expanded(
        self, query: Mapping[str, int], documents: Sequence[Document], collection: Collection
    ) -> dict[str, float]:
        """The terms of the new query with their weights, which are 0 or more.

        Args:
            query: The query's terms, in order, and how often it has each.
            documents: The best documents, at most :attr:`depth`, best first.
        """

    def model(self, model: Model) -> Model:
        """The model that the new query is searched with, given the model of the first search."""
        return model


_PLAIN_WORD = re.compile("[a-z0-9]+")


class RM3(FeedbackMethod):
    """RM3.

    Abdul-Jaleel et al., "UMass at TREC 2004: Novelty and HARD", TREC 2004. Each feedback document
    gives the terms that match ``[a-z0-9]+`` (in English only, as with Anserini's
    ``-rm3.noTermFilter``), have 2 to 20 characters and occur in at most a tenth of all documents;
    of them, the ``fb_terms`` most frequent, divided by their sum and times the document's score.
    The sums over documents are cut to ``fb_terms`` again and divided by their sum: the relevance
    model. The query's own terms, divided by their sum, and the relevance model are mixed by
    ``original_query_weight``. All of it is single precision; sums for division are doubles.

    Where values are equal, both cuts take the term that is alphabetically first. Where every
    feedback document scores 0, Anserini divides by 0 and fails; here such documents add nothing.

    Both engines have RM3 as compiled code that gives the same (:mod:`adducir.indexes.memory.rm3`,
    and Anserini's own class for Lucene).
    """

    fb_terms: int = Field(default=10, ge=1, description="Feedback terms.")
    original_query_weight: float = Field(
        default=0.5, ge=0, le=1, description="Weight of the query itself, 0 to 1."
    )

    def expanded(
        self, query: Mapping[str, int], documents: Sequence[Document], collection: Collection
    ) -> dict[str, float]:
        whole = {term: np.float32(count) for term, count in query.items()}
        own = divided(whole, l1_norm(whole)) if whole else {}
        relevance = self._relevance(documents, collection)
        share, none = np.float32(self.original_query_weight), np.float32(0)
        rest = 1.0 - float(share)
        return {
            term: float(
                np.float32(
                    float(share * own.get(term, none)) + rest * float(relevance.get(term, none))
                )
            )
            for term in {**own, **relevance}
        }

    def _relevance(self, documents: Sequence[Document], collection: Collection) -> Vector:
        most, word = (
            tenth(collection.documents),
            _PLAIN_WORD if collection.has_plain_feedback else None,
        )
        sums: Vector = {}
        for document in documents:
            words = {
                term: np.float32(frequency)
                for term, frequency in document.terms.items()
                if is_short_word(term, word) and collection.frequency(term) <= most
            }
            vector = cut(words, self.fb_terms)
            norm = np.float32(l1_norm(vector))
            if norm > np.float32(0.001):
                for term, value in vector.items():
                    added = value / norm * np.float32(document.score)
                    sums[term] = sums.get(term, np.float32(0)) + added
        model = cut(sums, self.fb_terms)
        total = l1_norm(model)
        return divided(model, total) if total else {}


_RANKED = 50  # documents of which the last are taken to be not relevant


class Rocchio(FeedbackMethod):
    """Rocchio.

    Rocchio, "Relevance feedback in information retrieval", in Salton (ed.), The SMART Retrieval
    System, 1971. The query and each feedback document are vectors of term frequencies, divided by
    their Euclidean norm; of documents, terms of 2 to 20 characters that occur in at most a tenth of
    all documents. The mean of the ``fb_docs`` best documents is cut to its ``fb_terms`` greatest
    values and divided by its norm. The new query is ``alpha * query + beta * mean``, less ``gamma``
    times the same of the last ``bottom_fb_docs`` of the first 50 documents; what is not above 0 is
    left out. All of it is single precision; norms are doubles. Of equal values the cut takes the
    term that is alphabetically first.
    """

    fb_terms: int = Field(default=10, ge=1, description="Feedback terms.")
    alpha: float = Field(default=1.0, ge=0, description="Weight of the query.")
    beta: float = Field(default=0.75, ge=0, description="Weight of the best documents.")
    gamma: float = Field(default=0.0, ge=0, description="Weight of the last documents.")
    bottom_fb_terms: int = Field(default=10, ge=1, description="Terms of the last documents.")
    bottom_fb_docs: int = Field(default=10, ge=1, description="Last documents.")

    @property
    def depth(self) -> int:
        """The best documents, and as far as needed to find the last."""
        return max(self.fb_docs, _RANKED) if self.gamma else self.fb_docs

    def expanded(
        self, query: Mapping[str, int], documents: Sequence[Document], collection: Collection
    ) -> dict[str, float]:
        whole = {term: np.float32(count) for term, count in query.items()}
        own = divided(whole, l2_norm(whole)) if whole else {}
        best = _mean(documents[: self.fb_docs], collection, self.fb_terms)
        last: Vector = {}
        if self.gamma:
            tail = documents[::-1][: self.bottom_fb_docs]
            last = _mean(tail, collection, self.bottom_fb_terms)
        alpha, beta, gamma = map(np.float32, (self.alpha, self.beta, self.gamma))
        none = np.float32(0)
        weights = {
            term: alpha * own.get(term, none)
            + beta * best.get(term, none)
            - gamma * last.get(term, none)
            for term in {**own, **best, **last}
        }
        return {term: float(weight) for term, weight in weights.items() if weight > 0}


def _mean(documents: Sequence[Document], collection: Collection, size: int) -> Vector:
    """The mean of documents' vectors, cut and of norm 1."""
    most = tenth(collection.documents)
    sums: Vector = {}
    for document in documents:
        vector = {
            term: np.float32(frequency)
            for term, frequency in document.terms.items()
            if is_short_word(term) and collection.frequency(term) <= most
        }
        norm = np.float32(l2_norm(vector))
        if norm > np.float32(0.001):
            for term, value in vector.items():
                sums[term] = sums.get(term, np.float32(0)) + value / norm
    mean = {term: value / np.float32(len(documents)) for term, value in sums.items()}
    kept = cut(mean, size)
    return divided(kept, l2_norm(kept)) if kept else {}


_PLAIN = re.compile("(?![0-9]+$)[a-z0-9]+")

_WORD = re.compile("(?![0-9]+$).+")

_LEAST = 1e-6


class BM25PRF(FeedbackMethod):
    """BM25PRF.

    Robertson and Spärck Jones, "Simple, proven approaches to text retrieval", TR 356, Cambridge,
    1994. With N documents, n that hold a term, R feedback documents and r of them that hold it, a
    term's relevance weight is ``ln((r + .5) * (N - n - R + r + .5) / ((n - r + .5) * (R - r +
    .5)))``, at least 1e-6. Terms that match ``[a-z0-9]+`` (in English only), are not numbers, have
    2 to 20 characters, are in 2 feedback documents or more and not in the query are offered by that
    weight times ln r (Sakai and Robertson, SIGIR 2002); the ``fb_terms`` best come to the query's
    own, their weights times ``new_term_weight``. The new query is searched by BM25 with these
    weights in place of the idf.

    Where two offers are equal, Anserini takes them in the order of Java's hash sets: so does this.
    """

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

    def term_factors(self, statistics: Statistics) -> Array:
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


_HERE = "adducir.indexes.feedback"

FEEDBACK = Family(
    "feedback",
    FeedbackMethod,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {"rm3": f"{_HERE}:RM3", "rocchio": f"{_HERE}:Rocchio", "bm25prf": f"{_HERE}:BM25PRF"},
    what="feedback method",
)
