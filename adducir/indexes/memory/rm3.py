"""RM3, compiled: see :mod:`adducir.indexes.feedback` for what it computes.

Anserini's hash maps decide in which order norms are summed. Doubles hold such sums of floats
exactly unless one is over a million times another, so that order shows nowhere. Documents whose
score is negative, which Lucene's never is, add nothing. Terms of languages other than
English may have any characters, as with Anserini's option ``-rm3.noTermFilter``.
"""

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adducir.indexes.arrays import Array
from adducir.indexes.feedback import RM3
from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.files import Totals
from adducir.indexes.memory.forward import Vectors, decode
from adducir.indexes.memory.searching import Ranked, Terms, in_threads

_COMMON = np.float32(0.1)
_LEAST_NORM = np.float32(0.001)


class _Index(NamedTuple):
    """What the kernels read of an index.

    Attributes:
        code, starts, longest: Documents' terms, see :class:`.forward.Vectors`.
        eligible: (V,) bool: which terms feedback takes.
        ranks: (V,) int32: the place of each term in alphabetical order.
    """

    code: Array
    starts: Array
    longest: int
    eligible: Array
    ranks: Array


class _Lists(NamedTuple):
    """Numbers of terms or documents with their weights, for each query from where on."""

    starts: Array
    numbers: Array
    weights: Array


class _Room(NamedTuple):
    """Working space; ``model`` (V,) float32 and ``marked`` (V,) bool are left zeros."""

    terms: Array
    tfs: Array
    model: Array
    marked: Array
    kept_terms: Array
    kept_values: Array


class CompiledRM3:
    """Expands queries from documents.

    Args:
        totals: The index.
        documents: How many documents the share of a term is counted against.
        plain: Whether terms must match ``[a-z0-9]+``.
    """

    def __init__(self, totals: Totals, documents: int, *, plain: bool = True) -> None:
        names = pl.Series(totals.terms, dtype=pl.String)
        frequency = np.diff(totals.offsets).astype(np.float32)
        # Java counts characters beyond the first 65,536 as two.
        sizes = names.str.len_chars() + names.str.count_matches("[\U00010000-\U0010ffff]")
        allowed = names.str.contains("^[a-z0-9]{2,20}$") if plain else sizes.is_between(2, 20)
        self._eligible = allowed.to_numpy() & (frequency / np.float32(documents) <= _COMMON)
        self._ranks = np.empty(len(names), dtype=np.int32)
        self._ranks[names.arg_sort().to_numpy()] = np.arange(len(names), dtype=np.int32)

    def expanded(
        self, queries: Terms, feedback: Ranked, vectors: Vectors, rm3: RM3, threads: int
    ) -> Terms:
        """The expanded queries.

        Args:
            queries: The queries, their weights adding up to 1 with those of unknown terms.
            feedback: At most ``rm3.fb_docs`` documents per query, with scores.
            vectors: The terms of these documents.
            rm3: RM3's parameters.
        """
        index = _Index(*vectors[:3], self._eligible, self._ranks)
        sizes = np.diff(queries.starts)
        starts = np.concatenate(([0], np.cumsum(sizes + rm3.fb_terms)))
        terms = np.empty(starts[-1], dtype=np.int64)
        weights = np.empty(starts[-1], dtype=np.float32)
        counts = np.zeros(len(queries), dtype=np.int64)
        own = _Lists(queries.starts, queries.numbers, queries.weights)
        scores = np.maximum(feedback.scores, 0).astype(np.float32)
        found = _Lists(feedback.starts, vectors.rows, scores)
        into = _Lists(starts, terms, weights)

        def expand(span: tuple[int, int]) -> None:
            share = np.float32(rm3.original_query_weight)
            _expand(*span, index, own, found, rm3.fb_terms, share, into, counts)

        in_threads(expand, len(queries), threads)
        room = np.diff(starts)
        kept = np.arange(len(terms)) - np.repeat(starts[:-1], room) < np.repeat(counts, room)
        return Terms(np.concatenate(([0], np.cumsum(counts))), terms[kept], weights[kept])


