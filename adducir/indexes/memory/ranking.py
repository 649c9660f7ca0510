"""Queries in bulk: ranked by compiled code or by any formula, in threads."""

import sys
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from adducir.indexes.arrays import Array, damaged
from adducir.indexes.index import Ranked, in_threads
from adducir.indexes.memory.scoring import Formula, Postings, Queries
from adducir.indexes.memory.segment import FILES, LENGTHS, SavedSegment
from adducir.indexes.models import BM25, QLD, Model, Statistics

_KERNELS = "adducir.indexes.memory.kernels"
_FEW = 1 << 25  # postings


class Ranker:
    """Ranks the documents of an index by any model.

    BM25 and QLD are computed by compiled code, but for the first few queries of a process: loading
    it takes longer than adding so many postings by NumPy. Both give the same scores to the bit.
    ``documents`` counts those without a term, too; ``accurate``: BM25 with exact lengths.
    """

    def __init__(self, segment: SavedSegment, documents: int, *, accurate: bool) -> None:
        self._segment, self._documents, self._accurate = segment, documents, accurate
        self._read = 0

    def rank(self, queries: Queries, model: Model, *, depth: int | None, threads: int) -> Ranked:
        try:
            if type(model) is not BM25 and type(model) is not QLD:
                return self._by_model(queries, model, depth, threads)
            formula = Formula.of(model, self._segment, accurate=self._accurate)
            queries = queries.for_kernels(model, self._segment)
            if _KERNELS not in sys.modules:
                self._read += int(self._segment.frequencies[queries.terms].sum())
                self._read += queries.size * len(self._segment) // 4
                if self._read <= _FEW:
                    added = partial(formula.added, queries, np.asarray(self._segment.norms))
                    return self._exhaustive(queries, added, np.float32, depth, threads)
            return self._compiled(queries, formula, depth, threads)
        except IndexError as error:  # a document number that there is not
            raise damaged(self._segment.folder / FILES["docs"]) from error

    def _compiled(
        self, queries: Queries, formula: Formula, depth: int | None, threads: int
    ) -> Ranked:
        from adducir.indexes.memory import kernels

        # The most hits that each query can have.
        sizes = np.concatenate(([0], np.cumsum(self._segment.frequencies[queries.terms])))
        matches = sizes[queries.starts[1:]] - sizes[queries.starts[:-1]]
        room = np.minimum(matches, len(self._segment) if depth is None else depth)
        room = np.minimum(room, len(self._segment))
        starts = np.concatenate(([0], np.cumsum(room)))
        docs = np.empty(starts[-1], dtype=np.int32)
        scores = np.empty(starts[-1], dtype=np.float32)
        counts = np.zeros(len(room), dtype=np.int64)

        def search(first: int, last: int) -> None:
            rest = (queries, first, last, starts, docs, scores, counts)
            kernels.search(self._postings, formula, *rest)

        in_threads(search, len(room), threads)
        if (counts < room).any():
            kept = np.arange(len(docs)) - np.repeat(starts[:-1], room) < np.repeat(counts, room)
            docs, scores = docs[kept], scores[kept]
        return Ranked(counts, docs, scores)

    @cached_property
    def _postings(self) -> Postings:
        return Postings.of(self._segment)

    def _by_model(self, queries: Queries, model: Model, depth: int | None, threads: int) -> Ranked:
        """Any other model: in doubles from exact lengths, or rounded as Lucene rounds."""
        segment = self._segment
        lengths = LENGTHS[segment.norms] if model.like_lucene else segment.lengths
        statistics = Statistics(
            documents=self._documents,
            filled=len(segment),
            tokens=int(segment.tokens),
            frequencies=segment.frequencies,
            occurrences=np.asarray(segment.occurrences),
            lengths=np.asarray(lengths),
        )
        of_terms = model.term_factors(statistics)
        of_documents = model.length_factors(statistics)
        precision = np.float32 if model.like_lucene else np.float64

        def added(place: int, docs: Array, tfs: Array) -> Array:
            term, weight = queries.terms[place], np.float64(queries.weights[place])
            impacts = model.impacts(of_terms[term], tfs.astype(np.float64), of_documents[docs])
            return (weight * impacts).astype(precision)

        return self._exhaustive(queries, added, precision, depth, threads)

    def _exhaustive(
        self,
        queries: Queries,
        added: Callable[[int, Array, Array], Array],
        precision: type[np.floating],
        depth: int | None,
        threads: int,
    ) -> Ranked:
        segment, size = self._segment, len(self._segment)
        docs, tfs, offsets = map(np.asarray, (segment.docs, segment.tfs, segment.offsets))
        empty = np.empty(0, dtype=np.int32)
        found: list[tuple[Array, Array]] = [(empty, empty.astype(precision))] * queries.size

        def search(first: int, last: int) -> None:
            for query in range(first, last):
                sums, seen = np.zeros(size), np.zeros(size, dtype=bool)
                for n in range(queries.starts[query], queries.starts[query + 1]):
                    part = slice(offsets[queries.terms[n]], offsets[queries.terms[n] + 1])
                    sums[docs[part]] += added(n, docs[part], tfs[part])
                    seen[docs[part]] = True
                matching = np.flatnonzero(seen)
                scores = sums[matching].astype(precision)
                if depth is not None and depth < len(scores):
                    last_score = np.partition(scores, len(scores) - depth)[len(scores) - depth]
                    matching, scores = matching[scores >= last_score], scores[scores >= last_score]
                best = np.argsort(-scores, kind="stable")[:depth]
                found[query] = matching[best].astype(np.int32), scores[best]

        in_threads(search, queries.size, threads)
        counts = np.array([len(docs) for docs, _ in found], dtype=np.int64)
        ranked = np.concatenate([empty, *(docs for docs, _ in found)])
        scores = np.concatenate([empty.astype(precision), *(scores for _, scores in found)])
        return Ranked(counts, ranked, scores)
