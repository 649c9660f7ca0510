"""Compiled search: score every document, window by window, and keep the best.

Scores are 0 or more, and such floats are ordered like their bits read as integers. The sums of a
window of documents stay in the processor's cache while all query terms' postings are added. Two
optimisations save work without changing results:

- A few samples of the collection are scored first, to estimate the score of the last hit; only
  documents above it are kept. If they are too few, the search is repeated without the estimate.
- MaxScore (Turtle and Flood, IPM 1995): terms whose largest contributions together do not reach
  that score cannot bring a document into the ranking; they are only looked up for documents found
  by the other terms, through a bit per document for frequent terms.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.compiled import inner, kernel
from adducir.indexes.memory.adding import (
    F32,
    F64,
    ZERO,
    Term,
    U,
    add_and_find,
    add_and_mark,
    contribution,
    look_up,
    look_up_common,
    position,
    still_above,
    take_marks,
)
from adducir.indexes.memory.exhaustive import keep_best, lower_bound, order
from adducir.indexes.memory.scoring import BM25_EXACT, WINDOW, Formula, Postings, Queries
from adducir.indexes.memory.segment import LENGTHS, LEVELS

_WORTH_TABLE = 2048  # with fewer postings, a table costs more than it saves
_SEARCH_COST = 32  # cost of looking up a document, in postings added
_CLEAR_COST = 8  # cost of zeroing one element, in contiguous elements zeroed
_SAMPLE = 2048
_TOP = 30  # the highest bit that differs among scores
_LENGTHS = LENGTHS.astype(np.float32)


class Scratch(NamedTuple):
    """A thread's working space; ``sums`` (of a window) and ``marks`` (bits) are left zero."""

    sums: Array
    marks: Array
    found: Array
    found_scores: Array
    scores: Array
    docs: Array
    places: Array
    begins: Array


class Clauses(NamedTuple):
    """A query of m terms, those with the largest possible contribution first."""

    numbers: Array  # (m, 4) float64: the formula's kind and constant, each term's weight and mass
    tables: Any  # (m, 256) float32: contributions by posting code
    cells: Array  # (m,) int64: number of codes in each table, all or 0
    starts: Array  # (m,) uint64: where each term's postings begin
    ends: Array  # and end
    rows: Array  # (m,) int64: where each term's bits begin; negative if it has none
    suffix_bounds: Array  # (m + 1,) float64: the maximum sum of the terms from each one on


@inner
def _term(postings: Postings, formula: Formula, query: Clauses, t: Any) -> Term:
    numbers, table = query.numbers[t], query.tables[t, : query.cells[t]]
    docs, tfs, codes, norms = postings.docs, postings.tfs, postings.codes, postings.norms
    return Term(docs, tfs, codes, norms, formula.parts, formula.factors, numbers, table)


@inner
def _window(
    postings: Postings,
    formula: Formula,
    query: Clauses,
    scratch: Scratch,
    places: Array,
    needed: Any,
    base: Any,
    end: Any,
    threshold: float,
) -> Any:
    """Score the documents from ``base`` to ``end``; returns how many exceed the threshold."""
    docs, sums, marks, found = postings.docs, scratch.sums, scratch.marks, scratch.found
    terms, count, added = U(len(places)), U(0), U(0)
    ordered = needed == terms
    begins = scratch.begins
    for t in range(terms):
        if t >= needed and count == U(0):
            break
        if t >= needed and query.rows[t] >= 0:
            start, stop = query.starts[t], query.ends[t]
            if count * U(postings.documents) < (stop - start) * (end - base):
                bits = (U(query.rows[t]), postings.bits, postings.before)
                least = threshold - query.suffix_bounds[t + U(1)]
                own = (_term(postings, formula, query, t), start, stop, base, *bits, least)
                count = look_up_common(*own, sums, found, count)
                continue
        first = position(docs, places[t], query.ends[t], base)
        last = position(docs, first, query.ends[t], end)
        places[t], begins[t] = last, first
        at = (_term(postings, formula, query, t), first, last, base)
        if t < needed:
            added += last - first
            if ordered:
                add_and_mark(*at, threshold, sums, marks)
            else:
                least = threshold - query.suffix_bounds[needed]
                count = add_and_find(*at, least, sums, found, count)
            continue
        if count * U(_SEARCH_COST) > last - first:
            added += U(len(sums))
            add_and_mark(*at, np.inf, sums, marks)
        else:
            if not ordered:
                count = _in_order(marks, found, count)
                ordered = True
            look_up(*at, sums, marks, found, count)
        count = still_above(threshold - query.suffix_bounds[t + U(1)], sums, found, count)
    if needed == terms:
        count = take_marks(marks, found)
    elif not ordered:
        count = _in_order(marks, found, count)
    kept = U(0)
    for n in range(count):
        place = U(found[n])
        score = F32(sums[place])
        if score > threshold and place < end - base:
            found[kept], scratch.found_scores[kept] = place, score
            kept += U(1)
    if added * U(_CLEAR_COST) > end - base:
        sums[: end - base] = 0
    else:  # looked-up documents were found before
        for t in range(needed):
            for i in range(begins[t], places[t]):
                sums[(U(docs[i]) - base) & U(WINDOW - 1)] = 0
    return kept


