"""The statistics of a collection whose candidates are held part by part."""

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.candidates.postings import Postings
from adducir.indexes.models import Model, Statistics


class Collection:
    """Counts over all parts of a collection.

    Term numbers must be those of one vocabulary, so that parts can be put together.
    """

    def __init__(self) -> None:
        self._documents = self._filled = self._tokens = 0
        self._frequencies = np.zeros(0, dtype=np.int64)
        self._occurrences = np.zeros(0, dtype=np.int64)
        self._factors: tuple[Model, Array] | None = None

    def add(self, postings: Postings) -> None:
        """Count a part."""
        numbers, rows = _numbers(postings)
        more = max(0, len(postings.rows) - len(self._frequencies))
        self._frequencies = np.pad(self._frequencies, (0, more))
        self._occurrences = np.pad(self._occurrences, (0, more))
        self._frequencies[numbers] += np.diff(postings.offsets)[rows]
        self._occurrences[numbers] += postings.collection[rows]
        self._documents += len(postings.lengths)
        self._filled += int(np.count_nonzero(postings.lengths))
        self._tokens += int(postings.lengths.sum())

    def factors(self, postings: Postings, model: Model) -> tuple[Array, Array]:
        """A model's factors of a part's terms and candidates, in this collection."""
        numbers, rows = _numbers(postings)
        terms = np.empty(len(numbers), dtype=np.float64)
        terms[rows] = self._terms(model)[numbers]
        lengths = self._statistics(numbers[np.argsort(rows)], postings.lengths)
        return terms, model.length_factors(lengths)

    def _terms(self, model: Model) -> Array:
        """Factors by term number: a model may look at all terms for that of one."""
        if self._factors is None or self._factors[0] != model:
            held = np.flatnonzero(self._frequencies)
            found = np.zeros(len(self._frequencies), dtype=np.float64)
            none = np.zeros(0, dtype=np.int64)
            found[held] = model.term_factors(self._statistics(held, none))
            self._factors = model, found
        return self._factors[1]

    def _statistics(self, numbers: Array, lengths: Array) -> Statistics:
        return Statistics(
            documents=self._documents,
            filled=self._filled,
            tokens=self._tokens,
            frequencies=self._frequencies[numbers],
            occurrences=self._occurrences[numbers],
            lengths=lengths,
        )


def _numbers(postings: Postings) -> tuple[Array, Array]:
    """The numbers of a part's terms, ascending, and the row of each."""
    numbers = np.flatnonzero(postings.rows >= 0)
    return numbers, postings.rows[numbers]


def own_factors(postings: Postings, model: Model) -> tuple[Array, Array]:
    """A model's factors of the terms and candidates of a set that is a collection by itself."""
    lengths = postings.lengths
    statistics = Statistics(
        documents=len(lengths),
        filled=int(np.count_nonzero(lengths)),
        tokens=int(lengths.sum()),
        frequencies=np.diff(postings.offsets),
        occurrences=postings.collection,
        lengths=lengths,
    )
    return model.term_factors(statistics), model.length_factors(statistics)
