"""A document's terms in few bytes, and back.

Per document, its distinct terms by ascending number: the difference to the one before (to -1 at
first) less one, times two, plus one where the frequency is above one; that frequency follows then.
Each number is a varint: seven bits a byte, the lowest first, the eighth bit set on all but the
last byte (LEB128). Terms of low number are the frequent ones, so most differences take one byte.
Weighted documents have no such form: their frequencies are not whole.
"""

from typing import Any, NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.compiled import kernel

LONGEST_CODE = 10
"""Bytes that a term and its frequency take, at most."""


class Vectors(NamedTuple):
    """Documents' terms.

    Attributes:
        code: uint8, see the module.
        starts: (n + 1,) int64: where each document begins in ``code``.
        longest: The most bytes that a document has.
        rows: (d,) which of the n each of the documents is that were asked for.
    """

    code: Array
    starts: Array
    longest: int
    rows: Array


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


def terms_of(code: Array, start: int, end: int) -> tuple[Array, Array]:
    """The term numbers (int32) and frequencies (int32) of the document at ``code[start:end]``."""
    terms = np.empty(end - start, dtype=np.int32)
    tfs = np.empty(end - start, dtype=np.int32)
    count = decode(code, start, end, terms, tfs)
    return terms[:count], tfs[:count]