@inner
def _in_order(marks: Array, found: Array, count: Any) -> Any:
    for n in range(count):
        place = U(found[n])
        marks[place >> U(6)] |= U(1) << (place & U(63))
    return take_marks(marks, found)


@inner
def _rank(
    postings: Postings,
    formula: Formula,
    query: Clauses,
    scratch: Scratch,
    depth: Any,
    estimate: Any,
    width: Any,
    step: Any,
) -> Any:
    """Write the best documents to ``scratch``, unordered; returns their number."""
    documents, places = U(postings.documents), scratch.places[: len(query.starts)]
    for t in range(U(len(places))):
        places[t] = query.starts[t]
    limit = 2 * depth + 8
    threshold, needed, count = F32(estimate), U(len(places)), np.int64(0)
    base, width = U(0), U(width)
    while base < documents:
        end = min(base + width, documents)
        while needed > U(0) and query.suffix_bounds[needed - U(1)] <= threshold:
            needed -= U(1)
        if needed == U(0):
            break
        at = (postings, formula, query, scratch, places, needed, base, end, F64(threshold))
        for n in range(_window(*at)):
            scratch.scores[U(count)] = scratch.found_scores[n]
            scratch.docs[U(count)] = base + U(scratch.found[n])
            count += 1
        if count >= limit:
            bits = scratch.scores.view(np.uint32)
            beside = scratch.docs, bits, scratch.scores
            _, least = keep_best(*beside, count, depth, _TOP, np.int64(-1))
            count, threshold = depth, np.uint32(least).view(np.float32)
        if step > 0:
            base += U(step)
        else:
            base = end
            width = min(width << U(1), U(WINDOW))
    return count


@inner
def _estimate(
    postings: Postings, formula: Formula, query: Clauses, scratch: Scratch, depth: Any, samples: Any
) -> Any:
    """A score that ``depth`` documents probably exceed, from some samples; 0 if unknown."""
    documents = postings.documents
    wanted = F64(depth) * samples * _SAMPLE / documents
    rank = min(np.int64(wanted + 2 * math.sqrt(wanted) + 1), depth)
    step = documents // samples
    count = _rank(postings, formula, query, scratch, rank, ZERO, U(_SAMPLE), U(step))
    if count < rank:
        return ZERO
    least = lower_bound(scratch.scores.view(np.uint32), count, rank, _TOP, np.int64(22))
    return np.uint32(least).view(np.float32)


