"""Compiled search of token weights: every document's dot product, window by window.

A window of 32,768 documents has a sum of 16 bits each, 64 kB, which stay in the processor's cache.
Columns are added by vector instructions, a dozen documents in the time of one posting; a vectorised
scan then finds the sums above the lowest one that is still wanted. Sums are scores if the query
and the index have integers that fit (:class:`.impacts.Plan`), and otherwise upper bounds. Then all
documents that may be in the ranking are kept, and scored in doubles at the end, their terms in the
query's order: scores and ranks do not depend on how the sums are rounded.

Indices are unsigned because numba checks signed ones for negative values; places and documents are
clipped, and ranges were checked when the index was opened, so that a damaged index cannot point
outside an array.
"""

from typing import Any

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.compiled import fetch, inner, kernel
from adducir.indexes.memory.adding import position
from adducir.indexes.memory.exhaustive import keep_best, lower_bound, order
from adducir.indexes.memory.impacts import BLOCK, WINDOW, Impacts, Plan
from adducir.indexes.memory.scoring import Queries

U, U16, U32, F64 = np.uint64, np.uint16, np.uint32, np.float64
_INSIDE = np.uint64(WINDOW - 1)
_PLACES = 1 << 16  # of sums, more than a window's, so that any place is inside
_AHEAD = 4  # lines of the next term that are fetched while a term is added
_TOP = 15  # the highest bit of a sum
_CHUNK, _PART = 64, 16  # sums scanned at a time
_OTHERS = 64
_FEW = 24  # documents of a window that are looked up among a term's places one by one
_SAMPLE = 256  # of so many documents per hit, the last hit's sum begins the search


@inner
def _add_column(sums: Array, column: Array, multiplier: Any) -> None:
    for place in range(len(sums)):
        sums[place] = U16(sums[place] + U16(multiplier * U16(column[place])))


@inner
def _add_scaled_column(sums: Array, column: Array, multiplier: Any) -> None:
    """The product in two parts, so that everything has 16 bits and more is added at a time."""
    high, low = U16(multiplier >> U16(8)), U16(multiplier & U16(255))
    for place in range(len(sums)):
        byte = U16(column[place])
        rest = U16(U16(U16(byte * low) + U16(255)) >> U16(8))
        sums[place] = U16(sums[place] + U16(U16(byte * high) + rest))


@inner
def _add_postings(sums: Array, places: Array, weights: Array, multiplier: Any) -> None:
    for i in range(U(len(places))):
        sums[places[i]] = U16(sums[places[i]] + U16(U16(weights[i]) * U16(multiplier)))


@inner
def _add_scaled_postings(sums: Array, places: Array, weights: Array, multiplier: Any) -> None:
    for i in range(U(len(places))):
        added = (U32(weights[i]) * U32(multiplier) + U32(255)) >> U32(8)
        sums[places[i]] = U16(sums[places[i]] + U16(added))


@inner
def _exceed(sums: Array, start: Any, size: Any, threshold: Any) -> Any:
    """Whether one of ``size`` sums exceeds the threshold; without a branch, to be vectorised."""
    above: Any = U16(0)
    for place in range(start, start + U(size)):
        above = U16(above | U16(sums[place] > threshold))
    return above


@inner
def _collect(
    sums: Array, width: Any, base: Any, threshold: Any, docs: Array, found: Array, count: Any
) -> Any:
    """Append the window's documents whose sum exceeds the threshold; returns how many there are."""
    for chunk in range(U(0), width, U(_CHUNK)):
        if _exceed(sums, chunk, _CHUNK, threshold):
            for part in range(chunk, min(chunk + U(_CHUNK), width), U(_PART)):
                if _exceed(sums, part, _PART, threshold):
                    for place in range(part, min(part + U(_PART), width)):
                        docs[count], found[count] = base + place, sums[place]
                        count += U(sums[place] > threshold)
    return count


