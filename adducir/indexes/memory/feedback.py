"""Expanding queries over a memory index, by any method of feedback."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from adducir.indexes.arrays import Array, damaged
from adducir.indexes.feedback.method import Document, FeedbackMethod
from adducir.indexes.feedback.rm3 import RM3
from adducir.indexes.feedback.weights import Weights, check_weights, heaviest_first
from adducir.indexes.memory.files import Arrays
from adducir.indexes.memory.forward import terms_of
from adducir.indexes.memory.rm3 import CompiledRM3
from adducir.indexes.memory.searching import Ranked, Terms


class Feedback:
    """Expands queries from documents that they found.

    Args:
        arrays: The index, with documents' terms.
        documents: How many documents Lucene would count: those with text, be it only stop words.
        has_plain_feedback: See :class:`adducir.indexes.feedback.Collection`.
    """

    def __init__(self, arrays: Arrays, documents: int, has_plain_feedback: bool) -> None:
        self._arrays = arrays
        self.documents = documents
        self.has_plain_feedback = has_plain_feedback

    def frequency(self, term: str) -> int:
        """How many documents hold a term; 0 for a term that is not in the index."""
        number = self._arrays.numbers.get(term)
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
            shares = Terms.of(_as_shares(queries), self._arrays.numbers)
            return self._rm3.expanded(shares, found, method, threads)
        return Terms.of(self._expanded(queries, found, method), self._arrays.numbers)

    def weights(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod, threads: int
    ) -> list[Weights]:
        """The expanded queries, heaviest terms first; see :meth:`terms`."""
        if isinstance(method, RM3):
            shares = _as_shares(queries)
            terms = Terms.of(shares, self._arrays.numbers)
            expanded = self._rm3.expanded(terms, found, method, threads)
            made = self._named(expanded, shares, method)
        else:
            made = list(self._expanded(queries, found, method))
        return [heaviest_first(one) for one in made]

    @cached_property
    def _frequencies(self) -> Array:
        return np.diff(np.asarray(self._arrays.offsets))

    @cached_property
    def _rm3(self) -> CompiledRM3:
        return CompiledRM3(self._arrays, self.documents, plain=self.has_plain_feedback)

    def _expanded(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod
    ) -> Iterator[Weights]:
        starts = found.starts
        for query, first, last in zip(queries, starts[:-1], starts[1:], strict=True):
            documents = [
                self._document(int(doc), found.scores[place])
                for place, doc in enumerate(found.docs[first:last], first)
            ]
            weights = method.expanded(query, documents, self)
            check_weights(weights)
            yield weights

    def _document(self, number: int, score: float) -> Document:
        arrays = self._arrays
        first, last = arrays.forward_offsets[number : number + 2]
        terms, frequencies = terms_of(np.asarray(arrays.forward), int(first), int(last))
        try:
            names = [arrays.terms[term] for term in terms.tolist()]
        except IndexError as error:
            raise damaged(arrays.folder / "forward.bytes.npy") from error
        return Document(float(score), dict(zip(names, frequencies.tolist(), strict=True)))

    def _named(
        self, expanded: Terms, own: Sequence[Mapping[str, float]], rm3: RM3
    ) -> list[Weights]:
        """Terms and weights by name, with the query's terms that are not in the index."""
        names, numbers = self._arrays.terms, self._arrays.numbers
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
