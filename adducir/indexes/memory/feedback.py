"""Expanding queries over a memory index: RM3 compiled, any other method term by term.

See :mod:`adducir.indexes.feedback` for what RM3 computes. Anserini's hash maps decide in which
order norms are summed. Doubles hold such sums of floats exactly unless one is over a million times
another, so that order shows nowhere. Documents whose score is negative, which Lucene's never is,
add nothing. Terms of languages other than English may have any characters, as with Anserini's
option ``-rm3.noTermFilter``.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adducir.core.errors import UsageError
from adducir.indexes.arrays import Array, damaged
from adducir.indexes.feedback import (
    FEEDBACK,
    RM3,
    Collection,
    Document,
    FeedbackMethod,
    Weights,
    expanded,
    heaviest_first,
)
from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.inverting import decode
from adducir.indexes.memory.ranking import Ranked, Terms, in_threads
from adducir.indexes.memory.segment import FILES, SavedSegment

_COMMON = np.float32(0.1)
_LEAST_NORM = np.float32(0.001)


class Feedback:
    """Expands queries from documents that they found.

    Args:
        documents: How many documents Lucene would count: those with text, be it only stop words.
        plain: Whether new terms must match ``[a-z0-9]+``.
    """

    def __init__(self, segment: SavedSegment, documents: int, *, plain: bool) -> None:
        self._segment, self._documents, self._plain = segment, documents, plain

    def check(self, method: FeedbackMethod) -> None:
        """Refuse a method that this engine does not have."""
        if "memory" not in method.engines:
            raise UsageError(
                f"a memory index has no feedback {FEEDBACK.name_of(type(method))!r}.",
                hint="Build a Lucene index, or choose another method.",
            )

    def terms(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod, threads: int
    ) -> Terms:
        """The expanded queries, without terms that are not in the index.

        Args:
            found: The documents of each query, best first.
        """
        if isinstance(method, RM3):
            return self._rm3(_as_shares(queries), found, method, threads)
        return Terms.of(self._expanded(queries, found, method), self._segment)

    def weights(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod, threads: int
    ) -> list[Weights]:
        """The expanded queries, heaviest terms first; see :meth:`terms`."""
        self.check(method)
        if not isinstance(method, RM3):
            return self._expanded(queries, found, method)
        own = _as_shares(queries)
        terms = self._rm3(own, found, method, threads)
        names = self._names.gather(terms.numbers).to_list()
        share = np.float32(method.original_query_weight)
        made = []
        for query, shares in enumerate(own):
            span = slice(terms.starts[query], terms.starts[query + 1])
            weights = dict(zip(names[span], terms.weights[span].tolist(), strict=True))
            for term, weight in shares.items():  # those that the index lacks
                weights.setdefault(term, float(share * np.float32(weight)))
            made.append(heaviest_first(weights))
        return made

    def _expanded(
        self, queries: Sequence[Counter[str]], found: Ranked, method: FeedbackMethod
    ) -> list[Weights]:
        """By a method that reads documents by name."""
        segment, frequencies = self._segment, dict[str, int]()
        documents: list[Document] = []
        for doc, score in zip(found.docs.tolist(), found.scores.tolist(), strict=True):
            first, last = segment.forward_offsets[doc : doc + 2].tolist()
            terms, tfs = np.empty(last - first, np.int32), np.empty(last - first, np.int32)
            count = decode(segment.forward, first, last, terms, tfs)
            if count and terms[:count].max() >= len(segment.occurrences):
                raise damaged(segment.folder / FILES["forward"])
            names = self._names.gather(terms[:count]).to_list()
            documents.append(Document(score, dict(zip(names, tfs[:count].tolist(), strict=True))))
        every = list({term for one in (*queries, *(d.terms for d in documents)) for term in one})
        for term, number in zip(every, segment.numbers(every).tolist(), strict=True):
            if number >= 0:
                frequencies[term] = int(segment.offsets[number + 1] - segment.offsets[number])
        starts = found.starts
        each = (documents[starts[n] : starts[n + 1]] for n in range(len(queries)))
        collection = Collection(self._documents, self._plain, frequencies)
        return expanded(method, queries, each, collection)

    @cached_property
    def _names(self) -> pl.Series:
        return self._segment.terms

    @cached_property
    def _index(self) -> "_Index":
        segment = self._segment
        names = self._names
        share = segment.frequencies.astype(np.float32) / np.float32(self._documents)
        # Java counts characters beyond the first 65,536 as two.
        sizes = names.str.len_chars() + names.str.count_matches("[\U00010000-\U0010ffff]")
        allowed = names.str.contains("^[a-z0-9]{2,20}$") if self._plain else sizes.is_between(2, 20)
        code, starts = np.asarray(segment.forward), np.asarray(segment.forward_offsets)
        longest = int(np.diff(starts).max(initial=0))
        return _Index(code, starts, longest, allowed.to_numpy() & (share <= _COMMON), segment.ranks)

    def _rm3(self, own: Sequence[Weights], found: Ranked, rm3: RM3, threads: int) -> Terms:
        """The expanded queries, of terms in the index."""
        index, queries = self._index, Terms.of(own, self._segment)
        room = np.diff(queries.starts) + rm3.fb_terms
        starts = np.concatenate(([0], np.cumsum(room)))
        terms = np.empty(starts[-1], dtype=np.int64)
        weights = np.empty(starts[-1], dtype=np.float32)
        counts = np.zeros(queries.size, dtype=np.int64)
        lists = _Lists(queries.starts, queries.numbers, queries.weights)
        scores = np.maximum(found.scores, 0).astype(np.float32)
        feedback, into = _Lists(found.starts, found.docs, scores), _Lists(starts, terms, weights)

        def expand(first: int, last: int) -> None:
            share = np.float32(rm3.original_query_weight)
            _expand(first, last, index, lists, feedback, rm3.fb_terms, share, into, counts)

        in_threads(expand, queries.size, threads)
        kept = np.arange(len(terms)) - np.repeat(starts[:-1], room) < np.repeat(counts, room)
        return Terms(np.concatenate(([0], np.cumsum(counts))), terms[kept], weights[kept])


def _as_shares(counts: Sequence[Counter[str]]) -> list[Weights]:
    return [
        {term: count / total for term, count in query.items()}
        for query in counts
        for total in [query.total()]
    ]


class _Index(NamedTuple):
    """What the kernels read of an index.

    Attributes:
        code: uint8: documents' vectors, see :mod:`.inverting`.
        starts: (N + 1,) int64: where each document begins in ``code``.
        longest: The most bytes that a document has.
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
