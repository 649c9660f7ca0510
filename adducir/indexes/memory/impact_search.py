"""Compiled search of token weights: every document's dot product, window by window.

A window of 8,192 documents has a sum of 32 bits each, 32 kB, which stay in the processor's first
cache. Columns are added by vector instructions, a dozen documents in the time of one posting; a
vectorised scan then finds the sums above the lowest one that is still wanted. Sums are scores if
the query and the index have integers that fit (:class:`.impacts.Plan`), and otherwise upper bounds.
Then all documents that may be in the ranking are kept, and scored in doubles, their terms in the
query's order: scores and ranks do not depend on how the sums are rounded. If many hits are wanted,
a window's are scored while its postings are still in a cache, otherwise all at the end.

The first windows suggest how low the last hit's sum will be. If fewer documents exceed that than
are wanted, the search is repeated without it.

Indices are unsigned because numba checks signed ones for negative values; places and documents are
clipped, and ranges were checked when the index was opened, so that a damaged index cannot point
outside an array.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.compiled import exceeding, fetch, inner, kernel, lowest
from adducir.indexes.memory.adding import position
from adducir.indexes.memory.exhaustive import keep_best, lower_bound, order
from adducir.indexes.memory.impacts import BLOCK, WINDOW, Impacts, Plan
from adducir.indexes.memory.scoring import Queries

U, U16, U32, F64 = np.uint64, np.uint16, np.uint32, np.float64
_INSIDE = np.uint64(WINDOW - 1)
_PLACES = 1 << 16  # of sums, more than a window's, so that any place is inside
_AHEAD = 192  # postings of the next term that are fetched while a term is added
_TOP, _BITS = 31, 8  # the highest bit of a sum; how many bits of a first threshold are found
_SPREAD = 4  # groups of 64 documents per hit, of which the best is a sample
_PART = 256  # sums scanned at a time
_OTHERS = 64
_MANY = 4  # hits of a window, from which on they are scored at once
_WORTH_LOOK_UP = 16  # with fewer of a term's postings per document, all are read


class ImpactScratch(NamedTuple):
    """A thread's working space."""

    sums: Array
    docs: Array
    found: Array
    terms: Array
    multipliers: Array
    cursors: Array
    slots: Array
    added: Array
    scores: Array


@inner
def _set_two(sums: Array, a: Array, b: Array, x: Any, y: Any) -> None:
    for place in range(len(sums)):
        sums[place] = U32(U32(x * U32(a[place])) + U32(y * U32(b[place])))


@inner
def _add_four(
    sums: Array, a: Array, b: Array, c: Array, d: Array, x: Any, y: Any, z: Any, w: Any, first: Any
) -> None:
    for place in range(len(sums)):
        before = U32(0) if first else sums[place]
        two = U32(U32(x * U32(a[place])) + U32(y * U32(b[place])))
        other = U32(U32(z * U32(c[place])) + U32(w * U32(d[place])))
        sums[place] = U32(before + U32(two + other))


@inner
def _set_columns(sums: Array, columns: Array, multipliers: Array, cursors: Array) -> None:
    """Sum an even number of columns, several at a time: sums are read and written less often."""
    width, size = U(len(sums)), U(len(cursors))
    if size == U(0):
        for place in range(width):
            sums[place] = U32(0)
    elif size & U(2) != U(0):
        i, j, x, y = cursors[0], cursors[1], multipliers[0], multipliers[1]
        _set_two(sums, columns[i : i + width], columns[j : j + width], x, y)
    for n in range(size & U(2), size, U(4)):
        i, j, x, y = cursors[n], cursors[n + U(1)], multipliers[n], multipliers[n + U(1)]
        a, b, m = columns[i : i + width], columns[j : j + width], n + U(2)
        i, j, z, w = cursors[m], cursors[m + U(1)], multipliers[m], multipliers[m + U(1)]
        c, d = columns[i : i + width], columns[j : j + width]
        _add_four(sums, a, b, c, d, x, y, z, w, n == U(0))
    for place in range(size):
        cursors[place] += width


