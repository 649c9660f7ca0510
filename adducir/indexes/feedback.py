"""Relevance feedback: weighted queries from queries and their best documents.

Vectors of terms are of single
precision, as in Anserini's class ``FeatureVector``.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.core.recipe import Kind
from adducir.indexes.jvm import java_class
from adducir.indexes.models import Model

Weights = dict[str, float]


def check_weights(query: Mapping[str, float]) -> None:
    for term, weight in query.items():
        if not 0 <= weight < float("inf"):
            raise UsageError(f"the weight of {term!r} must be 0 or more, not {weight}.")


def heaviest_first(query: Mapping[str, float]) -> Weights:
    """The terms by falling weight; equal ones in alphabetical order."""
    return dict(sorted(query.items(), key=lambda one: (-one[1], one[0])))


class Document(NamedTuple):
    """A document that a search found: its score, and its terms with their frequencies."""

    score: float
    terms: Mapping[str, int]


@dataclass(frozen=True)
class Collection:
    """What feedback can know of an index.

    Attributes:
        documents: How many documents the index has.
        has_plain_feedback: Whether new terms are of ``[a-z0-9]`` only, as Anserini's filter for
            English has it.
        frequencies: How many documents hold each term of the query and of the feedback documents.
    """

    documents: int
    has_plain_feedback: bool
    frequencies: Mapping[str, int]

    def frequency(self, term: str) -> int:
        return self.frequencies.get(term, 0)


class FeedbackMethod(Kind):
    """A way to make a better query from a query and the documents that it finds.

    The fields of a subclass are its hyperparameters; ``engines`` are those that know it.
    """

    engines: ClassVar[tuple[str, ...]] = ("lucene", "memory")

    fb_docs: int = Field(default=10, ge=1, description="Feedback documents.")

    @property
    def depth(self) -> int:
        """How many of the best documents are read."""
        return self.fb_docs

    def expanded(
        self, query: Mapping[str, int], documents: Sequence[Document], collection: Collection
    ) -> Weights:
        """The terms of the new query with their weights, which are 0 or more.

        Args:
            query: The query's terms, in order, and how often it has each.
            documents: The best documents, at most :attr:`depth`, best first.
        """
        raise NotImplementedError

    def model(self, model: Model) -> Model:
        """The model that the new query is searched with, given the model of the first search."""
        return model

    def of_anserini(self, searcher: Any, *, has_plain_feedback: bool) -> Any:
        """Anserini's own object, by Adducir's bridge to it; None where :meth:`expanded` is used."""
        del searcher, has_plain_feedback
        return None


def expanded(
    method: FeedbackMethod,
    queries: Iterable[Counter[str]],
    found: Iterable[Sequence[Document]],
    collection: Collection,
) -> list[Weights]:
    made = []
    for query, documents in zip(queries, found, strict=True):
        weights = method.expanded(query, documents, collection)
        check_weights(weights)
        made.append(heaviest_first(weights))
    return made


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
    Lucene's indexes are expanded by Anserini's own class, memory indexes by compiled code.
    """

    fb_terms: int = Field(default=10, ge=1, description="Feedback terms.")
    original_query_weight: float = Field(
        default=0.5, ge=0, le=1, description="Weight of the query itself, 0 to 1."
    )

    def of_anserini(self, searcher: Any, *, has_plain_feedback: bool) -> Any:
        weight = self.original_query_weight
        return searcher.rm3(self.fb_terms, self.fb_docs, weight, has_plain_feedback)


_RANKED = 50  # documents of which the last are taken to be not relevant
_COMMON = np.float32(0.1)
_Vector = dict[str, np.float32]


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
        own = _of_norm_1({term: np.float32(count) for term, count in query.items()})
        best = _mean(documents[: self.fb_docs], collection, self.fb_terms)
        last: _Vector = {}
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


def _mean(documents: Sequence[Document], collection: Collection, size: int) -> _Vector:
    most = collection.documents // 10 + 1  # not more than a tenth, in single precision
    while np.float32(most) / np.float32(max(1, collection.documents)) > _COMMON:
        most -= 1
    sums: _Vector = {}
    for document in documents:
        vector = {
            term: np.float32(frequency)
            for term, frequency in document.terms.items()
            if 2 <= len(term.encode("utf-16-be")) // 2 <= 20  # Java's characters
            and collection.frequency(term) <= most
        }
        norm = np.float32(_norm(vector))
        if norm > np.float32(0.001):
            for term, value in vector.items():
                sums[term] = sums.get(term, np.float32(0)) + value / norm
    mean = {term: value / np.float32(len(documents)) for term, value in sums.items()}
    best = sorted(mean.items(), key=lambda one: (-one[1], one[0].encode("utf-16-be")))
    return _of_norm_1(dict(best[:size]))


def _norm(vector: _Vector) -> float:
    return math.sqrt(sum(float(value) ** 2 for value in vector.values()))


def _of_norm_1(vector: _Vector) -> _Vector:
    norm = _norm(vector)
    return {term: np.float32(float(value) / norm) for term, value in vector.items()}


class BM25PRF(FeedbackMethod):
    """BM25PRF.

    Robertson and Spärck Jones, "Simple, proven approaches to text retrieval", TR 356, Cambridge,
    1994, as Anserini's class computes it, for indexes of Lucene. With N documents, n that hold a
    term, R feedback documents and r of them that hold it, a term's relevance weight is ``ln((r +
    .5) * (N - n - R + r + .5) / ((n - r + .5) * (R - r + .5)))``, at least 1e-6. Terms that match
    ``[a-z0-9]+``, are not numbers, have 2 to 20 characters, are in 2 feedback documents or more and
    not in the query are offered by that weight times ln r (Sakai and Robertson, SIGIR 2002); the
    ``fb_terms`` best come to the query's own, their weights times ``new_term_weight``. The new
    query is searched by BM25 with these weights in place of the idf.
    """

    engines: ClassVar[tuple[str, ...]] = ("lucene",)

    fb_terms: int = Field(default=20, ge=1, description="Feedback terms.")
    new_term_weight: float = Field(default=0.2, ge=0, description="Weight of new terms.")
    prf_k1: float = Field(
        default=0.9, ge=0, description="Saturation of the term frequency in the second search."
    )
    prf_b: float = Field(
        default=0.4, ge=0, le=1, description="Weight of the document's length in the second search."
    )

    def model(self, model: Model) -> Model:
        return _WithoutIDF(k1=self.prf_k1, b=self.prf_b)

    def of_anserini(self, searcher: Any, *, has_plain_feedback: bool) -> Any:
        weights = self.prf_k1, self.prf_b, self.new_term_weight
        return searcher.bm25prf(self.fb_terms, self.fb_docs, *weights)


class _WithoutIDF(Model):
    k1: float
    b: float

    def similarity(self, *, exact_lengths: bool) -> Any:
        return None if exact_lengths else java_class("adducir.BM25WithoutIdf")(self.k1, self.b)
