"""What a query may be, and queries as term numbers."""

from collections.abc import Mapping, Sequence

import numpy as np

from adducir.core.errors import UsageError
from adducir.core.texts import refuse_text
from adducir.indexes.arrays import Array
from adducir.indexes.candidates.vocabulary import Numbers, Vocabulary

Query = str | Sequence[str] | Mapping[str, float]
"""A text, analysed as the candidates are; ready terms, each as often as it counts; or ready terms
with their weights."""


def number_queries(vocabulary: Vocabulary, queries: Sequence[Query]) -> tuple[Numbers, Array]:
    """The term numbers of queries, in order and with repetitions, and the terms' weights.

    Raises:
        UsageError: One text in place of several; a text where candidates came as ready terms; a
            weight that is no number.
    """
    refuse_text(queries, "queries")
    if all(isinstance(query, str) for query in queries):
        return _even(vocabulary.of_texts([str(query) for query in queries], grow=False))
    if not any(isinstance(query, str | Mapping) for query in queries):
        return _even(vocabulary.of_terms([list(query) for query in queries], grow=False))
    numbered = [_number(vocabulary, query) for query in queries]
    starts = np.zeros(len(queries) + 1, dtype=np.int64)
    np.cumsum([len(weights) for _, weights in numbered], out=starts[1:])
    values = np.concatenate([numbers.values for numbers, _ in numbered])
    return Numbers(starts, values), np.concatenate([weights for _, weights in numbered])


def _even(numbers: Numbers) -> tuple[Numbers, Array]:
    return numbers, np.ones(len(numbers.values), dtype=np.float64)


def _number(vocabulary: Vocabulary, query: Query) -> tuple[Numbers, Array]:
    if isinstance(query, str):
        return _even(vocabulary.of_texts([query], grow=False))
    numbers, weights = _even(vocabulary.of_terms([list(query)], grow=False))
    if isinstance(query, Mapping):
        weights = np.array([float(weight) for weight in query.values()], dtype=np.float64)
        if not np.isfinite(weights).all():
            raise UsageError(f"the weights of a query must be finite numbers: {dict(query)}.")
    return numbers, weights
