"""Queries in bulk over a memory index: packs them, runs the kernels in threads, packs the hits."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory import kernels, kernels_numpy
from adducir.indexes.memory.bounding import LEVELS, Peaks
from adducir.indexes.memory.files import Arrays, Places, Totals
from adducir.indexes.memory.keeping import merge
from adducir.indexes.memory.scoring import Queries, formula_of, postings_of, weighted
from adducir.indexes.models import Dirichlet, Saturation

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
        starts, found, weights = [0], [], []
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
    """The rankings of q queries with n hits in all.

    Attributes:
        counts: (q,) int64: hits of each query.
        docs: (n,) int32: document numbers, query after query, best first.
        scores: (n,) float32, or float64 where the model is of that precision.
    """

    counts: Array
    docs: Array
    scores: Array

    @property
    def starts(self) -> Array:
        """(q + 1,) int64: where each query's hits begin."""
        return np.concatenate(([0], np.cumsum(self.counts)))


class Searcher:
    """Ranks by the formulas that are compiled.

    Args:
        backend: ``numba`` or ``numpy``.
        whole: The index that the arrays are a part of; by default they are all of it.
        places: Where the part stands in it.
    """

    def __init__(
        self,
        arrays: Arrays,
        backend: str,
        whole: Totals | None = None,
        places: Places | None = None,
    ) -> None:
        self._arrays = arrays
        self._whole = whole or arrays
        self._places = places
        self._postings = postings_of(arrays)
        self._backend = backend

    @cached_property
    def _peaks(self) -> Peaks:
        terms = len(self._arrays.collection)
        least = np.empty((terms, LEVELS), dtype=np.uint8)
        return Peaks(np.zeros(terms, dtype=np.float32), least)

    def rank(
        self,
        terms: Terms,
        model: Saturation | Dirichlet,
        *,
        accurate: bool,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        """Rank the documents that hold a term of the query.

        Args:
            terms: Numbers of the whole index.
            depth: Hits a query, at most; None for all.

        Returns:
            Documents by their numbers in these arrays.
        """
        formula = formula_of(model, self._whole, self._arrays.lengths, accurate=accurate)
        queries = weighted(terms.starts, terms.numbers, terms.weights, model, self._whole)
        if self._places is not None:
            queries = queries.in_part(self._places)
        room = self._most_hits(queries, depth)
        starts = np.concatenate(([0], np.cumsum(room)))
        docs = np.empty(starts[-1], dtype=np.int32)
        scores = np.empty(starts[-1], dtype=np.float32)
        counts = np.zeros(len(terms), dtype=np.int64)

        def search(span: tuple[int, int]) -> None:
            rest = (queries, *span, starts, docs, scores, counts)
            if self._backend == "numba":
                kernels.search(self._postings, formula, self._peaks, *rest)
            else:
                kernels_numpy.search(self._postings, formula, *rest)

        in_threads(search, len(terms), threads)
        if (counts < room).any():
            kept = np.arange(len(docs)) - np.repeat(starts[:-1], room) < np.repeat(counts, room)
            docs, scores = docs[kept], scores[kept]
        return Ranked(counts, docs, scores)

    def _most_hits(self, queries: Queries, depth: int | None) -> Array:
        """(q,) the most hits that each query can have."""
        offsets = self._arrays.offsets
        sizes = offsets[queries.terms + 1] - offsets[queries.terms]
        ends = np.concatenate(([0], np.cumsum(sizes)))
        matches = ends[queries.starts[1:]] - ends[queries.starts[:-1]]
        most = self._arrays.documents if depth is None else min(depth, self._arrays.documents)
        hits: Array = np.minimum(matches, most)
        return hits


def merged(one: Ranked, other: Ranked, depth: int | None) -> Ranked:
    """The best documents of two rankings of the same queries, which share no document.

    Args:
        depth: Hits a query, at most; None for all.
    """
    counts = one.counts + other.counts
    if depth is not None:
        counts = np.minimum(counts, depth)
    starts = np.concatenate(([0], np.cumsum(counts)))
    docs = np.empty(starts[-1], dtype=np.int32)
    scores = np.empty(starts[-1], dtype=one.scores.dtype)
    first, second = (one.starts, one.docs, one.scores), (other.starts, other.docs, other.scores)
    merge(*first, *second, starts, docs, scores)
    return Ranked(counts, docs, scores)


def ranked_by(
    sums_of: Callable[[int], tuple[Array, Array]], queries: int, depth: int, threads: int
) -> Ranked:
    """The best documents by sums: ``sums_of`` a query's number gives (N,), and (N,) which count."""
    none = np.empty(0)
    found: list[tuple[Array, Array]] = [(none, none)] * queries

    def search(span: tuple[int, int]) -> None:
        for query in range(*span):
            sums, seen = sums_of(query)
            matching = np.flatnonzero(seen)
            found[query] = kernels_numpy.best(matching, sums[matching], depth)

    in_threads(search, queries, threads)
    counts = np.array([len(docs) for docs, _ in found], dtype=np.int64)
    docs = np.concatenate([docs for docs, _ in found] or [none]).astype(np.int32)
    return Ranked(counts, docs, np.concatenate([scores for _, scores in found] or [none]))


def in_threads(work: Any, count: int, threads: int) -> None:
    """Call ``work`` with spans (first, last) that cover ``count`` queries, in several threads."""
    size = max(1, min(_SLICE, -(-count // (4 * threads))))
    spans = list(pairwise([*range(0, count, size), count]))
    if threads == 1 or len(spans) < 2:
        for span in spans:
            work(span)
        return
    with ThreadPoolExecutor(min(threads, len(spans))) as pool:
        for _ in pool.map(work, spans):
            pass