@inner
def _find(
    impacts: Impacts,
    terms: Array,
    multipliers: Array,
    slack: Any,
    depth: Any,
    cursors: Array,
    sums: Array,
    docs: Array,
    found: Array,
) -> Any:
    """Write the documents that may be the best, ascending, and their sums; returns how many."""
    shape, size = impacts.shape, U(len(terms))
    documents, columns, windows = U(shape.documents), shape.columns, U(shape.windows)
    count: Any = U(0)
    limit: Any = U(depth + 1)
    threshold: Any = U16(0)
    for t in range(size):
        before = shape.in_columns if terms[t] < shape.placed else shape.in_windows
        cursors[t] = U(impacts.offsets[terms[t]] - before)
    for window in range(windows):
        base = window * U(WINDOW)
        width = min(U(WINDOW), documents - base)
        for place in range(width):
            sums[place] = U16(0)
        for t in range(size):
            term, multiplier, first = terms[t], multipliers[t], cursors[t]
            for ahead in range(U(_AHEAD) if t + U(1) < size else U(0)):
                fetch(impacts.places, cursors[t + U(1)] + ahead * U(32))
                fetch(impacts.bytes, cursors[t + U(1)] + ahead * U(64))
            if term < columns:
                start = U(term) * documents + base
                column = impacts.columns[start : start + width]
                if slack < 0:
                    _add_column(sums[:width], column, multiplier)
                else:
                    _add_scaled_column(sums[:width], column, multiplier)
            elif term < shape.placed:
                edge = U(term - columns) * (windows + U(1)) + window + U(1)
                last = U(impacts.offsets[term] - shape.in_columns) + U(impacts.edges[edge])
                places, weights = impacts.places[first:last], impacts.bytes[first:last]
                if slack < 0:
                    _add_postings(sums, places, weights, multiplier)
                else:
                    _add_scaled_postings(sums, places, weights, multiplier)
                cursors[t] = last
            else:
                scale, rest = (U32(0), U32(0)) if slack < 0 else (U32(8), U32(255))
                last = U(impacts.offsets[term + 1] - shape.in_windows)
                while first < last and U(impacts.docs[first]) < base + width:
                    byte = U32(impacts.bytes[first + U(shape.in_windows - shape.in_columns)])
                    added = U16((byte * U32(multiplier) + rest) >> scale)
                    inside = U(impacts.docs[first]) & _INSIDE
                    sums[inside] = U16(sums[inside] + added)
                    first += U(1)
                cursors[t] = first
        if window == U(0):  # the best of some of its documents bound the best of all
            some = min(width, U(_SAMPLE * depth))
            if some >= U(depth):
                least = np.int64(lower_bound(sums, some, depth, _TOP, 9)) - max(slack, np.int64(0))
                threshold = U16(max(least, np.int64(1)) - np.int64(1))
        count = _collect(sums, width, base, threshold, docs, found, count)
        if count >= limit:
            count, threshold = keep_best(docs, found, count, depth, _TOP, slack)
            limit = count + count // U(4) + U(1)
    if count > U(depth):
        count, threshold = keep_best(docs, found, count, depth, _TOP, slack)
    return count


@inner
def _below(places: Array, first: Any, last: Any, place: Any) -> Any:
    """How many of ``places[first:last]``, ascending, are below ``place``; vectorised."""
    count: Any = U16(0)
    for i in range(first, last):
        count = U16(count + U16(places[i] < place))
    return U(count)


@inner
def _score(
    impacts: Impacts,
    terms: Array,
    weights: Array,
    docs: Array,
    count: Any,
    slots: Array,
    added: Array,
    scores: Array,
) -> None:
    """Write the documents' scores: the terms' products added in the query's order.

    ``slots`` holds where the window's documents have their sums in ``added``. Other documents have
    one of the first, several so that they need not wait for each other.
    """
    start: Any = U(0)
    while start < U(count):
        window, end = U(docs[start]) // U(WINDOW), start
        while end < U(count) and U(docs[end]) // U(WINDOW) == window:
            slots[U(docs[end]) & _INSIDE] = end - start + U(_OTHERS)
            added[end - start + U(_OTHERS)] = 0.0
            end += U(1)
        for t in range(U(len(terms))):
            _add(impacts, U(terms[t]), F64(weights[t]), docs[start:end], slots, added)
        for n in range(start, end):
            place = U(docs[n]) & _INSIDE
            slots[place] = place & U(_OTHERS - 1)
            scores[n] = added[n - start + U(_OTHERS)]
        start = end


