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
from adducir.indexes.compiled import inner, kernel
from adducir.indexes.memory.exhaustive import order
from adducir.indexes.memory.impacts import BLOCK, WINDOW, Impacts, Plan
from adducir.indexes.memory.scoring import Queries

U, U16, U32, F64 = np.uint64, np.uint16, np.uint32, np.float64
_INSIDE = np.uint64(WINDOW - 1)
_CHUNK = 64  # sums scanned at a time


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
def _add_postings(
    sums: Array, places: Array, weights: Array, multiplier: Any, is_scaled: bool
) -> None:
    shift, rest = (U32(8), U32(255)) if is_scaled else (U32(0), U32(0))
    for i in range(U(len(places))):
        place = U(places[i]) & _INSIDE
        added = (U32(weights[i]) * U32(multiplier) + rest) >> shift
        sums[place] = U16(sums[place] + U16(added))


@inner
def _exceeds(sums: Array, start: Any, threshold: Any) -> Any:
    """Whether a sum of a chunk exceeds the threshold; without a branch, to be vectorised."""
    above: Any = U16(0)
    for place in range(start, start + U(_CHUNK)):
        above = U16(above | U16(sums[place] > threshold))
    return above


@inner
def _keep_best(docs: Array, sums: Array, count: Any, depth: Any, slack: Any) -> Any:
    """Drop all that cannot be among the best ``depth``; returns how many are kept, and a threshold.

    A later document must exceed it.
    """
    least: Any = U16(0)
    for bit in range(15, -1, -1):
        trial: Any = U16(least | U16(1 << bit))
        reached: Any = U32(0)
        for n in range(count):
            reached = U32(reached + U32(sums[n] >= trial))
        if reached >= depth:
            least = trial
    equal: Any = np.int64(depth)
    if slack >= 0:
        least, equal = U16(max(np.int64(least) - slack, 1) - 1), 0
    for n in range(count):
        equal -= np.int64(sums[n] > least)
    kept: Any = U(0)
    for n in range(count):
        is_tie = sums[n] == least and equal > 0
        equal -= np.int64(is_tie)
        docs[kept], sums[kept] = docs[n], sums[n]
        kept += U(sums[n] > least or is_tie)
    return kept, least


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
    limit: Any = U(2 * depth + 2 * _CHUNK)
    threshold: Any = U16(0)
    for t in range(size):
        cursors[t] = impacts.offsets[terms[t]] - shape.in_windows
    for window in range(windows):
        base = window * U(WINDOW)
        width = min(U(WINDOW), documents - base)
        for place in range(width):
            sums[place] = U16(0)
        for t in range(size):
            term, multiplier = terms[t], multipliers[t]
            if term < columns:
                start = U(term) * documents + base
                column = impacts.columns[start : start + width]
                if slack < 0:
                    _add_column(sums[:width], column, multiplier)
                else:
                    _add_scaled_column(sums[:width], column, multiplier)
            elif term < shape.placed:
                edge = U(term - columns) * (windows + U(1)) + window
                start = U(impacts.offsets[term] - shape.in_columns)
                first, last = start + U(impacts.edges[edge]), start + U(impacts.edges[edge + U(1)])
                places, weights = impacts.places[first:last], impacts.bytes[first:last]
                _add_postings(sums, places, weights, multiplier, slack >= 0)
            else:
                first, last = cursors[t], impacts.offsets[term + 1] - shape.in_windows
                cursor: Any = first
                end = np.int64(base + width)
                while cursor < last and impacts.docs[U(cursor)] < end:
                    cursor += 1
                bytes_before = shape.in_windows - shape.in_columns
                weights = impacts.bytes[first + bytes_before : cursor + bytes_before]
                _add_postings(sums, impacts.docs[first:cursor], weights, multiplier, slack >= 0)
                cursors[t] = cursor
        for chunk in range(U(0), width, U(_CHUNK)):
            if not _exceeds(sums, chunk, threshold):
                continue
            for place in range(chunk, min(chunk + U(_CHUNK), width)):
                docs[count], found[count] = base + place, sums[place]
                count += U(sums[place] > threshold)
            if count >= limit:
                count, threshold = _keep_best(docs, found, count, depth, slack)
                limit = max(limit, U(2) * count)
    return count


@inner
def _position(places: Array, first: Any, last: Any, wanted: Any) -> Any:
    """The first index in ``places[first:last]`` not below ``wanted``: galloping search."""
    if first >= last or places[first] >= wanted:
        return first
    low, step = first, U(1)
    while low + step < last and places[low + step] < wanted:
        low += step
        step <<= U(1)
    high = min(low + step, last)
    low += U(1)
    while low < high:
        middle = (low + high) >> U(1)
        if places[middle] < wanted:
            low = middle + U(1)
        else:
            high = middle
    return low


@inner
def _score(
    impacts: Impacts, terms: Array, weights: Array, docs: Array, count: Any, scores: Array
) -> None:
    """Write the documents' scores: the terms' products added in the query's order."""
    shape, values = impacts.shape, impacts.values
    documents, windows, has_values = U(shape.documents), U(shape.windows), len(values) > 0
    for n in range(count):
        scores[n] = 0.0
    for t in range(U(len(terms))):
        term, weight = U(terms[t]), F64(weights[t])
        start, end = U(impacts.offsets[term]), U(impacts.offsets[term + U(1)])
        if term < U(shape.columns):
            column = impacts.columns[term * documents : (term + U(1)) * documents]
            for n in range(count):
                doc = U(docs[n])
                if column[doc] != 0 and has_values:
                    block = doc // U(BLOCK)
                    at = start + U(impacts.counts[term * U(shape.blocks) + block])
                    for before in range(block * U(BLOCK), doc):
                        at += U(column[before] != 0)
                    scores[n] += weight * F64(values[min(at, end - U(1))])
                else:
                    scores[n] += weight * F64(column[doc])
            continue
        # Where the term's postings begin among the bytes, and in the array of places or documents.
        of_bytes = start - U(shape.in_columns)
        is_placed = term < U(shape.placed)
        first = of_bytes if is_placed else start - U(shape.in_windows)
        origin, current, last = first, U(windows), first + (end - start)
        for n in range(count):
            doc = U(docs[n])
            if is_placed:
                window, place = doc // U(WINDOW), U16(doc & _INSIDE)
                if window != current:
                    edge = (term - U(shape.columns)) * (windows + U(1)) + window
                    first = origin + U(impacts.edges[edge])
                    current, last = window, origin + U(impacts.edges[edge + U(1)])
                first = _position(impacts.places, first, last, place)
                is_held = first < last and impacts.places[first] == place
            else:
                first = _position(impacts.docs, first, last, docs[n])
                is_held = first < last and impacts.docs[first] == docs[n]
            if is_held and has_values:
                scores[n] += weight * F64(values[start + (first - origin)])
            elif is_held:
                scores[n] += weight * F64(impacts.bytes[of_bytes + (first - origin)])


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
    sums, cursors = np.zeros(WINDOW, dtype=np.uint16), np.empty(longest, dtype=np.int64)
    docs, found = np.empty(space, dtype=np.int32), np.empty(space, dtype=np.uint16)
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
            _score(impacts, terms, queries.weights[start:end], docs, count, scores)
        depth = min(depth, np.int64(count))
        places, best = np.empty(depth, dtype=np.int32), out_scores[out : out + depth]
        order(scores, places, best)
        for n in range(depth):
            out_docs[out + n] = docs[places[n]]
        out_counts[query] = depth