@inner
def _add_postings(sums: Array, places: Array, weights: Array, multiplier: Any) -> None:
    for i in range(U(len(places))):
        sums[places[i]] = U32(sums[places[i]] + U32(U32(weights[i]) * U32(multiplier)))


@inner
def _greatest(sums: Array, start: Any, end: Any) -> Any:
    greatest: Any = U32(0)
    for place in range(start, end):
        greatest = max(greatest, sums[place])
    return greatest


@inner
def _collect(
    sums: Array, width: Any, base: Any, threshold: Any, docs: Array, found: Array, count: Any
) -> Any:
    """Append the window's documents whose sum exceeds the threshold; returns how many there are."""
    for part in range(U(0), width, U(_PART)):
        if _greatest(sums, part, part + U(_PART)) <= threshold:
            continue
        for chunk in range(part, min(part + U(_PART), width), U(64)):
            bits = exceeding(sums, chunk, threshold)
            while bits != U(0):
                place = chunk + lowest(bits)
                docs[count], found[count] = base + place, sums[place]
                count += U(place < width)
                bits &= bits - U(1)
    return count


@inner
def _threshold(sums: Array, width: Any, rank: Any, slack: Any, maxima: Array) -> Any:
    """A sum that at least ``rank`` of the window's documents exceed, or 0."""
    values, bits, count = sums[:width], np.int64(_BITS), U(0)
    for part in range(U(0), width, U(64)):
        maxima[count] = _greatest(sums, part, min(part + U(64), width))
        count += U(1)
    top, greatest = np.int64(_TOP), _greatest(maxima, U(0), count)
    while top > _BITS and U32(greatest >> U32(top)) == U32(0):
        top -= 1
    if U(_SPREAD * rank) <= count:  # the best are seldom two of the same 64 documents
        values, bits = maxima[:count], top + 1
    least = np.int64(lower_bound(values, U(len(values)), rank, top, bits)) - max(slack, np.int64(0))
    return U32(max(least, np.int64(1)) - np.int64(1))


@inner
def _weight(impacts: Impacts, at: Any) -> Any:
    """Of a posting that is not in a column."""
    if len(impacts.values) > 0:
        return F64(impacts.values[at])
    return F64(impacts.bytes[at - U(impacts.shape.in_columns)])


@inner
def _place(places: Array, first: Any, last: Any, place: Any) -> Any:
    """The first index in ``places[first:last]`` not below ``place``."""
    if place == 0:
        return first
    size, start, end, below = last - first, first, U(len(places)), U16(place - 1)
    if size > U(64):  # where it is if places are spread evenly
        start += ((size - U(64)) * U(place)) // U(WINDOW)
    while start < last and start + U(64) <= end and exceeding(places, start, below) == U(0):
        start += U(64)
    while first < start and places[start - U(1)] > below:
        start -= min(start - first, U(64))
    if start + U(64) > end:
        return position(places, start, last, place)
    bits = exceeding(places, start, below)
    return last if bits == U(0) else min(start + lowest(bits), last)


@inner
def _add(impacts: Impacts, term: Any, weight: Any, docs: Array, slots: Array, added: Array) -> None:
    """Add a term's products for documents of a window."""
    shape, size = impacts.shape, U(len(docs))
    documents, windows = U(shape.documents), U(shape.windows)
    start, end = U(impacts.offsets[term]), U(impacts.offsets[term + U(1)])
    if term < U(shape.columns):
        column = impacts.columns[term * documents : (term + U(1)) * documents]
        for n in range(size):
            doc = U(docs[n])
            value = F64(column[doc])
            if column[doc] != 0 and len(impacts.values) > 0:
                block = doc // U(BLOCK)
                at = start + U(impacts.counts[term * U(shape.blocks) + block])
                for before in range(block * U(BLOCK), doc):
                    at += U(column[before] != 0)
                value = F64(impacts.values[min(at, end - U(1))])
            added[n + U(_OTHERS)] += weight * value
        return
    if term >= U(shape.placed):
        before_docs = U(shape.in_windows)
        first: Any = start - before_docs
        for n in range(size):
            first = position(impacts.docs, first, end - before_docs, docs[n])
            if first < end - before_docs and impacts.docs[first] == docs[n]:
                added[n + U(_OTHERS)] += weight * _weight(impacts, first + before_docs)
        return
    before_places = U(shape.in_columns)
    start -= before_places
    edge = (term - U(shape.columns)) * (windows + U(1)) + U(docs[0]) // U(WINDOW)
    first, last = start + U(impacts.edges[edge]), start + U(impacts.edges[edge + U(1)])
    if size * U(_WORTH_LOOK_UP) < last - first:
        for n in range(size):
            place = U16(U(docs[n]) & _INSIDE)
            at = _place(impacts.places, first, last, place)
            if at < last and impacts.places[at] == place:
                added[n + U(_OTHERS)] += weight * _weight(impacts, at + before_places)
    else:
        for i in range(first, last):
            added[slots[impacts.places[i]]] += weight * _weight(impacts, i + before_places)


