"""``bm25:``: BM25 over each set of candidates by itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from adducir.core.chunks import Local
from adducir.core.recipe import Recipe
from adducir.corpora.spans import context
from adducir.encoders.ranking import ContextRanks, SpanTask
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.experiments.known_item.ranking import Contexts, RankingWork, listed_sizes, ranked
from adducir.experiments.known_item.system import ContextRecipe, RankingSystem, RankStep

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.known_item.study import KnownItemStudy
    from adducir.indexes.candidates import CandidateSet

LEXICAL_BLOCK = 1 << 28
"""Scores of a shard: some seconds; none are held."""


class LexicalPart(Recipe):
    """BM25 as rank_bm25's BM25Okapi, over each set of candidates by itself.

    Attributes:
        k1: Saturation of term frequency.
        b: Weight of length.
        epsilon: The floor of the idf, a share of the mean idf.
        analysis: ``split``: lower case, cut at white space, as with rank_bm25; ``lucene``:
            Anserini's analysis, with stemming and stop words.
    """

    k1: Annotated[float, Field(ge=0)] = 1.5
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    epsilon: float = 0.25
    analysis: Literal["split", "lucene"] = "split"


class Lexical(RankingSystem):
    """BM25.

    Attributes:
        bm25: Its parameters and the analysis.
    """

    bm25: LexicalPart

    def fingerprint_inputs(self, study: "KnownItemStudy") -> Mapping[str, Any]:
        return {"bm25": self.bm25.model_dump(mode="json")}

    def ranks(self, step: RankStep, tasks: Sequence[SpanTask], context: "Context") -> GoldRanks:
        given = self.bm25, step.read_of_context, context.threads, step.study.recipe.rouge
        work = RankingWork(
            partial(LexicalRanker.load, step.data.tasks, *given),
            *listed_sizes(tasks),
            step.fingerprint,
            Local(LexicalRanker(tasks, *given)),
            context.threads,
            LEXICAL_BLOCK,
        )
        return ranked(work, tasks, context.chunking(step.path))


class LexicalRanker:
    """BM25 with the statistics of each set of candidates by itself; see :class:`.Ranker`."""

    device = "any"

    def __init__(
        self,
        tasks: Sequence[SpanTask],
        part: LexicalPart,
        read: ContextRecipe,
        threads: int | None = None,
        rouge: bool = False,
    ) -> None:
        from adducir.indexes.analysis import Analysis
        from adducir.indexes.candidates import lower_split, vocabularies
        from adducir.indexes.models import Okapi

        self._tasks, self._read, self._threads, self._rouge = tasks, read, threads, rouge
        self._model = Okapi(k1=part.k1, b=part.b, epsilon=part.epsilon)
        self._vocabulary = vocabularies(lower_split if part.analysis == "split" else Analysis())
        self._latest: tuple[int, Any] = (-1, None)

    @classmethod
    def load(cls, tasks: Callable[[], Iterable[SpanTask]], *given: Any) -> Self:
        """In another process: over tasks that are read there."""
        return cls(list(tasks()), *given)

    def rank(self, some: Contexts) -> ContextRanks:
        task, read = self._tasks[some.task], self._read
        # The tokens of BM25 are words.
        words = min((one for one in (read.words, read.tokens) if one is not None), default=None)
        pairs = [
            context(span, read.left, read.right, words)
            for span in task.spans[some.first : some.end]
        ]
        queries = [" ".join(side for side in pair if side) for pair in pairs]
        candidates = self._set(some.task)
        gold = task.gold[some.first : some.end]
        above, level = candidates.gold_counts(queries, gold, self._model)
        first = None
        if self._rouge:
            best = candidates.rank(queries, self._model, 1).numbers[:, 0]
            first = task.same.of[best.astype(np.int64)]
        size = np.full(len(above), len(task.texts), dtype=np.int64)
        return ContextRanks(above, level, size, first)

    def _set(self, number: int) -> "CandidateSet":
        """The candidates of a task; of several, the latest are held."""
        from adducir.indexes.candidates import CandidateSet

        if self._latest[0] != number:
            self._latest = -1, None
            texts = self._tasks[number].texts
            self._latest = number, CandidateSet.over(texts, self._vocabulary(), self._threads)
        found: CandidateSet = self._latest[1]
        return found
