"""Add postings to the sums of a window of documents: the innermost loops of search.

The loops take the postings ``first`` to ``last`` of a term, the document ``base`` where the window
begins, and its ``sums``, float64. They repeat their first lines: with a function per posting, BM25
to depth 1,000 takes 6 to 8 % longer. Indices are unsigned, because numba checks signed ones for
negative values at half the speed, and clipped to the window, so that a damaged index cannot point
outside it.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.compiled import inner, lowest, ones
from adducir.indexes.memory.scoring import BM25_BYTE, BM25_EXACT, WINDOW

U, F32, F64 = np.uint64, np.float32, np.float64
ONE, ZERO = np.float32(1), np.float32(0)
_INSIDE = np.uint64(WINDOW - 1)


class Term(NamedTuple):
    """What a term's postings add, and where they are."""

    docs: Array
    tfs: Array
    codes: Array
    norms: Array
    parts: Array
    factors: Array
    numbers: Array  # (4,) float64: the formula's kind and constant, the term's weight and mass
    table: Array  # float32 contributions by posting code; empty if missing


@inner
def contribution(
    kind: Any, constant: Any, weight: Any, mass: Any, factor: Any, tf: Any, part: Any
) -> Any:
    if kind == BM25_BYTE:
        return F32(weight) - F32(weight) / (ONE + F32(tf) * F32(factor))
    if kind == BM25_EXACT:
        return F32(weight) * F32(tf) / ((F32(tf) + F32(constant)) + part)
    score = weight * (math.log(1.0 + F64(tf) / mass) + factor)
    return F32(score) if score > 0.0 else ZERO


@inner
def position(docs: Array, first: Any, last: Any, target: Any) -> Any:
    """The first index in ``docs[first:last]`` not below ``target``: galloping search."""
    wanted = docs.dtype.type(target)
    if first >= last or docs[first] >= wanted:
        return first
    low, step = first, U(1)
    while low + step < last and docs[low + step] < wanted:
        low += step
        step <<= U(1)
    high = min(low + step, last)
    low += U(1)
    while low < high:
        middle = (low + high) >> U(1)
        if docs[middle] < wanted:
            low = middle + U(1)
        else:
            high = middle
    return low


@inner
def add_and_mark(
    term: Term, first: Any, last: Any, base: Any, threshold: float, sums: Array, marks: Array
) -> None:
    """Add, and mark each document whose sum exceeds the threshold: fast if that is rare."""
    docs, tfs, codes, norms, parts, factors, numbers, table = term
    cells = U(len(table))
    kind, constant, weight, mass = numbers[0], numbers[1], numbers[2], numbers[3]
    for i in range(first, last):
        place = (U(docs[i]) - base) & _INSIDE
        code = U(codes[i])
        if code < cells:
            value = F64(table[code])
        else:
            doc = base + place
            norm = U(norms[doc])
            part = parts[doc] if kind == BM25_EXACT else ZERO
            value = F64(contribution(kind, constant, weight, mass, factors[norm], tfs[i], part))
        total = sums[place] + value
        sums[place] = total
        if total > threshold:
            marks[place >> U(6)] |= U(1) << (place & U(63))


@inner
def add_and_find(
    term: Term,
    first: Any,
    last: Any,
    base: Any,
    threshold: float,
    sums: Array,
    found: Array,
    count: Any,
) -> Any:
    """Add, and record each document whose sum rises above the threshold, without branches."""
    docs, tfs, codes, norms, parts, factors, numbers, table = term
    cells = U(len(table))
    kind, constant, weight, mass = numbers[0], numbers[1], numbers[2], numbers[3]
    for i in range(first, last):
        place = (U(docs[i]) - base) & _INSIDE
        code = U(codes[i])
        if code < cells:
            value = F64(table[code])
        else:
            doc = base + place
            norm = U(norms[doc])
            part = parts[doc] if kind == BM25_EXACT else ZERO
            value = F64(contribution(kind, constant, weight, mass, factors[norm], tfs[i], part))
        before = sums[place]
        total = before + value
        sums[place] = total
        found[count] = place
        count += U((total > threshold) & (before <= threshold) & (count < U(WINDOW)))
    return count


@inner
def look_up(
    term: Term,
    first: Any,
    last: Any,
    base: Any,
    sums: Array,
    marks: Array,
    found: Array,
    count: Any,
) -> None:
    """Add only to the ``count`` documents found, which are in ascending order."""
    for n in range(count):
        doc = base + U(found[n])
        first = position(term.docs, first, last, doc)
        if first < last and U(term.docs[first]) == doc:
            add_and_mark(term, first, first + U(1), base, np.inf, sums, marks)


@inner
def look_up_common(
    term: Term,
    first: Any,
    last: Any,
    base: Any,
    row: Any,
    bits: Array,
    before: Array,
    least: float,
    sums: Array,
    found: Array,
    count: Any,
) -> Any:
    """The same using the term's bits from ``row`` on, in any order; ``first``: of all its postings.

    Returns how many of those found exceed ``least``; the others are dropped.
    """
    _, tfs, codes, norms, parts, factors, numbers, table = term
    cells, words, kept = U(len(table)), U(len(bits)), U(0)
    kind, constant, weight, mass = numbers[0], numbers[1], numbers[2], numbers[3]
    for n in range(count):
        place = U(found[n])
        doc = base + place
        word = min(row + (doc >> U(6)), words - U(1))
        bit = U(1) << (doc & U(63))
        total = sums[place]
        if bits[word] & bit:
            i = min(first + U(before[word]) + ones(bits[word] & (bit - U(1))), last - U(1))
            code = U(codes[i])
            if code < cells:
                total += F64(table[code])
            else:
                norm = U(norms[doc])
                part = parts[doc] if kind == BM25_EXACT else ZERO
                at = (kind, constant, weight, mass, factors[norm], tfs[i], part)
                total += F64(contribution(*at))
            sums[place] = total
        found[kept] = place
        kept += U(total > least)
    return kept


@inner
def still_above(threshold: float, sums: Array, found: Array, count: Any) -> Any:
    """Keep the found documents whose sum is above the threshold; returns how many."""
    kept = U(0)
    for n in range(count):
        place = found[n]
        found[kept] = place
        kept += U(sums[U(place)] > threshold)
    return kept


@inner
def take_marks(marks: Array, found: Array) -> Any:
    """Turn marks into found documents, ascending; returns how many."""
    count = U(0)
    for word in range(U(len(marks))):
        bits = marks[word]
        marks[word] = U(0)
        while bits != U(0):
            found[count] = (word << U(6)) + lowest(bits)
            count += U(1)
            bits &= bits - U(1)
    return count