@inner
def _score(
    impacts: Impacts, terms: Array, weights: Array, first: Any, last: Any, scratch: Any
) -> None:
    """Write the scores of documents of a window: the terms' products, in the query's order."""
    docs, slots, added = scratch.docs, scratch.slots, scratch.added
    for n in range(first, last):
        slots[U(docs[n]) & _INSIDE] = n - first + U(_OTHERS)
        added[n - first + U(_OTHERS)] = 0.0
    for t in range(U(len(terms))):
        _add(impacts, U(terms[t]), F64(weights[t]), docs[first:last], slots, added)
    for n in range(first, last):
        place = U(docs[n]) & _INSIDE
        slots[place] = place & U(_OTHERS - 1)
        scratch.scores[n] = added[n - first + U(_OTHERS)]


@inner
def _find(
    impacts: Impacts,
    terms: Array,
    multipliers: Array,
    weights: Array,
    slack: Any,
    depth: Any,
    is_scored: Any,
    is_guess: Any,
    scratch: ImpactScratch,
) -> Any:
    """Write the documents that may be the best, ascending, their sums, and scores if asked to.

    Returns how many, and whether no other can be: with ``is_guess``, documents below a score that
    the windows so far suggest are left out.
    """
    sums, docs, found, cursors = scratch.sums, scratch.docs, scratch.found, scratch.cursors
    shape, size, wide = impacts.shape, U(len(terms)), U(0)
    documents, windows = U(shape.documents), U(shape.windows)
    for t in range(size):  # columns first
        if terms[t] < shape.columns:
            cursors[wide], scratch.multipliers[wide] = U(terms[t]) * documents, multipliers[t]
            wide += U(1)
    if wide % U(2) == U(1):
        cursors[wide], scratch.multipliers[wide] = cursors[wide - U(1)], U32(0)
        wide += U(1)
    n: Any = wide
    for t in range(size):
        if terms[t] >= shape.columns:
            scratch.terms[n], scratch.multipliers[n] = terms[t], multipliers[t]
            before = shape.in_columns if terms[t] < shape.placed else shape.in_windows
            cursors[n] = U(impacts.offsets[terms[t]] - before)
            n += U(1)
    count, limit = U(0), U(2 * depth + WINDOW)
    guess: Any = U32(0)
    least: Any = U32(0)
    for window in range(windows):
        base = window * U(WINDOW)
        width = min(U(WINDOW), documents - base)
        columns = scratch.multipliers[:wide], cursors[:wide]
        _set_columns(sums[:width], impacts.columns, *columns)
        for t in range(wide, n):
            term, multiplier, first = scratch.terms[t], scratch.multipliers[t], cursors[t]
            following = cursors[t + U(1) if t + U(1) < n else wide]
            for ahead in range(following, following + U(_AHEAD), U(64)):
                fetch(impacts.places, ahead)
                fetch(impacts.places, ahead + U(32))
                fetch(impacts.bytes, ahead)
            if term < shape.placed:
                edge = U(term - shape.columns) * (windows + U(1)) + window + U(1)
                last = U(impacts.offsets[term] - shape.in_columns) + U(impacts.edges[edge])
                places, added = impacts.places[first:last], impacts.bytes[first:last]
                _add_postings(sums, places, added, multiplier)
                cursors[t] = last
            else:
                last = U(impacts.offsets[term + 1] - shape.in_windows)
                while first < last and U(impacts.docs[first]) < base + width:
                    byte = U32(impacts.bytes[first + U(shape.in_windows - shape.in_columns)])
                    inside = U(impacts.docs[first]) & _INSIDE
                    sums[inside] = U32(sums[inside] + U32(byte * multiplier))
                    first += U(1)
                cursors[t] = first
        wanted = depth
        if is_guess:
            rank = F64(depth) * F64(base + width) / shape.documents
            wanted = min(depth, np.int64(rank + 4 * math.sqrt(rank) + 2))
        if window == U(0) and U(wanted) <= width:
            least = _threshold(sums, width, wanted, slack, found)
            guess = least if wanted < depth else guess
        earlier = U(count)
        count = _collect(sums, width, base, least, docs, found, count)
        if is_scored and U(count) > earlier:
            _score(impacts, terms, weights, earlier, U(count), scratch)
        # A better threshold saves scoring; without that, it is not worth its time.
        is_double = window & (window + U(1)) == U(0)
        if count >= limit or (is_scored and is_double and count > U(wanted + _MANY)):
            count, value = keep_best(docs, found, scratch.scores, count, wanted, _TOP, slack)
            least = max(least, U32(value))
            guess = least if wanted < depth else guess
            limit = count + U(depth + WINDOW)
    value = U32(0)
    if count >= U(depth):
        count, value = keep_best(docs, found, scratch.scores, count, depth, _TOP, slack)
    return count, U32(value) >= guess


