"""From documents to postings, lengths and vectors: called by :mod:`.build` per block."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.compiled import inner, kernel

CHUNK_POSTINGS = 1 << 22
"""How many postings are taken into memory at a time."""
_MOST = (1 << 31) - 1


@dataclass(frozen=True, eq=False)
class Spooled:
    """All documents on disk as they arrived, and the final numbers of terms and documents."""

    order: Array  # (N,) rows of the documents with terms, by number
    starts: Array  # (rows + 1,) where each row's terms begin
    terms: Array  # provisional numbers
    tfs: Array
    ranks: Array  # (provisional numbers,) int32: alphabetical ranks
    renumber: Array  # (provisional numbers,) int32: final numbers
    offsets: Array  # (V + 1,) int64: where the postings of each term begin
    largest: float  # frequency
    is_whole: bool  # whether all frequencies are integers

    @cached_property
    def ends(self) -> Array:
        """(N + 1,) where each document's terms begin, by number."""
        sizes = np.diff(self.starts)[self.order]
        ends: Array = np.concatenate([[0], np.cumsum(sizes)])
        return ends

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Documents in their final order, about :data:`CHUNK_POSTINGS` at a time."""
        steps = np.arange(CHUNK_POSTINGS, self.ends[-1], CHUNK_POSTINGS)
        cuts = [0, *np.searchsorted(self.ends, steps), len(self.order)]
        yield from pairwise(np.unique(cuts).tolist())


@kernel
def distinct(starts: Array, tokens: Array, counts: Array) -> tuple[Array, Array, Array]:
    """Starts, distinct terms in order of appearance and frequencies, for starts and tokens.

    ``counts`` are (V,) int32 zeros, left zero.
    """
    terms, tfs = np.empty(len(tokens), dtype=np.int32), np.empty(len(tokens), dtype=np.int32)
    begins, place = np.zeros(len(starts), dtype=np.int64), 0
    for document in range(len(starts) - 1):
        found = place
        for i in range(starts[document], starts[document + 1]):
            term = tokens[i]
            if counts[term] == 0:
                terms[found] = term
                found += 1
            counts[term] += 1
        for i in range(place, found):
            tfs[i] = counts[terms[i]]
            counts[terms[i]] = 0
        place = found
        begins[document + 1] = place
    return begins, terms[:place], tfs[:place]


@inner
def _sort(keys: Array, places: Array, size: int) -> None:
    """Shell sort of the first distinct keys; NumPy's ``argsort`` takes seconds to compile."""
    gap = 1
    while gap < size // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            key, place = keys[i], places[i]
            j = i
            while j >= gap and keys[j - gap] > key:
                keys[j], places[j] = keys[j - gap], places[j - gap]
                j -= gap
            keys[j], places[j] = key, place
        gap //= 3


@inner
def gather(
    starts: Array,
    terms: Array,
    tfs: Array,
    order: Array,
    ranks: Array,
    renumber: Array,
    out_terms: Array,
    out_tfs: Array,
    keys: Array,
    places: Array,
) -> None:
    """Take documents in ``order`` with renumbered terms: most frequent first, then by ``ranks``.

    ``keys``, int64, and ``places``, int32, have room for a document's terms.
    """
    place = 0
    for document in order:
        first, size = starts[document], starts[document + 1] - starts[document]
        for i in range(size):
            keys[i] = ((_MOST - np.int64(tfs[first + i])) << 32) | ranks[terms[first + i]]
            places[i] = i
        _sort(keys, places, size)
        for i in range(size):
            n = first + places[i]
            out_terms[place], out_tfs[place] = renumber[terms[n]], tfs[n]
            place += 1


@inner
def scatter(
    first_document: int,
    starts: Array,
    terms: Array,
    tfs: Array,
    cursors: Array,
    docs: Array,
    out_tfs: Array,
    lengths: Array,
    collection: Array,
) -> None:
    """Append a block's documents to the postings, ``lengths`` (N,) and ``collection`` (V,)."""
    for row in range(len(starts) - 1):
        for i in range(starts[row], starts[row + 1]):
            term = terms[i]
            place = cursors[term]
            docs[place] = first_document + row
            out_tfs[place] = tfs[i]
            cursors[term] = place + 1
            lengths[first_document + row] += tfs[i]
            collection[term] += tfs[i]


@inner
def bound(
    offsets: Array, docs: Array, tfs: Array, norms: Array, levels: Array, most: Array, least: Array
) -> None:
    """Write each term's largest frequency, and its smallest norm at each of L frequency levels.

    ``most`` (V,) must be zeros, ``least`` (V * L,) all 255.
    """
    for term in range(len(offsets) - 1):
        for i in range(offsets[term], offsets[term + 1]):
            level = 0
            while tfs[i] > levels[level]:
                level += 1
            place = term * len(levels) + level
            least[place] = min(least[place], norms[docs[i]])
            most[term] = max(most[term], np.float32(tfs[i]))


@inner
def count_pairs(docs: Array, tfs: Array, norms: Array, counts: Array) -> None:
    """Count the postings of each frequency below 256 and norm in ``counts``, (65536,) int64."""
    for i in range(len(docs)):
        if tfs[i] < 256:
            counts[(np.int64(tfs[i]) << 8) | norms[docs[i]]] += 1


@inner
def encode(docs: Array, tfs: Array, norms: Array, codes: Array, out: Array) -> None:
    """Write each posting's code to uint8 ``out``: of ``codes``, (65536,) uint8; 255 for none."""
    for i in range(len(docs)):
        pair = (np.int64(tfs[i]) << 8) | norms[docs[i]]
        out[i] = codes[pair] if pair < len(codes) else 255


@inner
def mark(offsets: Array, docs: Array, words: int, bits: Array, before: Array) -> None:
    """Write which documents contain the first terms, ``words`` each, as many as fit.

    ``bits``: a bit per document; ``before``: how many documents before the word contain it.
    """
    for term in range(len(bits) // words):
        row = term * words
        for i in range(offsets[term], offsets[term + 1]):
            bits[row + (docs[i] >> 6)] |= np.uint64(1) << np.uint64(docs[i] & 63)
        i = offsets[term]
        for word in range(words):
            before[row + word] = i - offsets[term]
            while i < offsets[term + 1] and docs[i] >> 6 == word:
                i += 1


@inner
def localise(ids: Array, rows: Array, terms: Array) -> int:
    """Number terms in order of appearance, and write each token's number; returns their count."""
    count = 0
    for i in range(len(ids)):
        row = rows[ids[i]]
        if row < 0:
            row = count
            rows[ids[i]] = row
            count += 1
        terms[i] = row
    return count
