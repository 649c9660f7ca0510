"""Systems of known-item search: what each kind has, and the step that makes its ranks."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from adducir.core.processes import locked
from adducir.core.progress import progress
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.encoders.ranking import SpanTask
from adducir.encoders.settings import Some
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.evaluation.rank_files import read_ranks, write_ranks
from adducir.experiments.known_item.data import SpanData
from adducir.experiments.sections import SystemEntry
from adducir.experiments.step import ArtifactStep, ModelStep, Shown
from adducir.experiments.study import Trial
from adducir.models.machine import using_threads

if TYPE_CHECKING:
    from pathlib import Path

    from adducir.core.chunks import Chunking
    from adducir.experiments.context import Context
    from adducir.experiments.known_item.study import KnownItemStudy

ContextName = Annotated[str, Field(pattern=r"^[\w.+/][\w .+/-]*$", max_length=40)]
"""As the papers write them: ``L+R``, ``4/4``."""
RANKS_FILE = "ranks.tsv"


class ContextRecipe(Recipe):
    """What systems read of a context; see :class:`adducir.encoders.settings.ContextPart`.

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
        del trial, study
        return ()

    @abstractmethod
    def fingerprint_inputs(self, study: "KnownItemStudy") -> Mapping[str, Any]:
        """All that determines the ranks beside context, data and model."""

    def identities(self, step: "RankStep") -> Mapping[str, str]:
        """The fingerprint of its model, which may still have to be trained."""
        del step
        return {}

    def versions(self) -> Mapping[str, str]:
        """Versions of the libraries that take part."""
        return {}

    @abstractmethod
    def ranks(self, step: "RankStep", tasks: Sequence[SpanTask], context: "Context") -> GoldRanks:
        """The rank of each gold item."""


_HERE = "adducir.experiments.known_item"

RANKING_SYSTEMS = Family(
    "ranking_systems",
    RankingSystem,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "bm25": f"{_HERE}.bm25:Lexical",
        "encoder": f"{_HERE}.encoders:Pretrained",
        "train": f"{_HERE}.encoders:Trained",
        "colbert": f"{_HERE}.late:ColBERT",
        "maxsim": f"{_HERE}.late:MaxSim",
    },
    what="kind of system",
)


class RankStep(ArtifactStep):
    """The ranks of one system, on one data set, with one context."""

    kind: ClassVar[str] = "ranks"
    version: ClassVar[int] = 3
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
            self.shared_work = trial.data, trial.run
            self.chunk_places = [self.path.parent]

    @property
    def read_of_context(self) -> ContextRecipe:
        """What is read of contexts."""
        return self.study.recipe.contexts[self.trial.part]

    @contextmanager
    def keeping(self, context: "Context") -> "Iterator[Chunking]":
        """Who makes the candidates' vectors, and beside what they are kept.

        Another process may rank another context by them: whoever works with them holds a lock.
        """
        if self.models:
            yield context.chunking(self.path)
            return
        with locked(self.path.parent):
            yield context.chunking(self.path.parent)

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
        """Rank, and write the ranks."""
        what = f"{self.trial.data}, {self.trial.run}, {self.trial.part}"
        progress().note(f"{context.shown(self.path)}: {what}")
        tasks = context.shared("tasks", lambda: list(self.data.tasks()), key=self.trial.data)
        with using_threads(context.threads):
            ranks = self.system.ranks(self, tasks, context)
        if not self.study.recipe.rouge:
            ranks = replace(ranks, rouge=None)
        write_ranks(folder / RANKS_FILE, {self.trial.run: ranks})
        return {"contexts": len(ranks.qids)}

    def ranked(self) -> GoldRanks:
        """The ranks that stand in its file."""
        (ranks,) = read_ranks(self.path / RANKS_FILE, self.trial.run).values()
        return ranks
