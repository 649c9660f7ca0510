"""Relevance feedback: weighted queries from queries and their best documents.

Term vectors have single precision, as in Anserini's class ``FeatureVector``, whose hash maps
determine the order in which norms are summed. Doubles hold these sums of floats exactly unless one
is over a million times another, so the order does not matter.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field

from adducir.core.recipe import Kind
from adducir.core.registry import numbers, refuse

Array = np.ndarray[tuple[int], np.dtype[Any]]
Weights = dict[str, float]

_COMMON = np.float32(0.1)
_LEAST_NORM = np.float32(0.001)


class FeedbackDoc(NamedTuple):
    """A retrieved document: its score, and its terms with their frequencies."""

    score: float
    terms: Mapping[str, int]


class TermVectors(NamedTuple):
    """The n feedback documents of q queries and their P terms."""

    counts: Array  # (q,) documents of each query
    scores: Array  # (n,)
    sizes: Array  # (n,) terms of each document
    terms: Array  # (P,) term numbers, each document's most frequent first, ties by text
    tfs: Array  # (P,) their frequencies


@dataclass(eq=False)
class Terms:
    """Terms of an index by their numbers."""

    names: pl.Series  # (V,)
    ranks: Array  # (V,) their alphabetical ranks
    frequencies: Array  # (V,) document frequencies
    documents: int  # of the index
    plain: bool  # whether RM3 uses only terms of [a-z0-9], Anserini's filter for English
    lookup: Callable[[list[str]], Sequence[int]]  # document frequencies of any terms
    occurrences: Callable[[list[str]], Sequence[int]]  # how often any terms occur

    @cached_property
    def eligible(self) -> Array:
        """(V,) which terms RM3 uses."""
        share = self.frequencies.astype(np.float32) / np.float32(self.documents)
        # Java counts characters beyond the first 65,536 as two.
        sizes = self.names.str.len_chars() + self.names.str.count_matches("[\U00010000-\U0010ffff]")
        plain = self.names.str.contains("^[a-z0-9]{2,20}$")
        allowed = plain if self.plain else sizes.is_between(2, 20)
        return np.asarray(allowed.to_numpy() & (share <= _COMMON))


class Collection:
    """What a method can ask an index: its number of ``documents``, and statistics of a term."""

    def __init__(self, terms: Terms, known: dict[str, int]) -> None:
        self.documents, self._terms, self._known = terms.documents, terms, known

    def frequency(self, term: str) -> int:
        """How many documents contain a term."""
        if term not in self._known:
            self._known[term] = int(self._terms.lookup([term])[0])
        return self._known[term]

    def occurrences(self, term: str) -> int:
        """How often a term occurs in all documents."""
        return int(self._terms.occurrences([term])[0])


class FeedbackMethod(Kind):
    """A way to improve a query using the documents that it retrieves.

    The fields of a subclass are its hyperparameters; it has :meth:`expanded`, or :meth:`in_bulk`.
    """

    fb_docs: int = Field(default=10, ge=1)
    """Feedback documents."""

    @property
    def depth(self) -> int:
        """How many of the best documents to read."""
        return self.fb_docs

    def expanded(
        self, query: Mapping[str, int], documents: Sequence[FeedbackDoc], collection: Collection
    ) -> Weights:
        """The terms of the new query with their weights, 0 or more.

        Args:
            query: The query's terms, in order, with their frequencies.
            documents: The best documents, at most :attr:`depth`, best first.
        """
        raise NotImplementedError

    def in_bulk(
        self, queries: Sequence[Counter[str]], found: TermVectors, terms: Terms
    ) -> list[Weights]:
        """The new queries, terms by descending weight, ties alphabetical."""
        names = terms.names.gather(found.terms).to_list()
        pairs = iter(zip(names, found.tfs.tolist(), strict=True))
        documents = iter(
            FeedbackDoc(score, dict(islice(pairs, size)))
            for score, size in zip(found.scores.tolist(), found.sizes.tolist(), strict=True)
        )
        known = dict(zip(names, terms.frequencies[found.terms].tolist(), strict=True))
        collection = Collection(terms, known)
        expanded = []
        for query, count in zip(queries, found.counts.tolist(), strict=True):
            weights = self.expanded(query, list(islice(documents, count)), collection)
            meaning = "terms with weights of 0 or more"
            if not isinstance(weights, Mapping) or not all(isinstance(one, str) for one in weights):
                refuse(self, "expanded", weights, meaning)
            values = numbers(self, "expanded", [*weights.values()], len(weights), meaning=meaning)
            if (values < 0).any():
                refuse(self, "expanded", dict(weights), meaning)
            expanded.append(heaviest_first(weights))
        return expanded


def heaviest_first(query: Mapping[str, float]) -> Weights:
    return dict(sorted(query.items(), key=lambda one: (-one[1], one[0])))


class RM3(FeedbackMethod):
    """RM3.

    Abdul-Jaleel et al., "UMass at TREC 2004: Novelty and HARD", TREC 2004. Each feedback document
    contributes terms that match ``[a-z0-9]+`` (in English only, as with Anserini's
    ``-rm3.noTermFilter``), have 2 to 20 characters and occur in at most a tenth of all documents:
    its ``fb_terms`` most frequent, divided by their sum and multiplied by the document's score. The
    sums over documents are again cut to ``fb_terms`` and divided by their sum: the relevance model.
    The query's own terms, divided by their sum, and the relevance model are mixed with
    ``original_query_weight``. Everything is in single precision; divisors are summed in doubles.

    Both cuts break ties alphabetically. If every feedback document scores 0, Anserini divides by 0
    and fails; here they contribute nothing, nor do negative scores, which Lucene never produces.

    Example:
        >>> ad.search("pets", {"1": "cats"}, feedback=ad.RM3(fb_docs=5)).tag
        'bm25-rm3'
    """

    fb_terms: int = Field(default=10, ge=1)
    """Feedback terms."""
    original_query_weight: float = Field(default=0.5, ge=0, le=1)
    """Weight of the query itself, 0 to 1."""

    def in_bulk(
        self, queries: Sequence[Counter[str]], found: TermVectors, terms: Terms
    ) -> list[Weights]:
        rows = np.repeat(np.arange(len(found.sizes)), found.sizes)
        kept = terms.eligible[found.terms]
        kept[kept] = _places(rows[kept]) < self.fb_terms
        rows, own, values = rows[kept], found.terms[kept], found.tfs[kept].astype(np.float32)
        norms = np.bincount(rows, values, minlength=len(found.sizes)).astype(np.float32)
        values = values / norms[rows] * np.maximum(found.scores, 0).astype(np.float32)[rows]
        some = norms[rows] > _LEAST_NORM
        numbers = np.repeat(np.arange(len(queries)), found.counts)[rows[some]]
        pairs, places = np.unique((numbers << 32) + own[some], return_inverse=True)
        sums = np.zeros(len(pairs), dtype=np.float32)
        np.add.at(sums, places, values[some])

        numbers, own = pairs >> 32, pairs & 0xFFFFFFFF
        best = np.lexsort((terms.ranks[own], -sums, numbers))
        best = best[_places(numbers) < self.fb_terms]
        numbers, own, sums = numbers[best], own[best], sums[best]
        totals = np.bincount(numbers, sums, minlength=len(queries))[numbers]
        some = totals > 0
        numbers, sums, totals = numbers[some], sums[some], totals[some]
        names = terms.names.gather(own[some]).to_list()
        share_of_query = np.float32(self.original_query_weight)
        shares = (sums / totals).astype(np.float32).astype(np.float64)
        model = (1.0 - np.float64(share_of_query)) * shares
        doubles, floats = model.tolist(), model.astype(np.float32).tolist()
        ends = np.searchsorted(numbers, np.arange(len(queries) + 1)).tolist()
        made = []
        for query, (first, last) in zip(queries, pairwise(ends), strict=True):
            known = dict(zip(names[first:last], doubles[first:last], strict=True))
            weights = dict(zip(names[first:last], floats[first:last], strict=True))
            for term, count in query.items():
                share = float(share_of_query * np.float32(count / query.total()))
                weights[term] = float(np.float32(share + known.get(term, 0.0)))
            made.append(heaviest_first(weights))
        return made


def _places(rows: Array) -> Array:
    """The position of each row within its run of equal numbers."""
    counts = np.bincount(rows)
    return np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)


class Rocchio(FeedbackMethod):
    """Rocchio.

    Rocchio, "Relevance feedback in information retrieval", in Salton (ed.), The SMART Retrieval
    System, 1971. The query and each feedback document are vectors of term frequencies divided by
    their Euclidean norm; documents use only terms of 2 to 20 characters that occur in at most a
    tenth of all documents. The mean of the ``fb_docs`` best documents is cut to its ``fb_terms``
    largest values and divided by its norm. The new query is ``alpha * query + beta * mean``,
    without values of 0 or less. Everything is in single precision; norms are doubles. The cut
    breaks ties alphabetically.
    """

    fb_terms: int = Field(default=10, ge=1)
    """Feedback terms."""
    alpha: float = Field(default=1.0, ge=0)
    """Weight of the query."""
    beta: float = Field(default=0.75, ge=0)
    """Weight of the best documents."""

    def expanded(
        self, query: Mapping[str, int], documents: Sequence[FeedbackDoc], collection: Collection
    ) -> Weights:
        sums: dict[str, np.float32] = {}
        for document in documents:
            vector = {
                term: np.float32(frequency)
                for term, frequency in document.terms.items()
                if 2 <= len(term.encode("utf-16-be")) // 2 <= 20  # Java's characters
                and np.float32(collection.frequency(term)) / np.float32(collection.documents)
                <= _COMMON
            }
            norm = np.float32(_norm(vector))
            if norm > _LEAST_NORM:
                for term, value in vector.items():
                    sums[term] = sums.get(term, np.float32(0)) + value / norm
        mean = {term: value / np.float32(len(documents)) for term, value in sums.items()}
        best = sorted(mean.items(), key=lambda one: (-one[1], one[0].encode("utf-16-be")))
        parts = (
            (np.float32(self.alpha), {term: np.float32(count) for term, count in query.items()}),
            (np.float32(self.beta), dict(best[: self.fb_terms])),
        )
        weights: dict[str, np.float32] = {}
        for share, vector in parts:
            norm_of_all = _norm(vector)
            for term, value in vector.items():
                added = share * np.float32(float(value) / norm_of_all)
                weights[term] = weights.get(term, np.float32(0)) + added
        return {term: float(weight) for term, weight in weights.items() if weight > 0}


def _norm(vector: Mapping[str, np.float32]) -> float:
    return math.sqrt(sum(float(value) ** 2 for value in vector.values()))


class Bo1(FeedbackMethod):
    """Bo1.

    Amati, "Probability models for information retrieval based on divergence from randomness", PhD
    thesis, Glasgow, 2003, as in Terrier 5 without parameters. In N documents, a term that occurs F
    times has the mean f = F / N; occurring x times in the feedback documents, it weighs
    ``x * log2((1 + f) / f) + log2(1 + f)``. The ``fb_terms`` heaviest (or as many as the query has)
    are divided by the weight that the heaviest one would have if it occurred nowhere else, and
    added to the query's counts, which are divided by the largest. A term in one feedback document
    alone is left out, unless it is the query's or there is no other document. Ties: alphabetical.
    """

    fb_docs: int = Field(default=3, ge=1)
    """Feedback documents."""
    fb_terms: int = Field(default=10, ge=1)
    """Feedback terms."""

    def expanded(
        self, query: Mapping[str, int], documents: Sequence[FeedbackDoc], collection: Collection
    ) -> Weights:
        counts, holders = Counter[str](), Counter[str]()
        for document in documents:
            counts.update(document.terms)
            holders.update(document.terms.keys())

        def weight(count: int, occurrences: int) -> float:
            mean = occurrences / collection.documents
            return count * math.log2((1 + mean) / mean) + math.log2(1 + mean)

        weights = {
            term: weight(count, collection.occurrences(term))
            for term, count in counts.items()
            if holders[term] >= min(2, len(documents)) or term in query
        }
        largest = max(query.values(), default=1)
        expanded = {term: count / largest for term, count in query.items()}
        best = list(heaviest_first(weights).items())[: max(self.fb_terms, len(query))]
        for term, value in best:
            heaviest = counts[best[0][0]]
            expanded[term] = expanded.get(term, 0.0) + value / weight(heaviest, heaviest)
        return expanded