@inner
def _add(impacts: Impacts, term: Any, weight: Any, docs: Array, slots: Array, added: Array) -> None:
    """Add a term's products for documents of a window."""
    shape, values, size = impacts.shape, impacts.values, U(len(docs))
    documents, windows, has_values = U(shape.documents), U(shape.windows), len(values) > 0
    start, end = U(impacts.offsets[term]), U(impacts.offsets[term + U(1)])
    if term < U(shape.columns):
        column = impacts.columns[term * documents : (term + U(1)) * documents]
        for n in range(size):
            doc = U(docs[n])
            if column[doc] != 0 and has_values:
                block = doc // U(BLOCK)
                at = start + U(impacts.counts[term * U(shape.blocks) + block])
                for before in range(block * U(BLOCK), doc):
                    at += U(column[before] != 0)
                added[n + U(_OTHERS)] += weight * F64(values[min(at, end - U(1))])
            else:
                added[n + U(_OTHERS)] += weight * F64(column[doc])
        return
    of_bytes = start - U(shape.in_columns)  # where its postings begin among the bytes
    if term >= U(shape.placed):
        first: Any = start - U(shape.in_windows)
        origin, last = first, first + (end - start)
        for n in range(size):
            first = position(impacts.docs, first, last, docs[n])
            if first < last and impacts.docs[first] == docs[n]:
                at = first - origin
                value = F64(values[start + at]) if has_values else F64(impacts.bytes[of_bytes + at])
                added[n + U(_OTHERS)] += weight * value
        return
    edge = (term - U(shape.columns)) * (windows + U(1)) + U(docs[0]) // U(WINDOW)
    first, last = of_bytes + U(impacts.edges[edge]), of_bytes + U(impacts.edges[edge + U(1)])
    if size < U(_FEW):
        for n in range(size):
            place = U16(U(docs[n]) & _INSIDE)
            at = first + _below(impacts.places, first, last, place)
            if at < last and impacts.places[at] == place:
                value = (
                    F64(values[at + U(shape.in_columns)]) if has_values else F64(impacts.bytes[at])
                )
                added[n + U(_OTHERS)] += weight * value
    elif has_values:
        for i in range(first, last):
            value = F64(values[i + U(shape.in_columns)])
            added[slots[impacts.places[i]]] += weight * value
    else:
        for i in range(first, last):
            added[slots[impacts.places[i]]] += weight * F64(impacts.bytes[i])


@kernel
def search(
    impacts: Impacts,
    queries: Queries,
    plan: Plan,
    first: int,
    last: int,
    out_starts: Array,
    out_docs: Array,
    out_scores: Array,
    out_counts: Array,
) -> None:
    """Rank the documents for the queries ``first`` to ``last`` - 1.

    A query's hits, best first, are written to int32 ``out_docs`` and float64 ``out_scores`` from
    ``out_starts`` (q + 1,) on, and their number to ``out_counts`` (q,) int64.
    """
    longest, space = 1, impacts.shape.documents + _CHUNK
    for query in range(first, last):
        longest = max(longest, queries.starts[query + 1] - queries.starts[query])
    sums, cursors = np.zeros(_PLACES, dtype=np.uint16), np.empty(longest, dtype=np.uint64)
    docs, found = np.empty(space, dtype=np.int32), np.empty(space, dtype=np.uint16)
    slots, added = np.empty(_PLACES, dtype=np.uint16), np.zeros(WINDOW + _OTHERS)
    for place in range(_PLACES):
        slots[place] = place & (_OTHERS - 1)
    for query in range(first, last):
        start, end = queries.starts[query], queries.starts[query + 1]
        out, depth = out_starts[query], out_starts[query + 1] - out_starts[query]
        if depth == 0:
            out_counts[query] = 0
            continue
        terms, slack = queries.terms[start:end], plan.slacks[query]
        of_query = terms, plan.multipliers[start:end], slack, depth
        count = _find(impacts, *of_query, cursors, sums, docs, found)
        scores = np.empty(count)
        if slack < 0:
            for n in range(count):
                scores[n] = found[n]
        else:
            weights = queries.weights[start:end]
            _score(impacts, terms, weights, docs, count, slots, added, scores)
        depth = min(depth, np.int64(count))
        places, best = np.empty(depth, dtype=np.int32), out_scores[out : out + depth]
        order(scores, places, best)
        for n in range(depth):
            out_docs[out + n] = docs[places[n]]
        out_counts[query] = depth
