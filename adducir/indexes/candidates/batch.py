"""Many candidate sets, each with queries of its own, in one call.

Sets are taken in chunks that share arrays, so that a set of fifty paragraphs and one question
costs little more than its analysis, and memory stays bounded for any number of sets.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from adducir.indexes.analysis import Analysis
from adducir.indexes.candidates.collection import SCORES, Collection, Ties
from adducir.indexes.candidates.postings import Spans
from adducir.indexes.candidates.queries import Query, number_queries, refuse_text
from adducir.indexes.candidates.ranking import Matrix, Ranking, rank
from adducir.indexes.candidates.scoring import Queries
from adducir.indexes.candidates.variants import CandidateModel
from adducir.indexes.candidates.vocabulary import Cut, Numbers, Vocabulary, Words, vocabulary_of
from adducir.indexes.memory.files import Array
from adducir.study.errors import UsageError

_CHUNK_LETTERS = 1 << 23


class RankingTask(NamedTuple):
    """A set's candidates, its queries, and the number of each query's gold candidate."""

    texts: Sequence[str]
    queries: Sequence[Query]
    gold: Sequence[int] | None = None


def score_sets(
    tasks: Iterable[RankingTask],
    model: CandidateModel,
    *,
    analysis: Analysis | Cut | None = None,
    threads: int | None = None,
) -> Iterator[Matrix]:
    """For each set in turn, every candidate's score for every query of the set.

    Args:
        tasks: The sets; each has statistics of its own. Taken a few at a time.
        model: The formula.
        analysis: See :meth:`.sets.CandidateSet.of_texts`.
        threads: Threads that score; by default one a core.

    Yields:
        (queries, candidates) float64.

    Raises:
        UsageError: A query or the model is not as it should be.
        MachineError: No Java for Lucene's analysis.
    """
    for chunk in _chunks(tasks, analysis, threads):
        yield from _scores_of(chunk, model)


def rank_sets(
    tasks: Iterable[RankingTask],
    model: CandidateModel,
    depth: int | None = None,
    *,
    analysis: Analysis | Cut | None = None,
    threads: int | None = None,
) -> Iterator[Ranking]:
    """For each set in turn, the best candidates (all, without a ``depth``) for its queries.

    Arguments and errors are those of :func:`score_sets`; equal scores come in order of the
    candidates' numbers.
    """
    for chunk in _chunks(tasks, analysis, threads):
        if sum(len(task.texts) * len(task.queries) for task in chunk.tasks) <= 2 * SCORES:
            yield from (rank(scores, depth) for scores in _scores_of(chunk, model))
            continue
        first = 0
        for task in chunk.tasks:
            last = first + len(task.queries)
            yield chunk.collection.rank(chunk.queries, model, first, last, depth)
            first = last


def gold_ranks_of_sets(
    tasks: Iterable[RankingTask],
    model: CandidateModel,
    *,
    ties: Ties = "against",
    analysis: Analysis | Cut | None = None,
    threads: int | None = None,
) -> Iterator[Array]:
    """For each set in turn, the ranks of its queries' gold candidates.

    Arguments and errors are those of :func:`score_sets`; see :meth:`.sets.CandidateSet.gold_ranks`
    for ``ties`` and the result.
    """
    for chunk in _chunks(tasks, analysis, threads):
        gold = list(chain.from_iterable(_gold_of(task) for task in chunk.tasks))
        ranks = chunk.collection.gold_ranks(chunk.queries, gold, model, ties)
        ends = np.cumsum([len(task.queries) for task in chunk.tasks])
        yield from np.split(ranks, ends[:-1])


class _Chunk(NamedTuple):
    tasks: list[RankingTask]
    collection: Collection
    queries: Queries


def _scores_of(chunk: _Chunk, model: CandidateModel) -> Iterator[Matrix]:
    scores = chunk.collection.scores(chunk.queries, model, 0, len(chunk.queries.sets))
    begin = 0
    for task in chunk.tasks:
        shape = len(task.queries), len(task.texts)
        end = begin + shape[0] * shape[1]
        yield scores[begin:end].reshape(shape)
        begin = end


def _chunks(
    tasks: Iterable[RankingTask], analysis: Analysis | Cut | None, threads: int | None
) -> Iterator[_Chunk]:
    shared = vocabulary_of(analysis or Analysis())
    for some in _portions(tasks):
        if isinstance(shared, Words):
            # A dictionary of one set's words stays in the processor's cache.
            parts = [_numbered([task], Words(shared.cut)) for task in some]
        else:
            parts = [_numbered(some, shared)]
        texts = _joined([part.texts for part in parts])
        queries = _joined([part.queries for part in parts])
        weights = np.concatenate([part.weights for part in parts])
        collection = Collection(Spans.of(texts, [len(task.texts) for task in some]), threads)
        sets = np.repeat(np.arange(len(some)), [len(task.queries) for task in some])
        yield _Chunk(some, collection, collection.queries(queries, weights, sets))


class _Numbered(NamedTuple):
    texts: Numbers
    queries: Numbers
    weights: Array


def _numbered(tasks: list[RankingTask], vocabulary: Vocabulary) -> _Numbered:
    texts = list(chain.from_iterable(task.texts for task in tasks))
    numbers = vocabulary.of_texts(texts, grow=True)
    queries = list(chain.from_iterable(task.queries for task in tasks))
    return _Numbered(numbers, *number_queries(vocabulary, queries))


def _joined(parts: list[Numbers]) -> Numbers:
    shifts = np.cumsum([0] + [len(part.values) for part in parts])
    starts = [part.starts[:-1] + shift for part, shift in zip(parts, shifts[:-1], strict=True)]
    return Numbers(
        np.concatenate([*starts, shifts[-1:]]), np.concatenate([part.values for part in parts])
    )


def _portions(tasks: Iterable[RankingTask]) -> Iterator[list[RankingTask]]:
    """Cut tasks so that neither texts nor scores fill the memory."""
    some: list[RankingTask] = []
    letters = scores = 0
    for task in tasks:
        refuse_text(task.texts, "texts")
        refuse_text(task.queries, "queries")
        some.append(task)
        letters += sum(map(len, task.texts))
        scores += len(task.texts) * len(task.queries)
        if letters >= _CHUNK_LETTERS or scores >= SCORES:
            yield some
            some, letters, scores = [], 0, 0
    if some:
        yield some


def _gold_of(task: RankingTask) -> Sequence[int]:
    if task.gold is None or len(task.gold) != len(task.queries):
        raise UsageError("each task must give one gold candidate a query.")
    return task.gold
