"""Candidate sets: small collections that are ranked in full, in memory, for each query.

Examples are a book's passages of n sentences (RELiC) and a question's fifty paragraphs (HotpotQA).
Document frequencies and the mean length come only from the candidates. A set is an unsaved segment,
scored by any model in doubles with exact lengths. Candidates are numbered from 0, and those without
any query term are ranked too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adducir.core.errors import UsageError
from adducir.core.processes import default_threads, in_threads
from adducir.core.progress import progress
from adducir.core.texts import refuse_unless
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import Array
from adducir.indexes.memory.exhaustive import (
    Matrix,
    WeighedSegment,
    count,
    order_rows,
    score,
    weighed,
)
from adducir.indexes.memory.scoring import Queries
from adducir.indexes.memory.segment import Segment
from adducir.indexes.models import Model, Statistics
from adducir.indexes.vocabulary import TermIds, Tokenizer, Vocabulary, vocabulary_of

Query = str | Sequence[str] | Mapping[str, float]
"""A text, analysed like the candidates; terms, repeated as often as they count; or terms with
weights. Terms that are not in any candidate are ignored."""

_SCORES = 1 << 22  # held at a time unless all are requested: 32 MB
_PART = 1 << 16  # candidates
_MERGED = 1 << 12  # queries


@dataclass(frozen=True, eq=False)
class Ranking:
    """The k best candidates of a set for each of q queries: (q, k) int32 and float64."""

    numbers: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    scores: Matrix

    @classmethod
    def empty(cls, queries: int, candidates: int, depth: int | None) -> "Ranking":
        if depth is not None and depth < 1:
            raise UsageError(f"a depth must be 1 or more, not {depth}.")
        shape = queries, candidates if depth is None else min(depth, candidates)
        return cls(np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.float64))

    def fill(self, rows: slice, scores: Matrix) -> None:
        order_rows(scores, self.numbers[rows], self.scores[rows])


def rank(scores: Matrix, depth: int | None) -> Ranking:
    """Rank by (q, D) finite scores; ties in the order of candidate numbers."""
    ranking = Ranking.empty(*scores.shape, depth)
    ranking.fill(slice(None), scores)
    return ranking


class CandidateSet:
    """Candidates to rank for queries."""

    def __init__(
        self,
        ids: TermIds,
        vocabulary: Vocabulary,
        threads: int | None = None,
        collection: "CollectionCounts | None" = None,
    ) -> None:
        self._vocabulary, self._collection = vocabulary, collection
        self._threads = threads or default_threads()
        self.segment, self._rows = Segment.invert(*ids)
        self._applied: tuple[Model, WeighedSegment] | None = None

    @classmethod
    def of_texts(
        cls,
        texts: Sequence[str],
        analysis: Analysis | Tokenizer | Vocabulary | None = None,
        *,
        threads: int | None = None,
    ) -> "CandidateSet":
        """Candidates as texts; with :func:`.lower_split`, figures match rank_bm25's."""
        refuse_unless(texts, "texts")
        vocabulary = vocabulary_of(analysis)
        return cls(vocabulary.of_texts(texts, grow=True), vocabulary, threads)

    def __len__(self) -> int:
        return len(self.segment)

    def scores(self, queries: Sequence[Query], model: Model) -> Matrix:
        """(queries, candidates) scores; :meth:`rank` and :meth:`gold_counts` hold fewer."""
        local, impacts = self._local(_numbered(self._vocabulary, queries)), self._impacts(model)
        out: Matrix = np.empty((len(queries), len(self)), dtype=np.float64)
        in_threads(
            lambda low, high: score(impacts, local, low, out[low:high]), len(queries), self._threads
        )
        return out

    def rank(self, queries: Sequence[Query], model: Model, depth: int | None = None) -> Ranking:
        return self._ranked(_numbered(self._vocabulary, queries), model, depth)

    def _ranked(self, queries: Queries, model: Model, depth: int | None) -> Ranking:
        local, impacts, total = self._local(queries), self._impacts(model), queries.size
        ranking = Ranking.empty(total, len(self), depth)
        step = max(_SCORES // self._threads // max(len(self), 1), 1)

        def work(low: int, high: int) -> None:
            for first in range(low, high, step):
                rows = slice(first, min(first + step, high))
                scores = np.empty((rows.stop - first, len(self)), dtype=np.float64)
                score(impacts, local, first, scores)
                ranking.fill(rows, scores)

        in_threads(work, total, self._threads)
        return ranking

    def gold_counts(
        self, queries: Sequence[Query], gold: Sequence[int] | Array, model: Model
    ) -> tuple[Array, Array]:
        """(queries,) each: how many candidates score above the gold one, and how many tie."""
        local, impacts = self._local(_numbered(self._vocabulary, queries)), self._impacts(model)
        numbers = np.asarray(gold, dtype=np.int64 if len(gold) == 0 else None)
        if numbers.shape != (len(queries),) or numbers.dtype.kind not in "iu":
            raise UsageError(f"gold must give one candidate number for each of {len(queries)}.")
        wrong = np.flatnonzero((numbers < 0) | (numbers >= len(self)))
        if len(wrong):
            raise UsageError(
                f"query {wrong[0]} has the gold candidate {numbers[wrong[0]]}, but the set has "
                f"{len(self)} candidates, numbered from 0."
            )
        numbers = numbers.astype(np.int64)
        above, level = np.empty_like(numbers), np.empty_like(numbers)

        def work(low: int, high: int) -> None:
            count(impacts, local, numbers, low, high, above, level)

        in_threads(work, len(numbers), self._threads)
        return above, level

    def _local(self, queries: Queries) -> Queries:
        """The queries with the segment's term numbers; the vocabulary may be newer than the set."""
        rows = self._rows[np.minimum(queries.terms, len(self._rows) - 1)]
        return queries._replace(terms=rows)

    def _impacts(self, model: Model) -> WeighedSegment:
        if not isinstance(model, Model) or "memory" not in model.engines() or model.by_field:
            raise UsageError(f"candidate sets cannot be ranked with {model!r}.")
        applied = self._applied  # of this thread, whatever another one sets
        if applied is None or applied[0] != model:
            if self._collection is None:
                factors = model.factors(self.segment.statistics)
            else:
                factors = self._collection.factors(self.segment, self._rows, model)
            applied = self._applied = model, weighed(self.segment, model, *factors)
        return applied[1]


def rank_parts(
    texts: Sequence[str],
    queries: Sequence[Query],
    model: Model,
    depth: int,
    *,
    size: int = _PART,
    analysis: Analysis | Tokenizer | Vocabulary | None = None,
    threads: int | None = None,
) -> Ranking:
    """A large collection's best candidates for each query, in bounded memory.

    Ranks and scores are bitwise those of :meth:`CandidateSet.rank` over all texts: every part uses
    the statistics of the whole, so several parts are analysed twice. Memory holds one part of
    ``size`` texts at a time.
    """
    refuse_unless(texts, "texts")
    vocabulary = vocabulary_of(analysis)
    firsts = range(0, len(texts), size)
    depth = Ranking.empty(0, len(texts), depth).numbers.shape[1]

    def ids(first: int) -> TermIds:
        return vocabulary.of_texts(texts[first : first + size], grow=True)

    collection = CollectionCounts() if len(firsts) > 1 else None
    if collection is not None:
        for first in firsts:
            collection.add(*Segment.invert(*ids(first)))
    best, numbered = Best(len(queries), depth), None
    for first in firsts:
        part = CandidateSet(ids(first), vocabulary, threads, collection)
        # All parts share one vocabulary, read in full by the first.
        numbered = numbered or _numbered(vocabulary, queries)
        best.add(part._ranked(numbered, model, depth), first)
        progress().advance(len(part))
    return best.ranking


class Best:
    """The ``depth`` best candidates so far, over parts in ascending order, for q queries."""

    def __init__(self, queries: int, depth: int) -> None:
        self._depth = depth
        self.ranking = Ranking.empty(queries, 0, None)

    def add(self, part: Ranking, first: int) -> None:
        """Merge a part's best candidates; its first candidate has the number ``first``."""
        old = self.ranking
        queries, held = old.numbers.shape
        new = Ranking.empty(queries, held + part.numbers.shape[1], self._depth)
        for low in range(0, queries, _MERGED):
            some = slice(low, low + _MERGED)
            # Ties keep the collection's order: earlier parts come first.
            scores = np.concatenate([old.scores[some], part.scores[some]], axis=1)
            numbers = np.concatenate([old.numbers[some], part.numbers[some] + first], axis=1)
            new.fill(some, scores)
            new.numbers[some] = np.take_along_axis(numbers, new.numbers[some], axis=1)
        self.ranking = new


class CollectionCounts:
    """Counts over all parts of a collection, by term numbers of one vocabulary."""

    def __init__(self) -> None:
        self._documents = self._filled = self._tokens = 0
        self._of_terms = np.zeros((2, 0), dtype=np.int64)  # frequencies and occurrences

    def add(self, segment: Segment, rows: Array) -> None:
        of_part, held = segment.statistics, np.flatnonzero(rows >= 0)
        more = max(0, len(rows) - self._of_terms.shape[1])
        self._of_terms = np.pad(self._of_terms, ((0, 0), (0, more)))
        counts = np.stack((of_part.frequencies, of_part.occurrences))
        self._of_terms[:, held] += counts[:, rows[held]]
        self._documents += of_part.documents
        self._filled += of_part.filled
        self._tokens += of_part.tokens

    def factors(self, segment: Segment, rows: Array, model: Model) -> tuple[Array, Array]:
        held, present = np.flatnonzero(self._of_terms[0]), np.flatnonzero(rows >= 0)
        frequencies, occurrences = self._of_terms[:, held]
        of_collection = self._documents, self._filled, self._tokens, frequencies, occurrences
        of_part = np.empty(len(present), dtype=np.float64)
        statistics = Statistics(*of_collection, segment.lengths)
        of_terms, of_documents = model.factors(statistics)
        of_part[rows[present]] = of_terms[np.searchsorted(held, present)]
        return of_part, of_documents


def _numbered(vocabulary: Vocabulary, queries: Sequence[Query]) -> Queries:
    """Queries as the vocabulary's term numbers, in order and with repetitions."""
    refuse_unless(queries, "queries")
    if all(isinstance(query, str) for query in queries):
        ids = vocabulary.of_texts([str(query) for query in queries], grow=False)
        return Queries(*ids, np.ones(len(ids.values), dtype=np.float64))
    ids_of, weights = [], []
    for query in queries:
        if isinstance(query, str):
            ids = vocabulary.of_texts([query], grow=False)
        else:
            ids = vocabulary.of_terms([list(query)], grow=False)
        ids_of.append(ids.values)
        weights.append(np.ones(len(ids_of[-1]), dtype=np.float64))
        if isinstance(query, Mapping):
            weights[-1][:] = list(query.values())
        if not np.isfinite(weights[-1]).all():
            raise UsageError(f"the weights of a query must be finite numbers: {query}.")
    return Queries(*TermIds.of(list(map(len, ids_of)), ids_of), np.concatenate(weights))