@kernel
def _insert(
    term: Any, value: Any, ranks: Array, kept_terms: Array, kept_values: Array, count: Any
) -> Any:
    """Keep the term if it is among the best; returns how many are kept."""
    size = len(kept_terms)
    if count == size:
        worst = kept_values[count - 1]
        if value < worst or (value == worst and ranks[term] > ranks[kept_terms[count - 1]]):
            return count
        count -= 1
    place = count
    while place > 0:
        above = kept_values[place - 1]
        if above > value or (above == value and ranks[kept_terms[place - 1]] < ranks[term]):
            break
        kept_values[place] = above
        kept_terms[place] = kept_terms[place - 1]
        place -= 1
    kept_values[place] = value
    kept_terms[place] = term
    return count + 1


@kernel
def _relevance(index: _Index, docs: Array, scores: Array, room: _Room) -> Any:
    """Write the relevance model to the kept terms and values; returns how many it has."""
    eligible, ranks = index.eligible, index.ranks
    room_terms, room_tfs, model, marked, kept_terms, kept_values = room
    size = len(kept_terms)
    touched = np.empty(size * len(docs), dtype=np.int64)
    seen = 0
    for n in range(len(docs)):
        first, last = index.starts[docs[n]], index.starts[docs[n] + 1]
        length = decode(index.code, first, last, room_terms, room_tfs)
        count = 0
        for i in range(length):
            term = room_terms[i]
            if 0 <= term < len(eligible) and eligible[term]:
                value = np.float32(room_tfs[i])
                count = _insert(term, value, ranks, kept_terms, kept_values, count)
        norm = np.float32(kept_values[:count].astype(np.float64).sum())
        if norm > _LEAST_NORM:
            for i in range(count):
                term = kept_terms[i]
                if not marked[term]:
                    marked[term] = True
                    touched[seen] = term
                    seen += 1
                model[term] += kept_values[i] / norm * scores[n]
    count = 0
    for i in range(seen):
        term = touched[i]
        count = _insert(term, model[term], ranks, kept_terms, kept_values, count)
        model[term], marked[term] = 0, False
    norm = kept_values[:count].astype(np.float64).sum()
    if norm == 0:
        return 0
    for i in range(count):
        kept_values[i] = np.float32(np.float64(kept_values[i]) / norm)
    return count


@kernel
def _expand(
    first: int,
    last: int,
    index: _Index,
    queries: _Lists,
    found: _Lists,
    fb_terms: int,
    own: Any,
    into: _Lists,
    out_counts: Array,
) -> None:
    """Expand the queries ``first`` to ``last`` - 1 by the documents found, into weighted terms."""
    terms, tfs = np.empty(index.longest, dtype=np.int32), np.empty(index.longest, dtype=np.int32)
    model = np.zeros(len(index.ranks), dtype=np.float32)
    marked = np.zeros(len(index.ranks), dtype=np.bool_)
    kept_terms = np.empty(fb_terms, dtype=np.int64)
    kept_values = np.empty(fb_terms, dtype=np.float32)
    room = _Room(terms, tfs, model, marked, kept_terms, kept_values)
    out_starts, out_terms, out_weights = into
    rest = 1.0 - np.float64(own)
    for query in range(first, last):
        begin, end = found.starts[query], found.starts[query + 1]
        count = _relevance(index, found.numbers[begin:end], found.weights[begin:end], room)
        for i in range(count):
            model[kept_terms[i]] = kept_values[i]
            marked[kept_terms[i]] = True
        place = out_starts[query]
        for i in range(queries.starts[query], queries.starts[query + 1]):
            term = queries.numbers[i]
            mixed = np.float64(own * queries.weights[i]) + rest * np.float64(model[term])
            out_terms[place], out_weights[place] = term, np.float32(mixed)
            model[term], marked[term] = 0, False
            place += 1
        for i in range(count):
            term = kept_terms[i]
            if marked[term]:
                out_terms[place] = term
                out_weights[place] = np.float32(rest * np.float64(model[term]))
                model[term], marked[term] = 0, False
                place += 1
        out_counts[query] = place - out_starts[query]