@inner
def _score_all(
    impacts: Impacts, terms: Array, weights: Array, count: Any, scratch: ImpactScratch
) -> None:
    """Write the scores of all documents found."""
    start: Any = U(0)
    while start < count:
        window, end = U(scratch.docs[start]) // U(WINDOW), start
        while end < count and U(scratch.docs[end]) // U(WINDOW) == window:
            end += U(1)
        _score(impacts, terms, weights, start, end, scratch)
        start = end


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
    longest, space, slot_count = 1, impacts.shape.documents + 64, 0
    for query in range(first, last):
        if plan.slacks[query] >= 0:
            slot_count = _PLACES
        longest = max(longest, queries.starts[query + 1] - queries.starts[query])
    scratch = ImpactScratch(
        np.empty(_PLACES, dtype=np.uint32),
        np.empty(space, dtype=np.int32),
        np.empty(space, dtype=np.uint32),
        np.empty(longest + 1, dtype=np.int64),
        np.empty(longest + 1, dtype=np.uint32),
        np.empty(longest + 1, dtype=np.uint64),
        np.empty(slot_count, dtype=np.uint16),
        np.empty(WINDOW + _OTHERS),
        np.empty(space),
    )
    docs, found = scratch.docs, scratch.found
    for place in range(slot_count):
        scratch.slots[place] = place & (_OTHERS - 1)
    for query in range(first, last):
        start, end = queries.starts[query], queries.starts[query + 1]
        out, depth = out_starts[query], out_starts[query + 1] - out_starts[query]
        if depth == 0:
            out_counts[query] = 0
            continue
        terms, slack = queries.terms[start:end], plan.slacks[query]
        weights = queries.weights[start:end]
        is_scored = slack >= 0 and depth * WINDOW >= _MANY * impacts.shape.documents
        asked = impacts, terms, plan.multipliers[start:end], weights, slack, depth, is_scored
        count, is_sure = _find(*asked, True, scratch)
        if not is_sure:
            count, _ = _find(*asked, False, scratch)
        scores = scratch.scores[:count]
        if slack < 0:
            for n in range(count):
                scores[n] = found[n]
        elif not is_scored:
            _score_all(impacts, terms, weights, U(count), scratch)
        depth = min(depth, np.int64(count))
        places, best = np.empty(depth, dtype=np.int32), out_scores[out : out + depth]
        order(scores, places, best)
        for n in range(depth):
            out_docs[out + n] = docs[places[n]]
        out_counts[query] = depth
