"""``bm25:``: BM25 over each set of candidates by itself."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from adducir.core.recipe import Recipe
from adducir.corpora.sizes import BYTES_PER_DOCUMENT
from adducir.datasets.spans.record import context
from adducir.encoders.ranking import ContextRanks, SpanTask
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.experiments.context import Context
from adducir.experiments.known_item.ranking import gold_ranks
from adducir.experiments.known_item.system import ContextRecipe, Opened, Ranking, RankingSystem
from adducir.experiments.work import Work


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

    def fingerprint_inputs(self, study: Opened) -> Mapping[str, Any]:
        """See :meth:`RankingSystem.fingerprint_inputs`."""
        return {"bm25": self.bm25.model_dump(mode="json")}

    def work(self, step: Ranking) -> Work | None:
        """See :meth:`RankingSystem.work`: every context with every candidate, twice for ties."""
        text = step.data.bytes
        if text is None:
            return None
        count = len(step.data.spans) if step.data.is_read else text / BYTES_PER_DOCUMENT
        pairs = 2 * count * text / BYTES_PER_DOCUMENT
        return Work(("memory",), {"memory bytes": text, "memory pairs": pairs})

    def ranks(self, step: Ranking, tasks: Sequence[SpanTask], context: Context) -> GoldRanks:
        """See :meth:`RankingSystem.ranks`."""
        rouge = step.study.recipe.rouge
        return by_bm25(tasks, self.bm25, step.reads_of_context, context.threads, rouge=rouge)


def by_bm25(
    tasks: Sequence[SpanTask],
    part: LexicalPart,
    read: ContextRecipe,
    threads: int | None = None,
    *,
    rouge: bool = False,
) -> GoldRanks:
    """The ranks that BM25 gives, with the statistics of each set of candidates by itself.

    Args:
        tasks: What is ranked.
        part: The formula's parameters and the analysis.
        read: What is read of contexts.
        threads: Threads that score; by default one per core.
        rouge: Whether ROUGE-L of what is ranked first is wanted, for which all is scored again.
    """
    from adducir.indexes.analysis import Analysis
    from adducir.indexes.candidates import RankingTask, gold_ranks_of_sets, lower_split, rank_sets
    from adducir.indexes.models import Okapi

    # The tokens of BM25 are words.
    words = min((one for one in (read.words, read.tokens) if one is not None), default=None)

    def sets() -> Iterator[RankingTask]:
        for task in tasks:
            pairs = (context(span, read.left, read.right, words) for span in task.spans)
            queries = [" ".join(side for side in pair if side) for pair in pairs]
            yield RankingTask(task.texts, queries, task.gold.tolist())

    model = Okapi(k1=part.k1, b=part.b, epsilon=part.epsilon)
    options: dict[str, Any] = {
        "analysis": lower_split if part.analysis == "split" else Analysis(),
        "threads": threads,
    }
    found = []
    against = gold_ranks_of_sets(sets(), model, ties="against", **options)
    expected = gold_ranks_of_sets(sets(), model, ties="expected", **options)
    best = rank_sets(sets(), model, 1, **options) if rouge else repeat(None, len(tasks))
    for task, last, middle, top in zip(tasks, against, expected, best, strict=True):
        # last = better + tied, middle = better + (tied + 1) / 2
        tied = np.rint(2 * (last - middle) + 1).astype(np.int64)
        size = np.full(len(last), len(task.texts), dtype=np.int64)
        first = None if top is None else top.numbers[:, 0].astype(np.int64)
        found.append(ContextRanks(last - tied, tied, size, first))
    return gold_ranks(tasks, found)
