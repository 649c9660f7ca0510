"""What every posting adds to a score under a model, computed once a model and set."""

from typing import NamedTuple

import numpy as np

from adducir.core.errors import UsageError
from adducir.indexes.arrays import Array
from adducir.indexes.candidates.collection import Collection, own_factors
from adducir.indexes.candidates.postings import Postings
from adducir.indexes.memory.compiled import HAS_NUMBA
from adducir.indexes.models import Model

_CHUNK = 1 << 15  # postings whose intermediate arrays stay in the processor's cache
_DENSE_SHARE = 4
_DENSE_DOCUMENTS = 128


class Impacts(NamedTuple):
    """Postings with a model applied, in a shape that compiled code takes.

    A row that a quarter or more of a large set's candidates hold is kept once more as a plain
    array over all candidates: adding that is several times faster than following postings.

    Attributes:
        documents: D, the candidates.
        offsets: (R + 1,) int64: where each row's postings begin.
        docs: (P,) uint32: candidates.
        values: (P,) float64: what each posting adds.
        background: (R,) float64: what a row adds to candidates that lack its term; empty where
            that is nothing for all rows.
        dense_starts: (R,) int64: where a row begins in ``dense``, or -1.
        dense: float64: rows as plain arrays, background included.
    """

    documents: int
    offsets: Array
    docs: Array
    values: Array
    background: Array
    dense_starts: Array
    dense: Array


def apply(postings: Postings, model: Model, collection: Collection | None = None) -> Impacts:
    """Compute what every posting adds.

    Args:
        postings: The set.
        model: The model.
        collection: What the set is part of; None for a collection by itself.

    Raises:
        UsageError: There is no such model, or only Lucene has it.
    """
    if not isinstance(model, Model) or "memory" not in model.engines():
        raise UsageError(f"candidate sets cannot be ranked with {model!r}.")
    if collection is None:
        terms, factors = own_factors(postings, model)
    else:
        terms, factors = collection.factors(postings, model)
    of_postings = np.repeat(terms, np.diff(postings.offsets))
    values = np.empty(len(postings.docs), dtype=np.float64)
    for low in range(0, len(values), _CHUNK):
        part = slice(low, low + _CHUNK)
        docs = postings.docs[part]
        values[part] = model.impacts(of_postings[part], postings.tfs[part], factors[docs])
    background = model.background(terms)
    if background is None:
        background = np.empty(0, dtype=np.float64)
    dense = _densify(postings, values, background)
    return Impacts(
        len(postings.lengths), postings.offsets, postings.docs, values, background, *dense
    )


def _densify(postings: Postings, values: Array, background: Array) -> tuple[Array, Array]:
    """The starts of dense rows and the rows themselves; see :class:`Impacts`."""
    size, frequencies = len(postings.lengths), np.diff(postings.offsets)
    starts = np.full(len(frequencies), -1, dtype=np.int64)
    if not HAS_NUMBA or size < _DENSE_DOCUMENTS:
        return starts, np.empty(0, dtype=np.float64)
    rows = np.flatnonzero(frequencies * _DENSE_SHARE >= size)
    starts[rows] = np.arange(len(rows)) * size
    dense = np.zeros((len(rows), size), dtype=np.float64)
    for here, row in zip(dense, rows, strict=True):
        if len(background):
            here[:] = background[row]
        span = slice(postings.offsets[row], postings.offsets[row + 1])
        here[postings.docs[span]] = values[span]
    return starts, dense.ravel()
