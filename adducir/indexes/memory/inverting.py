"""Documents to postings, lengths and vectors: what :mod:`.build` calls for each block of them.

A document's vector is a code of few bytes. Per document, its distinct terms by ascending number:
the difference to the one before (to -1 at first) less one, times two, plus one where the frequency
is above one; that frequency follows then. Each number is a varint: seven bits a byte, the lowest
first, the eighth bit set on all but the last byte (LEB128). Terms of low number are the frequent
ones, so most differences take one byte. Weighted documents have no such form: their frequencies are
not whole.
"""

from typing import Any

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.compiled import kernel

LONGEST_CODE = 10
"""Bytes that a term and its frequency take in a vector, at most."""


@kernel
def distinct(
    begins: Array,
    ends: Array,
    tokens: Array,
    counts: Array,
    seen: Array,
    out_terms: Array,
    out_tfs: Array,
    out_starts: Array,
) -> None:
    """Reduce each document's tokens to distinct terms with frequencies.

    Args:
        begins: (n,) where each document's tokens begin.
        ends: (n,) where they end.
        tokens: Term numbers.
        counts: (V,) int32 zeros, left as zeros: room to count in.
        seen: (longest document,) int32: room for a document's terms.
        out_terms: int32, written: distinct terms of each document, in order of appearance.
        out_tfs: int32, written: their frequencies.
        out_starts: (n + 1,) int64, written: where each document begins in ``out_terms``.
    """
    place = 0
    out_starts[0] = 0
    for document in range(len(begins)):
        found = 0
        for i in range(begins[document], ends[document]):
            term = tokens[i]
            if counts[term] == 0:
                seen[found] = term
                found += 1
            counts[term] += 1
        for i in range(found):
            term = seen[i]
            out_terms[place] = term
            out_tfs[place] = counts[term]
            counts[term] = 0
            place += 1
        out_starts[document + 1] = place


@kernel
def gather(
    starts: Array,
    terms: Array,
    tfs: Array,
    order: Array,
    renumber: Array,
    out_terms: Array,
    out_tfs: Array,
    out_starts: Array,
) -> None:
    """Take documents in ``order``, with renumbered terms, each document's terms ascending."""
    place = 0
    out_starts[0] = 0
    for row in range(len(order)):
        first, last = starts[order[row]], starts[order[row] + 1]
        size = last - first
        keys = np.empty(size, dtype=np.int64)  # a term, and where it is in the document
        for i in range(size):
            keys[i] = (np.int64(renumber[terms[first + i]]) << 32) | i
        keys.sort()
        for i in range(size):
            out_terms[place + i] = keys[i] >> 32
            out_tfs[place + i] = tfs[first + (keys[i] & 0xFFFFFFFF)]
        place += size
        out_starts[row + 1] = place


@kernel
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
    """Append the documents of a block to the postings; ``cursors`` (V,) move on.

    Their frequencies are added to their ``lengths`` (N,) and to the terms' ``collection`` (V,).
    """
    for row in range(len(starts) - 1):
        for i in range(starts[row], starts[row + 1]):
            term = terms[i]
            place = cursors[term]
            docs[place] = first_document + row
            out_tfs[place] = tfs[i]
            cursors[term] = place + 1
            lengths[first_document + row] += tfs[i]
            collection[term] += tfs[i]


@kernel
def bound(
    offsets: Array, docs: Array, tfs: Array, norms: Array, levels: Array, most: Array, least: Array
) -> None:
    """Write each term's greatest frequency, and its least norm at each level of frequency.

    Args:
        levels: (L,) the greatest frequency of each.
        most: (V,) float32 zeros, written.
        least: (V * L,) uint8, all 255, written.
    """
    for term in range(len(offsets) - 1):
        for i in range(offsets[term], offsets[term + 1]):
            level = 0
            while tfs[i] > levels[level]:
                level += 1
            place = term * len(levels) + level
            least[place] = min(least[place], norms[docs[i]])
            most[term] = max(most[term], np.float32(tfs[i]))


@kernel
def localise(first: int, last: int, ids: Array, rows: Array, terms: Array) -> int:
    """Number terms as they appear, and write each token's number; returns how many there are."""
    count = 0
    for i in range(first, last):
        row = rows[ids[i]]
        if row < 0:
            row = count
            rows[ids[i]] = row
            count += 1
        terms[i] = row
    return count


@kernel
def _put(value: Any, out: Array, place: int) -> int:
    """Write one varint at ``place``; returns the place after it."""
    while value >= 128:
        out[place] = (value & 127) | 128
        value >>= 7
        place += 1
    out[place] = value
    return place + 1


@kernel
def encode(starts: Array, terms: Array, tfs: Array, out: Array, offsets: Array) -> None:
    """Encode documents.

    Args:
        starts: (n + 1,) where each document's terms begin in ``terms``.
        terms: Term numbers, ascending within a document.
        out: (at least 10 bytes a term,) uint8, written from 0.
        offsets: (n + 1,) int64, written: where each document begins in ``out``.
    """
    place = 0
    offsets[0] = 0
    for document in range(len(starts) - 1):
        before = -1
        for i in range(starts[document], starts[document + 1]):
            step = np.int64(terms[i]) - before - 1
            before = terms[i]
            if tfs[i] == 1:
                place = _put(step << 1, out, place)
            else:
                place = _put((step << 1) | 1, out, place)
                place = _put(np.int64(tfs[i]), out, place)
        offsets[document + 1] = place


@kernel
def decode(code: Array, start: int, end: int, terms: Array, tfs: Array) -> int:
    """Decode ``code[start:end]`` into ``terms`` and ``tfs``; returns how many there are.

    Nothing behind ``end`` is read, whatever the bytes are.
    """
    count = 0
    number = -1
    place = start
    while place < end:
        value: Any = np.int64(0)
        shift = 0
        while code[place] >= 128 and place + 1 < end:
            value |= np.int64(code[place] & 127) << shift
            shift += 7
            place += 1
        value |= np.int64(code[place]) << shift
        place += 1
        number += (value >> 1) + 1
        tf: Any = np.int64(1)
        if value & 1 and place < end:
            tf = np.int64(0)
            shift = 0
            while code[place] >= 128 and place + 1 < end:
                tf |= np.int64(code[place] & 127) << shift
                shift += 7
                place += 1
            tf |= np.int64(code[place]) << shift
            place += 1
        terms[count] = number
        tfs[count] = tf
        count += 1
    return count