@kernel
def _ask(
    postings: Postings, formula: Formula, queries: Queries, query: Any, whole: bool
) -> Clauses:
    """A prepared query; ``whole``: all documents with a term are requested, without bounds."""
    begin = queries.starts[query]
    size = queries.starts[query + 1] - begin
    numbers, bounds, suffix_bounds = np.empty((size, 4)), np.empty(size), np.zeros(size + 1)
    starts, ends = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.uint64)
    cells, rows = np.zeros(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    words = postings.documents // 64 + 1
    tables = np.empty((size, 256), dtype=np.float32)
    best = np.empty(size, dtype=np.int64)  # sorted here: numba takes a second to compile argsort
    for n in range(size):
        bounds[n] = np.inf
        if not whole:
            bounds[n] = _bound_of(postings, formula, queries, begin + n)
        place = n
        while place > 0 and bounds[best[place - 1]] < bounds[n]:
            best[place] = best[place - 1]
            place -= 1
        best[place] = n
    for n in range(size - 1, -1, -1):
        suffix_bounds[n] = suffix_bounds[n + 1] + bounds[best[n]]
        term = queries.terms[begin + best[n]]
        starts[n], ends[n] = postings.offsets[term], postings.offsets[term + 1]
        rows[n] = term * words if (term + 1) * words <= len(postings.bits) else -1
        weight, mass = F64(queries.weights[begin + best[n]]), queries.masses[begin + best[n]]
        numbers[n, 0], numbers[n, 1] = formula.kind, formula.constant
        numbers[n, 2], numbers[n, 3] = weight, mass
        if formula.kind != BM25_EXACT and ends[n] - starts[n] > U(_WORTH_TABLE):
            cells[n] = min(len(postings.pairs), 255)
            for code in range(cells[n]):
                tf, norm = postings.pairs[code] >> 8, postings.pairs[code] & 255
                factor = formula.factors[norm]
                value = contribution(formula.kind, 0.0, weight, mass, factor, tf, ZERO)
                tables[n, code] = value
    return Clauses(numbers, tables, cells, starts, ends, rows, suffix_bounds)


@inner
def _bound_of(postings: Postings, formula: Formula, queries: Queries, n: Any) -> float:
    weight, mass = F64(queries.weights[n]), queries.masses[n]
    term, greatest = U(queries.terms[n]), 0.0
    most = postings.greatest_tfs[term]
    for level in range(U(len(LEVELS))):
        norm = U(postings.least_norms[term * U(len(LEVELS)) + level])
        if norm < U(255):
            tf, part = min(LEVELS[level], most), formula.slope * _LENGTHS[norm]
            value = contribution(
                formula.kind, formula.constant, weight, mass, formula.factors[norm], tf, part
            )
            greatest = max(greatest, F64(value))
    return greatest * (1.0 + 1e-6)


@kernel
def search(
    postings: Postings,
    formula: Formula,
    queries: Queries,
    first: int,
    last: int,
    out_starts: Array,
    out_docs: Array,
    out_scores: Array,
    out_counts: Array,
) -> None:
    """Rank the documents for the queries ``first`` to ``last`` - 1.

    A query's hits, best first, are written to int32 ``out_docs`` and float32 ``out_scores`` from
    ``out_starts`` (q + 1,) on, and their number to ``out_counts`` (q,) int64.
    """
    documents, widest, longest = postings.documents, 1, 1
    for query in range(first, last):
        longest = max(longest, queries.starts[query + 1] - queries.starts[query])
        widest = max(widest, out_starts[query + 1] - out_starts[query])
    samples = min(64, documents // (16 * _SAMPLE))
    if samples < 4:
        samples = 0
    space = min(2 * widest + 64 + WINDOW, documents) + 1
    scratch = Scratch(
        np.zeros(WINDOW),
        np.zeros(WINDOW // 64, dtype=np.uint64),
        np.empty(WINDOW + 1, dtype=np.uint32),
        np.empty(WINDOW + 1, dtype=np.float32),
        np.empty(space, dtype=np.float32),
        np.empty(space, dtype=np.int32),
        np.empty(longest, dtype=np.uint64),
        np.empty(longest, dtype=np.uint64),
    )
    for query in range(first, last):
        start, matches, count = out_starts[query], 0, np.int64(0)
        depth = out_starts[query + 1] - start
        if depth == 0:
            out_counts[query] = 0
            continue
        for n in range(queries.starts[query], queries.starts[query + 1]):
            matches += postings.offsets[queries.terms[n] + 1] - postings.offsets[queries.terms[n]]
        whole = matches <= depth or postings.documents <= depth
        terms = _ask(postings, formula, queries, query, whole)
        if samples > 0 and matches > 8 * depth:
            estimate = _estimate(postings, formula, terms, scratch, depth, samples)
            if estimate > ZERO:
                count = _rank(postings, formula, terms, scratch, depth, estimate, U(WINDOW), U(0))
        if count < depth:  # below 0: documents with a query term and score 0 are hits too
            count = _rank(postings, formula, terms, scratch, depth, F32(-1), U(1024), U(0))
        depth = min(depth, count)
        places, best = np.empty(depth, dtype=np.int32), out_scores[start : start + depth]
        order(scratch.scores[:count], places, best)
        for n in range(depth):
            out_docs[start + n] = scratch.docs[places[n]]
        out_counts[query] = depth
