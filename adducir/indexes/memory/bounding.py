"""The most that a term can add to a score."""

from typing import Any, NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.adding import F32, F64, ZERO, U, contribution
from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.inverting import LENGTHS
from adducir.indexes.memory.scoring import Formula, Postings

LEVELS = 8
_TOPS = np.array([1, 2, 3, 4, 6, 9, 16, np.inf], dtype=np.float32)
_LENGTHS = LENGTHS.astype(np.float32)


class Peaks(NamedTuple):
    """What bounds the contributions of each term, for any model.

    Attributes:
        most: (V,) float32: the term's greatest frequency; 0 until a query asks for the term.
        least: (V, LEVELS) uint8: the least length byte among the term's postings of each level of
            frequency (up to 1, 2, 3, 4, 6, 9, 16, and above); 255 for none.
    """

    most: Array
    least: np.ndarray[tuple[int, int], np.dtype[Any]]


@kernel
def look_at_peaks(postings: Postings, peaks: Peaks, term: Any) -> None:
    """Fill in the term's peaks. Two threads may do so at a time: they write the same."""
    docs, tfs, norms, tops = postings.docs, postings.tfs, postings.norms, _TOPS
    least = np.full(LEVELS, 255, dtype=np.uint8)
    most = ZERO
    for i in range(U(postings.offsets[term]), U(postings.offsets[term + 1])):
        tf = F32(tfs[i])
        level = U(0)
        while tf > tops[level]:
            level += U(1)
        doc = U(docs[i])
        if doc < U(postings.documents):
            least[level] = min(least[level], norms[doc])
        most = max(most, tf)
    for place in range(LEVELS):  # one array given to another would take seconds to compile
        peaks.least[term, place] = least[place]
    peaks.most[term] = most


@kernel
def bound(formula: Formula, weight: Any, mass: Any, most: Any, least: Array) -> float:
    """The most that a posting of a term adds, from the term's peaks."""
    greatest = 0.0
    for level in range(LEVELS):
        norm = U(least[level])
        if norm < U(255):
            tf, part = min(_TOPS[level], most), formula.slope * _LENGTHS[norm]
            value = contribution(
                formula.kind, formula.constant, weight, mass, formula.factors[norm], tf, part
            )
            greatest = max(greatest, F64(value))
    return greatest * (1.0 + 1e-6)
