"""Expanding queries over a memory index, by any method of feedback."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from adducir.indexes.arrays import Array, damaged
from adducir.indexes.feedback import (
    RM3,
    Document,
    FeedbackMethod,
    Weights,
    check_weights,
    heaviest_first,
)
from adducir.indexes.memory.files import Totals
from adducir.indexes.memory.forward import Vectors, terms_of
from adducir.indexes.memory.rm3 import CompiledRM3
from adducir.indexes.memory.searching import Ranked, Terms


class Feedback:
    """Expands queries from documents that they found.

    Args:
        totals: The index.
        vectors: Gives the terms of documents, by their numbers.
        documents: How many documents Lucene would count: those with text, be it only stop words.
        has_plain_feedback: See :class:`adducir.indexes.feedback.Collection`.
    """

    def __init__(
        self,
        totals: Totals,
        vectors: Callable[[Array], Vectors],
        documents: int,
        has_plain_feedback: bool,
    ) -> None:
        self._totals = totals
        self._vectors = vectors
        self.documents = documents
        self.has_plain_feedback = has_plain_feedback

    def frequency(self, term: str) -> int:
        """How many documents hold a term; 0 for a term that is not in the index."""
        number = self._totals.numbers.get(term)
        return 0 if number is None else int(self._frequencies[number])

    def terms(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod, threads: int
    ) -> Terms:
        """The expanded queries, without terms that are not in the index.

        Args:
            found: The documents of each query, best first.

        Raises:
            UsageError: The method gives a weight that is negative or not finite.
        """
        if isinstance(method, RM3):
            shares = Terms.of(_as_shares(queries), self._totals.numbers)
            return self._rm3.expanded(shares, found, self._vectors(found.docs), method, threads)
        return Terms.of(self._expanded(queries, found, method), self._totals.numbers)

    def weights(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod, threads: int
    ) -> list[Weights]:
        """The expanded queries, heaviest terms first; see :meth:`terms`."""
        if isinstance(method, RM3):
            shares = _as_shares(queries)
            terms = Terms.of(shares, self._totals.numbers)
            vectors = self._vectors(found.docs)
            expanded = self._rm3.expanded(terms, found, vectors, method, threads)
            made = self._named(expanded, shares, method)
        else:
            made = list(self._expanded(queries, found, method))
        return [heaviest_first(one) for one in made]

    @cached_property
    def _frequencies(self) -> Array:
        return np.diff(np.asarray(self._totals.offsets))

    @cached_property
    def _rm3(self) -> CompiledRM3:
        return CompiledRM3(self._totals, self.documents, plain=self.has_plain_feedback)

    def _expanded(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod
    ) -> Iterator[Weights]:
        starts, vectors = found.starts, self._vectors(found.docs)
        for query, first, last in zip(queries, starts[:-1], starts[1:], strict=True):
            documents = [
                self._document(vectors, place, found.scores[place]) for place in range(first, last)
            ]
            weights = method.expanded(query, documents, self)
            check_weights(weights)
            yield weights

    def _document(self, vectors: Vectors, place: int, score: float) -> Document:
        row = vectors.rows[place]
        first, last = vectors.starts[row : row + 2]
        terms, frequencies = terms_of(vectors.code, int(first), int(last))
        try:
            names = [self._totals.terms[term] for term in terms.tolist()]
        except IndexError as error:
            raise damaged(self._totals.folder / "forward.bytes.npy") from error
        return Document(float(score), dict(zip(names, frequencies.tolist(), strict=True)))

    def _named(
        self, expanded: Terms, own: Sequence[Mapping[str, float]], rm3: RM3
    ) -> list[Weights]:
        """Terms and weights by name, with the query's terms that are not in the index."""
        names, numbers = self._totals.terms, self._totals.numbers
        share = np.float32(rm3.original_query_weight)
        queries = []
        for query, shares in enumerate(own):
            span = slice(expanded.starts[query], expanded.starts[query + 1])
            weights = {
                names[number]: float(weight)
                for number, weight in zip(
                    expanded.numbers[span], expanded.weights[span], strict=True
                )
            }
            for term, weight in shares.items():
                if term not in numbers:
                    weights[term] = float(share * np.float32(weight))
            queries.append(weights)
        return queries


def _as_shares(counts: Sequence[Counter[str]]) -> list[Weights]:
    return [
        {term: count / total for term, count in query.items()}
        for query in counts
        for total in [query.total()]
    ]
