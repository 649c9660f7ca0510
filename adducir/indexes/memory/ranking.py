"""Queries in bulk: packs them, ranks by compiled or by any formula in threads, packs the hits."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from adducir.indexes.arrays import Array, damaged
from adducir.indexes.memory import kernels
from adducir.indexes.memory.bounding import LEVELS, Peaks
from adducir.indexes.memory.inverting import LENGTHS
from adducir.indexes.memory.scoring import Queries, formula_of, postings_of, weighted
from adducir.indexes.memory.segment import FILES, SavedSegment
from adducir.indexes.memory.sorting import order
from adducir.indexes.models import BM25, QLD, Model, Statistics

_SLICE = 64


@dataclass(frozen=True, eq=False)
class Terms:
    """q queries as t term numbers with weights, each term once in its query.

    Attributes:
        starts: (q + 1,) int64: where each query's terms begin.
        numbers: (t,) int64 term numbers.
        weights: (t,) float32.
    """

    starts: Array
    numbers: Array
    weights: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of(cls, queries: Iterable[Mapping[str, float]], numbers: Mapping[str, int]) -> "Terms":
        """Queries from terms and weights; terms that ``numbers`` lacks are left out."""
        starts, found, weights = [0], list[int](), list[float]()
        for query in queries:
            for term, weight in query.items():
                number = numbers.get(term)
                if number is not None:
                    found.append(number)
                    weights.append(weight)
            starts.append(len(found))
        return cls(
            np.array(starts, dtype=np.int64),
            np.array(found, dtype=np.int64),
            np.array(weights, dtype=np.float32),
        )


@dataclass(frozen=True, eq=False)
class Ranked:
    """The hits of q queries.

    Attributes:
        counts: (q,) how many hits each query has.
        docs: int32 document numbers, query after query, best first.
        scores: float32, or float64 where the model is of that precision.
    """

    counts: Array
    docs: Array
    scores: Array

    @property
    def starts(self) -> Array:
        """(q + 1,) int64: where each query's hits begin."""
        return np.concatenate(([0], np.cumsum(self.counts)))


class Ranker:
    """Ranks the documents of an index by any model.

    Args:
        documents: How many documents the corpus has, those without a term included.
        accurate: BM25 with exact lengths.
    """

    def __init__(self, segment: SavedSegment, documents: int, *, accurate: bool) -> None:
        self._segment, self._documents, self._accurate = segment, documents, accurate
        self._postings = postings_of(segment)
        terms = len(segment.occurrences)
        least = np.empty((terms, LEVELS), dtype=np.uint8)
        self._peaks = Peaks(np.zeros(terms, dtype=np.float32), least)

    def rank(self, terms: Terms, model: Model, *, depth: int | None, threads: int) -> Ranked:
        """Rank the documents that hold a term of the query, at most ``depth`` each."""
        try:
            if type(model) is BM25 or type(model) is QLD:
                return self._as_lucene(terms, model, depth, threads)
            return self._by_formula(terms, model, depth, threads)
        except IndexError as error:  # a document number that there is not
            raise damaged(self._segment.folder / FILES["docs"]) from error

    def _as_lucene(
        self, terms: Terms, model: BM25 | QLD, depth: int | None, threads: int
    ) -> Ranked:
        formula = formula_of(model, self._segment, accurate=self._accurate)
        queries = weighted(terms.starts, terms.numbers, terms.weights, model, self._segment)
        room = self._most_hits(queries, depth)
        starts = np.concatenate(([0], np.cumsum(room)))
        docs = np.empty(starts[-1], dtype=np.int32)
        scores = np.empty(starts[-1], dtype=np.float32)
        counts = np.zeros(len(terms), dtype=np.int64)

        def search(first: int, last: int) -> None:
            rest = (queries, first, last, starts, docs, scores, counts)
            kernels.search(self._postings, formula, self._peaks, *rest)

        in_threads(search, len(terms), threads)
        if (counts < room).any():
            kept = np.arange(len(docs)) - np.repeat(starts[:-1], room) < np.repeat(counts, room)
            docs, scores = docs[kept], scores[kept]
        return Ranked(counts, docs, scores)

    def _most_hits(self, queries: Queries, depth: int | None) -> Array:
        """(q,) the most hits that each query can have."""
        sizes = self._segment.frequencies[queries.terms]
        ends = np.concatenate(([0], np.cumsum(sizes)))
        matches = ends[queries.starts[1:]] - ends[queries.starts[:-1]]
        most = len(self._segment) if depth is None else min(depth, len(self._segment))
        hits: Array = np.minimum(matches, most)
        return hits

    def _by_formula(self, terms: Terms, model: Model, depth: int | None, threads: int) -> Ranked:
        """Any other model: in doubles from exact lengths, or rounded as Lucene rounds."""
        segment, size = self._segment, len(self._segment)
        lengths = LENGTHS[segment.norms] if model.like_lucene else segment.lengths
        precision = np.float32 if model.like_lucene else np.float64
        statistics = Statistics(
            documents=self._documents,
            filled=size,
            tokens=int(segment.tokens),
            frequencies=segment.frequencies,
            occurrences=np.asarray(segment.occurrences),
            lengths=np.asarray(lengths),
        )
        of_terms = model.term_factors(statistics)
        of_documents, background = model.length_factors(statistics), model.background(of_terms)
        empty = np.empty(0, dtype=np.int32)
        found: list[tuple[Array, Array]] = [(empty, empty.astype(precision))] * len(terms)

        def search(first: int, last: int) -> None:
            for query in range(first, last):
                sums, seen = np.zeros(size), np.zeros(size, dtype=bool)
                for n in range(terms.starts[query], terms.starts[query + 1]):
                    term, weight = terms.numbers[n], np.float64(terms.weights[n])
                    part = slice(segment.offsets[term], segment.offsets[term + 1])
                    docs, tfs = segment.docs[part], segment.tfs[part].astype(np.float64)
                    added = model.impacts(of_terms[term], tfs, of_documents[docs])
                    if background is not None:
                        sums += weight * background[term]
                        added = added - background[term]
                    sums[docs] += (weight * added).astype(precision)
                    seen[docs] = True
                matching = np.flatnonzero(seen)
                scores = sums[matching].astype(precision)
                places = np.empty(min(len(scores), depth or len(scores)), dtype=np.int32)
                best = np.empty(len(places), dtype=precision)
                order(scores, places, best)
                found[query] = matching[places].astype(np.int32), best

        in_threads(search, len(terms), threads)
        counts = np.array([len(docs) for docs, _ in found], dtype=np.int64)
        docs = np.concatenate([empty, *(docs for docs, _ in found)])
        scores = np.concatenate([empty.astype(precision), *(scores for _, scores in found)])
        return Ranked(counts, docs, scores)


def in_threads(work: Callable[[int, int], None], count: int, threads: int) -> None:
    """Call ``work`` with spans (first, last) that cover ``count`` queries, in several threads."""
    size = max(1, min(_SLICE, -(-count // (4 * threads))))
    spans = list(pairwise([*range(0, count, size), count]))
    if threads == 1 or len(spans) < 2:
        for span in spans:
            work(*span)
        return
    with ThreadPoolExecutor(min(threads, len(spans))) as pool:
        for _ in pool.map(lambda span: work(*span), spans):
            pass
