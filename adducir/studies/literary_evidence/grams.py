"""Pairs of sentences that may be alike: those that share runs of characters.

Comparing all sentences of a novel with all of a book of criticism costs their product. A pair that
QRatio rates 80 or higher has at least four fifths of its characters in common, in order; in real
text these come in runs. So only pairs are compared that share a run of 6 bytes for every 30
characters of the shorter, and two at least (two alone where less than 80 is asked for), where a run
that too many pairs share is no evidence. Lengths bound QRatio strictly: with LCS <= the shorter
length, ``alike`` percent are out of reach unless shorter / longer >= alike / (200 - alike), 2/3 for
80.

The length bound loses nothing. The runs can: a sentence with a change in every few letters, or
made of common words alone. docs/quotations.md has what they lost when it was measured.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RUN = 6
"""Bytes of a run; at most 8, so that a run is one 64-bit number."""
SHARED = 2
"""Different runs that a pair must share, at least."""
SHARED_PART = 30
"""Characters of the shorter one for each of which a pair must share a run."""
SHARED_FROM = 80.0
"""The QRatio from which that holds: pairs less alike share fewer runs."""
MOST_PAIRS = 3000
"""A run that would pair more sentences than this is ignored, which bounds the work: it is at
most this many pairs a run, and so grows in proportion to the text, not to its square."""

_AT_ONCE = 1 << 17


class Grams(NamedTuple):
    """The runs of some sentences.

    Attributes:
        runs: (R,) uint64, ascending, each once.
        starts: (R + 1,) int64: where the sentences that have a run begin in ``places``.
        places: int64: the sentences that have each run, ascending.
        lengths: Characters of each sentence, int64.
    """

    runs: NDArray[np.uint64]
    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    lengths: NDArray[np.int64]


def grams_of(sentences: Sequence[str]) -> Grams:
    """All runs of :data:`RUN` bytes in each normalised sentence, once a sentence."""
    encoded = [sentence.encode("utf-8", "surrogatepass") for sentence in sentences]
    sizes = np.array([len(data) for data in encoded], dtype=np.int64)
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    total = int(sizes.sum())
    data = np.frombuffer(b"".join(encoded) + bytes(8), dtype=np.uint8)
    eights = np.lib.stride_tricks.sliding_window_view(data, 8)[:total]
    runs = np.ascontiguousarray(eights).view("<u8").ravel() & np.uint64((1 << 8 * RUN) - 1)
    places = np.repeat(np.arange(len(sentences), dtype=np.int64), sizes)
    inside = np.arange(total) + RUN <= np.repeat(np.cumsum(sizes), sizes)
    runs, places = runs[inside], places[inside]
    order = np.argsort(runs, kind="stable")
    runs, places = runs[order], places[order]
    first = np.ones(len(runs), dtype=bool)
    first[1:] = (runs[1:] != runs[:-1]) | (places[1:] != places[:-1])
    runs, places = runs[first].astype(np.uint64), places[first]
    distinct, starts = np.unique(runs, return_index=True)
    return Grams(distinct, np.append(starts, len(runs)), places, lengths)


def candidate_pairs(
    sought: Grams, present: Grams, alike: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs that share runs and whose lengths allow a QRatio of ``alike``.

    Returns:
        The places in ``sought`` and in ``present``, in ascending order of pairs.
    """
    pairs, shared = np.unique(_shared(sought, present), return_counts=True)
    pairs, shared = pairs[shared >= SHARED], shared[shared >= SHARED]
    left, right = np.divmod(pairs, max(1, len(present.lengths)))
    one, other = sought.lengths[left], present.lengths[right]
    shorter, longer = np.minimum(one, other), np.maximum(one, other)
    fits = shorter * (200 - alike) >= longer * alike
    if alike >= SHARED_FROM:
        fits &= shared * SHARED_PART >= shorter
    return left[fits], right[fits]


def _shared(sought: Grams, present: Grams) -> NDArray[np.int64]:
    """Each pair, as place in ``sought`` x sentences of ``present`` + place, once a shared run."""
    _, ours, theirs = np.intersect1d(
        sought.runs, present.runs, assume_unique=True, return_indices=True
    )
    low, others = sought.starts[ours], np.diff(sought.starts)[ours]
    starts, counts = present.starts[theirs], np.diff(present.starts)[theirs]
    used = others * counts <= MOST_PAIRS
    low, others, starts, counts = low[used], others[used], starts[used], counts[used]
    ends = np.cumsum(others * counts)
    pairs = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.int64)
    # In pieces: fresh memory for arrays of all pairs would cost more than the work on them.
    cuts = np.searchsorted(ends, np.arange(_AT_ONCE, len(pairs), _AT_ONCE))
    bounds = np.unique(np.concatenate(([0], cuts + 1, [len(ends)])))
    for first, last in pairwise(bounds.tolist()):
        sizes = (others * counts)[first:last]
        begin, end = int(ends[first] - sizes[0]), int(ends[last - 1])
        run = np.repeat(np.arange(first, last), sizes)
        within = np.arange(begin, end) - np.repeat(ends[first:last] - sizes, sizes)
        left = sought.places[low[run] + within // counts[run]]
        right = present.places[starts[run] + within % counts[run]]
        pairs[begin:end] = left * len(present.lengths) + right
    return pairs
