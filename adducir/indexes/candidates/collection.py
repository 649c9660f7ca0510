"""One or many candidate sets behind one set of arrays: what the public names share."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, get_args

import numpy as np

from adducir.indexes.build import default_threads
from adducir.indexes.candidates.impacts import Impacts, apply
from adducir.indexes.candidates.postings import Spans, invert
from adducir.indexes.candidates.ranking import Ranking, order
from adducir.indexes.candidates.scoring import Queries, count, score
from adducir.indexes.candidates.variants import CandidateModel
from adducir.indexes.candidates.vocabulary import Numbers
from adducir.indexes.memory.files import Array
from adducir.study.errors import UsageError

Ties = Literal["against", "expected"]
"""What candidates level with the gold one do to its rank: all stand before it, or half of them."""

SCORES = 1 << 22
"""Scores that are held at a time where not all are asked for: 32 MB."""
_BLOCKS = 4  # a thread: threads that share a core with others then still end together


class Collection:
    """Candidate sets.

    Args:
        spans: The candidates.
        threads: Threads that score; by default one a core.
    """

    def __init__(self, spans: Spans, threads: int | None = None) -> None:
        self.postings = invert(spans)
        self.sizes = np.diff(spans.set_docs)
        self._threads = threads or default_threads()
        self._applied: tuple[CandidateModel, Impacts] | None = None

    def queries(self, numbers: Numbers, weights: Array, sets: Array) -> Queries:
        """Queries as rows; ``sets`` (q,) says which set each is put to, ascending."""
        return Queries(numbers.starts, self.postings.rows(numbers, sets), weights, sets)

    def scores(self, queries: Queries, model: CandidateModel, first: int, last: int) -> Array:
        """The scores of the queries ``first`` to ``last`` - 1, query after query.

        Raises:
            UsageError: There is no such model.
        """
        impacts = self._impacts(model)
        sizes = self.sizes[queries.sets[first:last]]
        ends = np.cumsum(sizes)
        starts = ends - sizes
        out = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.float64)

        def work(low: int, high: int) -> None:
            score(impacts, queries, low, high, out, starts[low - first : high - first])

        self._in_threads(work, first, last)
        return out

    def rank(
        self, queries: Queries, model: CandidateModel, first: int, last: int, depth: int | None
    ) -> Ranking:
        """Rank the candidates for the queries ``first`` to ``last`` - 1, all of one set.

        Raises:
            UsageError: There is no such model, or ``depth`` is below 1.
        """
        size = int(self.sizes[queries.sets[first]]) if first < last else 0
        ranking = Ranking.empty(last - first, size, depth)
        impacts = self._impacts(model)
        step = max(SCORES // self._threads // max(size, 1), 1)

        def work(low: int, high: int) -> None:
            room = np.empty((min(step, high - low), size), dtype=np.float64)
            starts = np.arange(len(room), dtype=np.int64) * size
            for one in range(low, high, step):
                end = min(one + step, high)
                scores, here = room[: end - one], slice(one - first, end - first)
                score(impacts, queries, one, end, scores.ravel(), starts)
                order(scores, ranking.numbers[here], ranking.scores[here])

        self._in_threads(work, first, last)
        return ranking

    def gold_ranks(
        self, queries: Queries, gold: Sequence[int] | Array, model: CandidateModel, ties: Ties
    ) -> Array:
        """The rank of each query's gold candidate among all of its set.

        Raises:
            UsageError: There is no such model or no such candidate.
        """
        numbers = self._gold(queries, gold)
        if ties not in get_args(Ties):
            raise UsageError(f"ties must be 'against' or 'expected', not {ties!r}.")
        impacts = self._impacts(model)
        above = np.empty(len(numbers), dtype=np.int64)
        level = np.empty(len(numbers), dtype=np.int64)

        def work(low: int, high: int) -> None:
            count(impacts, queries, numbers, low, high, above, level)

        self._in_threads(work, 0, len(numbers))
        return above + level if ties == "against" else above + (level + 1) / 2

    def _impacts(self, model: CandidateModel) -> Impacts:
        if self._applied is None or self._applied[0] != model:
            self._applied = model, apply(self.postings, model)
        return self._applied[1]

    def _gold(self, queries: Queries, gold: Sequence[int] | Array) -> Array:
        numbers = np.asarray(gold)
        if len(numbers) == 0:
            numbers = numbers.astype(np.int64)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise UsageError("gold must give one candidate number a query.")
        if len(numbers) != len(queries.sets):
            raise UsageError(f"{len(queries.sets)} queries, but {len(numbers)} gold candidates.")
        sizes = self.sizes[queries.sets]
        wrong = np.flatnonzero((numbers < 0) | (numbers >= sizes))
        if len(wrong):
            query = wrong[0]
            raise UsageError(
                f"query {query} has the gold candidate {numbers[query]}, but its set has "
                f"{sizes[query]} candidates, numbered from 0."
            )
        return numbers.astype(np.int64)

    def _in_threads(self, work: Callable[[int, int], None], first: int, last: int) -> None:
        """Do ``work`` on all queries, cut into blocks."""
        blocks = min(self._threads * _BLOCKS, last - first) if self._threads > 1 else 1
        if blocks <= 1:
            work(first, last)
            return
        cuts = np.linspace(first, last, blocks + 1).astype(int).tolist()
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(work, cuts[:-1], cuts[1:]))
