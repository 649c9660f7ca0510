"""One candidate set: many candidates, ranked in full for any number of queries."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, get_args

import numpy as np

from adducir.core.errors import UsageError
from adducir.core.processes import default_threads
from adducir.core.texts import refuse_text
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import Array
from adducir.indexes.candidates.collection import Collection
from adducir.indexes.candidates.impacts import Impacts, apply
from adducir.indexes.candidates.postings import Spans, invert
from adducir.indexes.candidates.queries import Query, number_queries
from adducir.indexes.candidates.ranking import Matrix, Ranking, order
from adducir.indexes.candidates.scoring import Queries, count, score
from adducir.indexes.candidates.vocabulary import Cut, Numbers, Vocabulary, vocabularies
from adducir.indexes.models import Model

Ties = Literal["against", "expected"]
"""What candidates level with the gold one do to its rank: all stand before it, or half of them."""

SCORES = 1 << 22
"""Scores that are held at a time where not all are asked for: 32 MB."""
_BLOCKS = 4  # a thread: threads that share a core with others then still end together


class CandidateSet:
    """Candidates, numbered from 0, with the statistics of these candidates alone.

    A set that is part of a collection, in :mod:`.parts`, has that collection's.

    Made by :meth:`of_texts`, :meth:`of_tokens` or :meth:`windows`. A query is a text, a list of
    ready terms, or a mapping from terms to weights; a term that a query repeats counts each time,
    as in rank_bm25, and a term that no candidate holds counts nothing.
    """

    def __init__(
        self,
        spans: Spans,
        vocabulary: Vocabulary,
        threads: int | None = None,
        collection: Collection | None = None,
    ) -> None:
        self._spans = spans
        self._collection = collection
        self._vocabulary = vocabulary
        self._threads = threads or default_threads()
        self._postings = invert(spans)
        self._applied: tuple[Model, Impacts] | None = None

    @classmethod
    def over(
        cls, texts: Sequence[str], vocabulary: Vocabulary, threads: int | None = None
    ) -> "CandidateSet":
        """Candidates as texts, with terms of a vocabulary.

        Raises:
            UsageError: One text in place of several.
        """
        refuse_text(texts, "texts")
        return cls(Spans.of(vocabulary.of_texts(texts, grow=True)), vocabulary, threads)

    @classmethod
    def of_texts(
        cls,
        texts: Sequence[str],
        analysis: Analysis | Cut | None = None,
        *,
        threads: int | None = None,
    ) -> "CandidateSet":
        """Candidates as texts.

        Args:
            texts: The candidates; a text without a term is a candidate, too.
            analysis: Lucene's analysis (Anserini's by default), or a function that makes a text's
                terms: :func:`lower_split` where a figure is to be comparable with rank_bm25's.

        Raises:
            UsageError: One text in place of several.
            MachineError: No Java for Lucene's analysis.
        """
        return cls.over(texts, vocabularies(analysis or Analysis())(), threads)

    @classmethod
    def of_tokens(
        cls,
        lists: Sequence[Sequence[str]],
        analysis: Cut | None = None,
        *,
        threads: int | None = None,
    ) -> "CandidateSet":
        """Candidates as lists of ready terms.

        Args:
            lists: The terms of each candidate.
            analysis: How the terms were made, for queries that come as texts.

        Raises:
            UsageError: A text in place of a list.
        """
        refuse_text(lists, "lists")
        if any(isinstance(terms, str) for terms in lists):
            raise UsageError("each candidate must be a list of terms, not a text.")
        vocabulary = vocabularies(analysis)()
        return cls(Spans.of(vocabulary.of_terms(lists, grow=True)), vocabulary, threads)

    def __len__(self) -> int:
        return len(self._spans.begins)

    def windows(self, n: int) -> "CandidateSet":
        """The passages of ``n`` neighbouring candidates (a book's sentences, say), in order.

        Passage i holds the candidates i to i + n - 1. Nothing is analysed again; statistics are
        those of the passages, as if each were a document.

        Raises:
            UsageError: ``n`` below 1; this set has windows itself.
        """
        if n < 1:
            raise UsageError(f"a window must hold 1 candidate or more, not {n}.")
        if len(self) > 1 and self._spans.begins[1] < self._spans.ends[0]:
            raise UsageError("windows can be made of sentences, not of windows.")
        return CandidateSet(self._spans.windows(n), self._vocabulary, self._threads)

    def scores(self, queries: Sequence[Query], model: Model) -> Matrix:
        """Every candidate's score for every query.

        Returns:
            (queries, candidates) float64; :meth:`rank` and :meth:`gold_ranks` never hold so much.

        Raises:
            UsageError: A query or the model is not as it should be.
        """
        put, impacts = self._put(queries), self._impacts(model)
        out: Matrix = np.empty((len(queries), len(self)), dtype=np.float64)

        def work(low: int, high: int) -> None:
            score(impacts, put, low, out[low:high])

        self._in_threads(work, len(queries))
        return out

    def rank(self, queries: Sequence[Query], model: Model, depth: int | None = None) -> Ranking:
        """The best candidates for every query; equal scores in order of the candidates' numbers.

        Args:
            depth: How many candidates; None for all.

        Raises:
            UsageError: A query, the model or the depth is not as it should be.
        """
        return self.rank_numbered(*number_queries(self._vocabulary, queries), model, depth)

    def rank_numbered(
        self, numbers: Numbers, weights: Array, model: Model, depth: int | None
    ) -> Ranking:
        """As :meth:`rank`, for queries that have term numbers of the set's vocabulary already."""
        put = Queries(numbers.starts, self._postings.rows_of(numbers.values), weights)
        impacts, queries = self._impacts(model), len(numbers.starts) - 1
        ranking = Ranking.empty(queries, len(self), depth)
        step = max(SCORES // self._threads // max(len(self), 1), 1)

        def work(low: int, high: int) -> None:
            room = np.empty((min(step, high - low), len(self)), dtype=np.float64)
            for first in range(low, high, step):
                last = min(first + step, high)
                scores = room[: last - first]
                score(impacts, put, first, scores)
                order(scores, ranking.numbers[first:last], ranking.scores[first:last])

        self._in_threads(work, queries)
        return ranking

    def gold_ranks(
        self,
        queries: Sequence[Query],
        gold: Sequence[int] | Array,
        model: Model,
        *,
        ties: Ties = "against",
    ) -> Array:
        """The rank, from 1, of each query's gold candidate among all candidates.

        Args:
            gold: The number of each query's gold candidate.
            ties: ``against``: the number of candidates whose score is not below the gold one's,
                so that ties count against us. ``expected``: the mean rank over all orders of the
                tied candidates.

        Returns:
            (queries,) int64, or float64 for expected ranks.

        Raises:
            UsageError: A query, the model or a gold candidate is not as it should be.
        """
        if ties not in get_args(Ties):
            raise UsageError(f"ties must be 'against' or 'expected', not {ties!r}.")
        above, level = self.gold_counts(queries, gold, model)
        return above + level if ties == "against" else above + (level + 1) / 2

    def gold_counts(
        self, queries: Sequence[Query], gold: Sequence[int] | Array, model: Model
    ) -> tuple[Array, Array]:
        """How many candidates score above each query's gold one, and how many level with it.

        Arguments and errors are those of :meth:`gold_ranks`.

        Returns:
            (queries,) int64 each; the gold candidate is level with itself.
        """
        put, numbers = self._put(queries), self._gold(gold, len(queries))
        impacts = self._impacts(model)
        above = np.empty(len(numbers), dtype=np.int64)
        level = np.empty(len(numbers), dtype=np.int64)

        def work(low: int, high: int) -> None:
            count(impacts, put, numbers, low, high, above, level)

        self._in_threads(work, len(numbers))
        return above, level

    def scores_absent_terms(self, model: Model) -> bool:
        """Whether a model adds something to candidates that lack a term, as BM25+ does.

        Raises:
            UsageError: There is no such model, or only Lucene has it.
        """
        return len(self._impacts(model).background) > 0

    def _put(self, queries: Sequence[Query]) -> Queries:
        numbers, weights = number_queries(self._vocabulary, queries)
        return Queries(numbers.starts, self._postings.rows_of(numbers.values), weights)

    def _impacts(self, model: Model) -> Impacts:
        if self._applied is None or self._applied[0] != model:
            self._applied = model, apply(self._postings, model, self._collection)
        return self._applied[1]

    def _gold(self, gold: Sequence[int] | Array, queries: int) -> Array:
        numbers = np.asarray(gold)
        if len(numbers) == 0:
            numbers = numbers.astype(np.int64)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise UsageError("gold must give one candidate number a query.")
        if len(numbers) != queries:
            raise UsageError(f"{queries} queries, but {len(numbers)} gold candidates.")
        wrong = np.flatnonzero((numbers < 0) | (numbers >= len(self)))
        if len(wrong):
            raise UsageError(
                f"query {wrong[0]} has the gold candidate {numbers[wrong[0]]}, but the set has "
                f"{len(self)} candidates, numbered from 0."
            )
        return numbers.astype(np.int64)

    def _in_threads(self, work: Callable[[int, int], None], queries: int) -> None:
        """Do ``work`` on all queries, cut into blocks."""
        blocks = min(self._threads * _BLOCKS, queries) if self._threads > 1 else 1
        if blocks <= 1:
            work(0, queries)
            return
        cuts = np.linspace(0, queries, blocks + 1).astype(int).tolist()
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(work, cuts[:-1], cuts[1:]))
