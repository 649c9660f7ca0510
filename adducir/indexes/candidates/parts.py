"""The best candidates of a large collection, part by part, so that memory is bounded.

What is held beside the texts is one part with its postings, and the best candidates so far: no
array has a number for each query and candidate. Scores are those of the whole collection, to the
bit: every part has the collection's statistics, and terms are added in the query's order.
"""

from collections.abc import Sequence

import numpy as np

from adducir.core.errors import UsageError
from adducir.core.progress import progress
from adducir.core.texts import refuse_text
from adducir.indexes.analysis import Analysis
from adducir.indexes.candidates.collection import Collection
from adducir.indexes.candidates.postings import Spans, invert
from adducir.indexes.candidates.queries import Query, number_queries
from adducir.indexes.candidates.ranking import Ranking, order
from adducir.indexes.candidates.sets import CandidateSet
from adducir.indexes.candidates.vocabulary import Cut, Vocabulary, vocabularies
from adducir.indexes.models import Model

PART = 1 << 16
"""Candidates of a part."""
_MERGED = 1 << 12  # queries whose best candidates are put together at a time


class Best:
    """The best of all candidates that were added, for each of q queries.

    Args:
        queries: q.
        depth: How many are kept for each; fewer while there are fewer.
    """

    def __init__(self, queries: int, depth: int) -> None:
        self._depth = depth
        self._best = Ranking.empty(queries, 0, None)

    def add(self, ranking: Ranking, first: int) -> None:
        """Take in the best candidates of a part.

        Args:
            ranking: The part's; candidates are numbered from 0 in it.
            first: The number of its first candidate; parts come in rising order.
        """
        old, best = self._best, ranking
        queries, held = old.numbers.shape
        if not held and not first:
            self._best = Ranking(best.numbers[:, : self._depth], best.scores[:, : self._depth])
            return
        new = Ranking.empty(queries, held + best.numbers.shape[1], self._depth)
        for low in range(0, queries, _MERGED):
            some = slice(low, low + _MERGED)
            # Of equal scores the first in the collection: those of earlier parts stand before.
            scores = np.concatenate([old.scores[some], best.scores[some]], axis=1)
            numbers = np.concatenate([old.numbers[some], best.numbers[some] + first], axis=1)
            places = np.empty_like(new.numbers[some])
            order(scores, places, new.scores[some])
            new.numbers[some] = np.take_along_axis(numbers, places, axis=1)
        self._best = new

    @property
    def ranking(self) -> Ranking:
        """The best so far; equal scores in order of the candidates' numbers."""
        return self._best


def rank_parts(
    texts: Sequence[str],
    queries: Sequence[Query],
    model: Model,
    depth: int,
    *,
    size: int = PART,
    analysis: Analysis | Cut | None = None,
    vocabulary: Vocabulary | None = None,
    threads: int | None = None,
) -> Ranking:
    """The best candidates of one large collection for each query.

    The result is that of :meth:`.CandidateSet.rank` over all texts, whatever the ``size``. Texts
    are analysed twice where there are several parts, once to count terms.

    Args:
        texts: The candidates.
        queries: See :class:`.CandidateSet`.
        model: A retrieval model.
        depth: How many candidates for each query, at most.
        size: Candidates of a part.
        analysis: See :meth:`.CandidateSet.of_texts`.
        vocabulary: In place of ``analysis``: a new one.

    Raises:
        UsageError: A query, the model or the depth is not as it should be; the model adds to
            candidates that lack a term, and there are several parts.
        MachineError: No Java for Lucene's analysis.
    """
    refuse_text(texts, "texts")
    vocabulary = vocabulary or vocabularies(analysis or Analysis())()
    firsts = range(0, len(texts), size)

    def spans(first: int) -> Spans:
        return Spans.of(vocabulary.of_texts(texts[first : first + size], grow=True))

    collection = None
    if len(firsts) > 1:
        collection = Collection()
        for first in firsts:
            collection.add(invert(spans(first)))
    best = Best(len(queries), Ranking.empty(0, len(texts), depth).numbers.shape[1])
    numbered = None
    for first in firsts:
        part = CandidateSet(spans(first), vocabulary, threads, collection)
        # All parts have one vocabulary, which the first has read in full.
        numbered = numbered or number_queries(vocabulary, queries)
        if collection is not None and part.scores_absent_terms(model):
            raise UsageError(
                f"{type(model).__name__} adds to candidates that lack a term, which cannot be done "
                "part by part.",
                hint="Take BM25, or a CandidateSet of all texts.",
            )
        best.add(part.rank_numbered(*numbered, model, depth), first)
        progress().advance(len(part))
    return best.ranking
