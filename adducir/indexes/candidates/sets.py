"""One candidate set: many candidates, ranked in full for any number of queries."""

from collections.abc import Sequence

import numpy as np

from adducir.indexes.analysis import Analysis
from adducir.indexes.candidates.collection import Collection, Ties
from adducir.indexes.candidates.postings import Spans
from adducir.indexes.candidates.queries import Query, number_queries, refuse_text
from adducir.indexes.candidates.ranking import Matrix, Ranking
from adducir.indexes.candidates.scoring import Queries
from adducir.indexes.candidates.variants import CandidateModel
from adducir.indexes.candidates.vocabulary import Cut, Vocabulary, vocabulary_of
from adducir.indexes.memory.files import Array
from adducir.study.checking import checked
from adducir.study.errors import UsageError


class CandidateSet:
    """Candidates, numbered from 0, with the statistics of these candidates alone.

    Made by :meth:`of_texts`, :meth:`of_tokens` or :meth:`windows`. A query is a text, a list of
    ready terms, or a mapping from terms to weights; a term that a query repeats counts each time,
    as in rank_bm25, and a term that no candidate holds counts nothing.
    """

    def __init__(self, spans: Spans, vocabulary: Vocabulary, threads: int | None = None) -> None:
        self._spans = spans
        self._vocabulary = vocabulary
        self._threads = threads
        self._collection = Collection(spans, threads)

    @classmethod
    @checked
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
            threads: Threads that score; by default one a core.

        Raises:
            UsageError: One text in place of several.
            MachineError: No Java for Lucene's analysis.
        """
        refuse_text(texts, "texts")
        vocabulary = vocabulary_of(Analysis() if analysis is None else analysis)
        numbers = vocabulary.of_texts(texts, grow=True)
        return cls(Spans.of(numbers, [len(texts)]), vocabulary, threads)

    @classmethod
    @checked
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
            threads: Threads that score; by default one a core.

        Raises:
            UsageError: A text in place of a list.
        """
        refuse_text(lists, "lists")
        if any(isinstance(terms, str) for terms in lists):
            raise UsageError("each candidate must be a list of terms, not a text.")
        vocabulary = vocabulary_of(analysis)
        numbers = vocabulary.of_terms(lists, grow=True)
        return cls(Spans.of(numbers, [len(lists)]), vocabulary, threads)

    def __len__(self) -> int:
        return int(self._collection.sizes[0])

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

    @checked
    def scores(self, queries: Sequence[Query], model: CandidateModel) -> Matrix:
        """Every candidate's score for every query.

        Returns:
            (queries, candidates) float64; :meth:`rank` and :meth:`gold_ranks` never hold so much.

        Raises:
            UsageError: A query or the model is not as it should be.
        """
        put = self._put(queries)
        scores = self._collection.scores(put, model, 0, len(queries))
        return scores.reshape(len(queries), len(self))

    @checked
    def rank(
        self, queries: Sequence[Query], model: CandidateModel, depth: int | None = None
    ) -> Ranking:
        """The best candidates for every query; equal scores in order of the candidates' numbers.

        Args:
            queries: The queries.
            model: The formula.
            depth: How many candidates; None for all.

        Raises:
            UsageError: A query, the model or the depth is not as it should be.
        """
        return self._collection.rank(self._put(queries), model, 0, len(queries), depth)

    @checked
    def gold_ranks(
        self,
        queries: Sequence[Query],
        gold: Sequence[int] | Array,
        model: CandidateModel,
        *,
        ties: Ties = "against",
    ) -> Array:
        """The rank, from 1, of each query's gold candidate among all candidates.

        Args:
            queries: The queries.
            gold: The number of each query's gold candidate.
            model: The formula.
            ties: ``against``: the number of candidates whose score is not below the gold one's,
                so that ties count against us. ``expected``: the mean rank over all orders of the
                tied candidates.

        Returns:
            (queries,) int64, or float64 for expected ranks.

        Raises:
            UsageError: A query, the model or a gold candidate is not as it should be.
        """
        return self._collection.gold_ranks(self._put(queries), gold, model, ties)

    def _put(self, queries: Sequence[Query]) -> Queries:
        numbers, weights = number_queries(self._vocabulary, queries)
        return self._collection.queries(numbers, weights, np.zeros(len(queries), dtype=np.int64))
