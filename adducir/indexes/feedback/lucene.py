"""Feedback over an index of Lucene by any method: what Java reads, and what Python makes of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adducir.indexes.feedback.method import Document, FeedbackMethod
from adducir.indexes.feedback.weights import Weights, check_weights, heaviest_first


@dataclass(frozen=True)
class Found:
    """The documents that some queries found, and how many documents hold each term that occurs.

    Attributes:
        documents: How many documents the index has.
        has_plain_feedback: See :class:`.Collection`.
        frequencies: By term, how many documents hold it.
        terms: By Lucene's document number, the document's terms with their frequencies.
    """

    documents: int
    has_plain_feedback: bool
    frequencies: dict[str, int]
    terms: Mapping[int, Mapping[str, int]]

    @classmethod
    def read(
        cls,
        java: Any,
        queries: Sequence[Counter[str]],
        docs: Sequence[Sequence[int]],
        threads: int,
        *,
        documents: int,
        has_plain_feedback: bool,
    ) -> "Found":
        """Read documents' vectors.

        Args:
            java: A ``BulkSearcher``.
            docs: The documents of each query.
        """
        own = list({term: 0 for query in queries for term in query})
        found = list({doc: 0 for some in docs for doc in some})
        frequencies = dict(zip(own, java.frequencies(own), strict=True)) if own else {}
        terms = {}
        for doc, vector in zip(found, java.vectors(found, threads) if found else (), strict=True):
            lines = [line.split("\t") for line in vector.splitlines()]
            terms[doc] = {term: int(frequency) for term, frequency, _ in lines}
            frequencies.update((term, int(documents)) for term, _, documents in lines)
        return cls(documents, has_plain_feedback, frequencies, terms)

    def frequency(self, term: str) -> int:
        """How many documents hold a term; 0 for a term of neither a query nor a document."""
        return self.frequencies.get(term, 0)

    def expanded(
        self,
        queries: Sequence[Counter[str]],
        docs: Sequence[Sequence[int]],
        scores: Sequence[Sequence[float]],
        method: FeedbackMethod,
    ) -> list[Weights]:
        """The query that a method makes of each query, heaviest terms first.

        Args:
            docs: The documents of each query, best first.

        Raises:
            UsageError: The method gives a weight that is negative or not finite.
        """
        expanded = []
        for query, some, values in zip(queries, docs, scores, strict=True):
            found = [Document(one, self.terms[doc]) for doc, one in zip(some, values, strict=True)]
            weights = method.expanded(query, found, self)
            check_weights(weights)
            expanded.append(heaviest_first(weights))
        return expanded
