"""Many candidate sets, each with queries of its own, in one call."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from adducir.core.errors import UsageError
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import Array
from adducir.indexes.candidates.queries import Query
from adducir.indexes.candidates.ranking import Matrix, Ranking
from adducir.indexes.candidates.sets import CandidateSet, Ties
from adducir.indexes.candidates.vocabulary import Cut, vocabularies
from adducir.indexes.models import Model

_Found = TypeVar("_Found")


class RankingTask(NamedTuple):
    """A set's candidates, its queries, and the number of each query's gold candidate."""

    texts: Sequence[str]
    queries: Sequence[Query]
    gold: Sequence[int] | None = None


def score_sets(
    tasks: Iterable[RankingTask],
    model: Model,
    *,
    analysis: Analysis | Cut | None = None,
    threads: int | None = None,
) -> Iterator[Matrix]:
    """For each set in turn, every candidate's score for every query of the set.

    Args:
        tasks: The sets; each has statistics of its own. Taken one at a time.
        analysis: See :meth:`.sets.CandidateSet.of_texts`.

    Yields:
        (queries, candidates) float64.

    Raises:
        UsageError: A query or the model is not as it should be.
        MachineError: No Java for Lucene's analysis.
    """
    return _each(tasks, analysis, threads, lambda one, task: one.scores(task.queries, model))


def rank_sets(
    tasks: Iterable[RankingTask],
    model: Model,
    depth: int | None = None,
    *,
    analysis: Analysis | Cut | None = None,
    threads: int | None = None,
) -> Iterator[Ranking]:
    """For each set in turn, the best candidates (all, without a ``depth``) for its queries.

    Arguments and errors are those of :func:`score_sets`; equal scores come in order of the
    candidates' numbers.
    """
    return _each(tasks, analysis, threads, lambda one, task: one.rank(task.queries, model, depth))


def gold_ranks_of_sets(
    tasks: Iterable[RankingTask],
    model: Model,
    *,
    ties: Ties = "against",
    analysis: Analysis | Cut | None = None,
    threads: int | None = None,
) -> Iterator[Array]:
    """For each set in turn, the ranks of its queries' gold candidates.

    Arguments and errors are those of :func:`score_sets`; see :meth:`.sets.CandidateSet.gold_ranks`
    for ``ties`` and the result.
    """

    def ranks(one: CandidateSet, task: RankingTask) -> Array:
        if task.gold is None:
            raise UsageError("each task must give one gold candidate a query.")
        return one.gold_ranks(task.queries, task.gold, model, ties=ties)

    return _each(tasks, analysis, threads, ranks)


def _each(
    tasks: Iterable[RankingTask],
    analysis: Analysis | Cut | None,
    threads: int | None,
    answer: Callable[[CandidateSet, RankingTask], _Found],
) -> Iterator[_Found]:
    vocabulary = vocabularies(analysis or Analysis())
    for task in tasks:
        yield answer(CandidateSet.over(task.texts, vocabulary(), threads), task)
