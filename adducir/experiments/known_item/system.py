"""Systems of known-item search: what each kind has, the step that makes its ranks; BM25."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from adducir.core.progress import progress
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.corpora.spans import context
from adducir.encoders.ranking import ContextRanks, SpanTask, context_ranks
from adducir.encoders.reading import Some
from adducir.encoders.span_vectors import SpanWork, VectorSource, scored
from adducir.evaluation.gold_ranks import GoldRanks, read_ranks, write_ranks
from adducir.evaluation.rouge import rouge_l
from adducir.experiments.known_item.data import SpanData
from adducir.experiments.sections import SystemEntry
from adducir.experiments.step import ArtifactStep, ModelStep, Shown
from adducir.experiments.study import Trial
from adducir.models.machine import using_threads

if TYPE_CHECKING:
    from pathlib import Path

    from adducir.experiments.context import Context
    from adducir.experiments.known_item.study import KnownItemStudy

ContextName = Annotated[str, Field(pattern=r"^[\w.+/][\w .+/-]*$", max_length=40)]
"""As the papers write them: ``L+R``, ``4/4``."""
RANKS_FILE = "ranks.tsv"
SCORES = 1 << 22
"""Scores that are held at a time: 16 MB."""


class ContextRecipe(Recipe):
    """What systems read of a context; see :class:`adducir.encoders.reading.ContextPart`.

    Attributes:
        left: Sentences on the left of the mask.
        right: Sentences on the right.
        words: Words of each side.
        tokens: Tokens of each side, as the system counts them: a network's pieces, BM25's words.
    """

    left: Some = None
    right: Some = None
    words: Some = None
    tokens: Some = None


class RankingSystem(SystemEntry):
    """A row of the tables: what ranks the candidates of contexts.

    Attributes:
        contexts: The contexts that it is ranked with; none for all.
    """

    contexts: tuple[ContextName, ...] = ()

    def open(self, name: str, study: "KnownItemStudy") -> None:
        """Open what it names; nothing is loaded or trained."""

    def models(self, trial: Trial, study: "KnownItemStudy") -> Sequence[ModelStep]:
        """The steps that train it for a context, the last of them last."""
        return ()

    @abstractmethod
    def fingerprint_inputs(self, study: "KnownItemStudy") -> Mapping[str, Any]:
        """All that determines the ranks beside context, data and model."""

    def identities(self, step: "RankStep") -> Mapping[str, str]:
        """The fingerprint of its model, which may still have to be trained."""
        return {}

    def versions(self) -> Mapping[str, str]:
        return {}

    @abstractmethod
    def ranks(self, step: "RankStep", tasks: Sequence[SpanTask], context: "Context") -> GoldRanks:
        """The rank of each gold item."""


_HERE = "adducir.experiments.known_item"

RANKING_SYSTEMS = Family(
    "ranking_systems",
    RankingSystem,
    {
        "bm25": f"{_HERE}.system:Lexical",
        "encoder": f"{_HERE}.vectors:Pretrained",
        "train": f"{_HERE}.vectors:Trained",
        "colbert": f"{_HERE}.vectors:ColBERT",
        "maxsim": f"{_HERE}.vectors:MaxSim",
    },
    what="kind of system",
)


class RankStep(ArtifactStep):
    """The ranks of one system, on one data set, with one context."""

    kind = "ranks"
    version = 3
    verb = "rank"
    stage = 2

    def __init__(
        self, trial: Trial, study: "KnownItemStudy", data: SpanData, system: RankingSystem
    ) -> None:
        self.trial, self.study, self.data, self.system = trial, study, data, system
        self.path = study.path_of(trial)
        self.inputs = self.models = system.models(trial, study)
        self.reads = [] if self.models else [("systems", trial.system)]
        if not self.models:  # the vectors of candidates serve all contexts of a system
            self.chunk_places = [self.path.parent]

    @property
    def read_of_context(self) -> ContextRecipe:
        return self.study.recipe.contexts[self.trial.part]

    def title(self, shown: Shown) -> str:
        count = f": {len(self.data.spans):,} contexts" if self.data.is_read else ""
        return f"{shown(self.path)}: {self.trial.run}, {self.trial.part}{count}"

    def recipe(self) -> Mapping[str, Any]:
        read, rouge = self.read_of_context.model_dump(mode="json"), self.study.recipe.rouge
        return {"context": read, "rouge": rouge, **self.system.fingerprint_inputs(self.study)}

    def identities(self) -> Mapping[str, str]:
        return {"data": self.data.identity, **self.system.identities(self)}

    def versions(self) -> Mapping[str, str]:
        return self.system.versions()

    def fill(self, folder: "Path", context: "Context") -> Mapping[str, Any]:
        what = f"{self.trial.data}, {self.trial.run}, {self.trial.part}"
        progress().note(f"{context.shown(self.path)}: {what}")
        tasks = context.shared("tasks", lambda: list(self.data.tasks()), key=self.trial.data)
        with using_threads(context.threads):
            ranks = self.system.ranks(self, tasks, context)
        if not self.study.recipe.rouge:
            ranks = replace(ranks, rouge=None)
        write_ranks(folder / RANKS_FILE, {self.trial.run: ranks})
        return {"contexts": len(ranks.qids)}

    def by_vectors(
        self, vectors: VectorSource, tasks: Sequence[SpanTask], context: "Context"
    ) -> GoldRanks:
        """The rank of each gold item by vectors of contexts and candidates, kept in files."""
        work = SpanWork(
            vectors=vectors,
            tasks=partial(list, tasks),
            running=context.running(self.study.recipe.precision),
        )
        own, found = context.chunking(self.path), []
        kept = own if self.models else context.chunking(self.path.parent)
        with scored(work, own, kept) as each:
            for task, scores, same in each:
                with progress().doing("ranking", len(task.spans), "contexts"):
                    gold = same.of[task.gold]
                    found.append(context_ranks(scores, gold, same.counts, block=SCORES))
        return gold_ranks(tasks, found)

    def ranked(self) -> GoldRanks:
        (ranks,) = read_ranks(self.path / RANKS_FILE, self.trial.run).values()
        return ranks


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
        how, rouge = step.read_of_context, step.study.recipe.rouge
        ranked = lexical_ranks(self.bm25, tasks, how, context.threads, rouge=rouge)
        return gold_ranks(tasks, list(ranked))


def lexical_ranks(
    part: LexicalPart,
    tasks: Iterable[SpanTask],
    read: ContextRecipe,
    threads: int | None = None,
    *,
    rouge: bool = False,
) -> Iterator[ContextRanks]:
    from adducir.indexes.analysis import Analysis
    from adducir.indexes.candidates import CandidateSet, lower_split, vocabularies
    from adducir.indexes.memory.models import Okapi

    model = Okapi(k1=part.k1, b=part.b, epsilon=part.epsilon)
    vocabulary = vocabularies(lower_split if part.analysis == "split" else Analysis())
    # The tokens of BM25 are words.
    words = min((one for one in (read.words, read.tokens) if one is not None), default=None)
    for task in tasks:
        pairs = [context(span, read.left, read.right, words) for span in task.spans]
        queries = [" ".join(side for side in pair if side) for pair in pairs]
        candidates = CandidateSet.over(task.texts, vocabulary(), threads)
        above, level = candidates.gold_counts(queries, task.gold, model)
        first = None
        if rouge:
            best = candidates.rank(queries, model, 1).numbers[:, 0]
            first = task.same.of[best.astype(np.int64)]
        size = np.full(len(above), len(task.texts), dtype=np.int64)
        yield ContextRanks(above, level, size, first)


def gold_ranks(tasks: Sequence[SpanTask], found: Sequence[ContextRanks]) -> GoldRanks:
    """The ranks of all tasks together, with the contexts' keys and ROUGE-L."""
    names = list(tasks[0].keys)
    near = [
        rouge_l(task.texts[gold], task.texts[first])
        for task, one in zip(tasks, found, strict=True)
        if one.first is not None
        for gold, first in zip(
            task.gold.tolist(), task.same.firsts[one.first].tolist(), strict=True
        )
    ]
    return GoldRanks(
        tuple(span.id for task in tasks for span in task.spans),
        np.concatenate([one.better for one in found]),
        np.concatenate([one.tied for one in found]),
        np.concatenate([one.candidates for one in found]),
        {name: tuple(value for task in tasks for value in task.keys[name]) for name in names},
        rouge=np.array(near) if near else None,
    )
