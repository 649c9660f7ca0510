"""What every posting adds to a score under a model, computed once a model and set."""

from typing import NamedTuple

import numpy as np

from adducir.indexes.candidates.postings import Postings
from adducir.indexes.candidates.variants import (
    CandidateModel,
    Statistics,
    Weighting,
    weighting_of,
)
from adducir.indexes.memory.compiled import HAS_NUMBA
from adducir.indexes.memory.files import Array

_CHUNK = 1 << 15  # postings whose intermediate arrays stay in the processor's cache
_DENSE_SHARE = 4
_DENSE_DOCUMENTS = 128


class Impacts(NamedTuple):
    """Postings with a model applied, in a shape that compiled code takes.

    A row that a quarter or more of a large set's candidates hold is kept once more as a plain
    array over all candidates: adding that is several times faster than following postings.

    Attributes:
        set_docs: (S + 1,) int64: each set's first candidate.
        offsets: (R + 1,) int64: where each row's postings begin.
        docs: (P,) uint32: candidates, counted from their set's first.
        values: (P,) float64: what each posting adds.
        background: (R,) float64: what a row adds to candidates that lack its term; empty where
            that is nothing for all rows.
        dense_starts: (R,) int64: where a row begins in ``dense``, or -1.
        dense: float64: rows as plain arrays, background included.
    """

    set_docs: Array
    offsets: Array
    docs: Array
    values: Array
    background: Array
    dense_starts: Array
    dense: Array


def apply(postings: Postings, model: CandidateModel) -> Impacts:
    """Compute what every posting adds.

    Raises:
        UsageError: There is no such model.
    """
    weighting = weighting_of(model)
    values = np.empty(len(postings.docs), dtype=np.float64)
    background = np.zeros(len(postings.row_terms), dtype=np.float64)
    everywhere = False
    for one in range(postings.sets):
        first, last = postings.set_rows[one : one + 2]
        terms = _weigh_set(postings, one, weighting, values)
        found = weighting.background(terms)
        if found is not None:
            everywhere = True
            background[first:last] = found
    starts, dense = _densify(postings, values, background)
    return Impacts(
        set_docs=postings.set_docs,
        offsets=postings.offsets,
        docs=postings.docs,
        values=values,
        background=background if everywhere else background[:0],
        dense_starts=starts,
        dense=dense,
    )


def _weigh_set(postings: Postings, one: int, weighting: Weighting, values: Array) -> Array:
    """Fill in the values of a set; returns its terms' factors."""
    first, last = postings.set_rows[one : one + 2]
    lengths = postings.lengths[slice(*postings.set_docs[one : one + 2])]
    begin, end = int(postings.offsets[first]), int(postings.offsets[last])
    frequencies = postings.frequencies[first:last]
    statistics = Statistics(
        documents=len(lengths),
        filled=int(np.count_nonzero(lengths)),
        tokens=int(lengths.sum()),
        frequencies=frequencies,
        occurrences=_sums(postings.tfs[begin:end], postings.offsets[first:last] - begin),
        lengths=lengths,
    )
    terms = weighting.term_factors(statistics)
    factors = weighting.length_factors(statistics)
    of_postings = np.repeat(terms, frequencies)
    for low in range(begin, end, _CHUNK):
        high = min(low + _CHUNK, end)
        values[low:high] = weighting.impacts(
            of_postings[low - begin : high - begin],
            postings.tfs[low:high],
            factors[postings.docs[low:high]],
        )
    return terms


def _densify(postings: Postings, values: Array, background: Array) -> tuple[Array, Array]:
    """The starts of dense rows and the rows themselves; see :class:`Impacts`."""
    starts = np.full(len(postings.row_terms), -1, dtype=np.int64)
    if not HAS_NUMBA:
        return starts, np.empty(0, dtype=np.float64)
    sizes = np.repeat(np.diff(postings.set_docs), np.diff(postings.set_rows))
    frequent = (sizes >= _DENSE_DOCUMENTS) & (postings.frequencies * _DENSE_SHARE >= sizes)
    rows = np.flatnonzero(frequent)
    ends = np.cumsum(sizes[rows])
    starts[rows] = ends - sizes[rows]
    dense = np.empty(int(ends[-1]) if len(rows) else 0, dtype=np.float64)
    for row, end in zip(rows, ends, strict=True):
        here = dense[starts[row] : end]
        here[:] = background[row]
        span = slice(postings.offsets[row], postings.offsets[row + 1])
        here[postings.docs[span]] = values[span]
    return starts, dense


def _sums(values: Array, starts: Array) -> Array:
    """Sums of the parts that begin at ``starts``; none is empty."""
    if not len(starts):
        return np.zeros(0, dtype=np.int64)
    sums: Array = np.add.reduceat(values, starts, dtype=np.int64)
    return sums
