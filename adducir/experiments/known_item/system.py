"""Known-item search: data, the base of systems, the ranking step; BM25."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from adducir.core.errors import InputError, gathering
from adducir.core.fingerprint import fingerprint, source_digest
from adducir.core.planning import reads
from adducir.core.progress import progress
from adducir.core.recipe import Recipe, Several, as_tuple, needs
from adducir.core.registry import Family, instance
from adducir.corpora.sources import file_path
from adducir.corpora.spans import MaskedSpan, read_spans
from adducir.encoders.ranking import (
    CONTEXTS,
    BestOf,
    ContextRanks,
    SpanTask,
    SpanWork,
    VectorSource,
    context_ranks,
    scored,
    task_among,
)
from adducir.encoders.reading import ContextRecipe
from adducir.evaluation.gold_ranks import GoldRanks, read_ranks, write_ranks
from adducir.evaluation.rouge import rouge_l
from adducir.experiments.sections import Opening, SystemEntry, file_name
from adducir.experiments.step import ArtifactStep, Context, ModelStep, Shown
from adducir.experiments.tasks import Trial
from adducir.models.machine import Precision, using_threads
from adducir.training.data import GroupShares, Part, items_of, part_of

if TYPE_CHECKING:
    from adducir.indexes.candidates import CandidateSet
    from adducir.indexes.models import Okapi


class SpanDataRecipe(GroupShares):
    """Contexts and their candidates: ``spans``, or a file that includes its candidates."""

    conditions: ClassVar = {"shares": needs("part")}
    spans: Several = ()
    """Files of masked spans, all of them candidates for every context."""
    brought: dict[str, str] = Field(default_factory=dict)
    """A file of another kind; in YAML the key is the kind's name."""
    candidates: Annotated[Several, needs("spans")] = ()
    """Files of spans that are only candidates, besides ``spans``."""
    part: Part | None = None
    """The part whose contexts are ranked; all groups stay candidates. None for all."""
    groups: tuple[str, ...] = ()
    """The books or questions whose contexts are ranked; empty for all."""
    sentences: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """The lengths of the spans whose contexts are ranked; empty for all."""

    @model_validator(mode="before")
    @classmethod
    def _kinds_are_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        brought = {key: data[key] for key in data if key in CONTEXTS}
        others = {key: data[key] for key in data if key not in brought}
        return {**others, "brought": brought} if brought else others

    @model_validator(mode="after")
    def _fits(self) -> "SpanDataRecipe":
        if len(self.brought) + bool(as_tuple(self.spans)) != 1:
            names = ", ".join(f"`{name}`" for name in ("spans", *CONTEXTS))
            raise ValueError(f"one of {names} is needed")
        if (self.part or self.groups) and not all(
            CONTEXTS.kind(name).has_groups for name in self.brought
        ):
            raise ValueError(f"`{min(self.brought)}` lacks groups: leave out `part` and `groups`")
        if self.seed and not self.part:
            raise ValueError("`seed` has no effect without `part`")
        return self

    def files(self, folder: Path) -> list[Path]:
        names = (*as_tuple(self.spans), *as_tuple(self.candidates))
        paths = [file_path(name, folder) for name in names]
        for kind, path in self.brought.items():
            paths += CONTEXTS.make(kind).files(file_path(path, folder))
        return paths

    def tasks(self, folder: Path) -> Iterator[SpanTask]:
        """Contexts of another kind, with their own candidates."""
        for kind, path in self.brought.items():
            reader = CONTEXTS.make(kind)
            for task in reader.tasks(file_path(path, folder)):
                yield instance(reader, "tasks", task, SpanTask)


@dataclass(frozen=True)
class SpanData:
    recipe: SpanDataRecipe
    folder: Path
    spans: tuple[MaskedSpan, ...]
    identity: str
    is_read: bool = True

    @cached_property
    def groups(self) -> frozenset[str]:
        return frozenset(span.group for span in self.spans)

    def tasks(self) -> Iterator[SpanTask]:
        """The contexts by their sets of candidates, with ``length`` and ``group`` as keys."""
        recipe, folder = self.recipe, self.folder
        if as_tuple(recipe.spans):
            names = (*as_tuple(recipe.spans), *as_tuple(recipe.candidates))
            all_spans = (span for name in names for span in read_spans(file_path(name, folder)))
            yield replace(task_among(self.spans, all_spans), keys=_keys(self.spans))
            return
        chosen = {span.id for span in self.spans}
        for task in recipe.tasks(folder):
            places = [place for place, span in enumerate(task.spans) if span.id in chosen]
            if places:
                spans = [task.spans[place] for place in places]
                gold = task.gold[np.array(places)]
                yield replace(task, spans=spans, gold=gold, keys=_keys(spans))


def open_data(recipe: SpanDataRecipe, folder: Path) -> SpanData:
    """Read a data set's contexts, and choose those to rank."""
    paths = recipe.files(folder)
    with gathering() as opening:
        digests = [opening(partial(source_digest, path)) for path in paths]
    choice = recipe.model_dump(mode="json", include={"part", "seed", "groups", "sentences"})
    roles = [len(as_tuple(recipe.spans)), len(as_tuple(recipe.candidates)), *recipe.brought]
    identity = fingerprint([*digests, choice | {"shares": recipe.divided, "roles": roles}])
    if not reads(*paths):
        return SpanData(recipe, folder, (), identity, is_read=False)
    chosen, count, groups = list[MaskedSpan](), 0, set[str]()
    files = [file_path(name, folder) for name in as_tuple(recipe.spans)]
    brought = (span for task in recipe.tasks(folder) for span in task.spans)
    for span in items_of(files, read_spans) if files else brought:
        count += 1
        groups.add(span.group)
        if (
            (not recipe.groups or span.group in recipe.groups)
            and (not recipe.sentences or len(span.span) in recipe.sentences)
            and (not recipe.part or part_of(span.group, recipe.divided, recipe.seed) == recipe.part)
        ):
            chosen.append(span)
    if unknown := set(recipe.groups) - groups:
        names = ", ".join(sorted(groups)[:12])
        message = f"unknown group {min(unknown)!r}; the groups are {names}."
        raise InputError(message, path=paths[0])
    if not chosen:
        raise InputError(
            f"none of its {count:,} contexts matches.",
            path=paths[0],
            hint="Check `part`, `shares`, `seed`, `groups` and `sentences`.",
        )
    data = SpanData(recipe, folder, tuple(chosen), identity)
    if files:
        next(data.tasks())  # finds candidates with two texts now
    return data


def _keys(spans: Sequence[MaskedSpan]) -> dict[str, list[str]]:
    return {
        "length": [f"{len(span.span)}" for span in spans],
        "group": [span.group for span in spans],
    }


ContextName = Annotated[str, Field(pattern=r"^\.*[\w+/][\w .+/-]*$", max_length=40)]
"""As in the papers: ``L+R``, ``4/4``."""
RANKS_FILE = "ranks.tsv"
SCORES = 1 << 22
"""Scores held at a time: 16 MB."""


def folder_name(name: str) -> str:
    return file_name(name).replace("/", "_")


class RankingSystem(SystemEntry):
    """A row of the tables, which ranks contexts' candidates."""

    contexts: tuple[ContextName, ...] = ()
    """The contexts to rank with; empty for all."""

    def open(self, opening: Opening, data: Mapping[str, SpanData]) -> Iterable[tuple[str, str]]:
        """Open what it names, without loading or training; gives notes on data sets."""
        return ()

    def uses(self, folder: Path) -> Sequence[Path]:
        """The folders of models that exist; for warnings of what they were trained on."""
        return ()

    def models(self, opening: Opening, part: str, read: ContextRecipe) -> Sequence[ModelStep]:
        """The steps that train it for a context, in order."""
        return ()

    @abstractmethod
    def fingerprint_inputs(self, step: "RankStep") -> Mapping[str, Any]:
        """What determines the ranks besides context, data and model."""

    def identities(self, step: "RankStep") -> Mapping[str, str]:
        """The fingerprint of its model, which need not be trained yet."""
        return {}

    def versions(self) -> Mapping[str, str]:
        return {}

    @abstractmethod
    def ranks(self, step: "RankStep", tasks: Sequence[SpanTask], context: Context) -> GoldRanks:
        """The rank of each gold item."""


_HERE = "adducir.experiments.known_item"

RANKING_SYSTEMS = Family(
    "ranking_systems",
    RankingSystem,
    {
        "bm25": f"{_HERE}.system:LexicalRanking",
        "encoder": f"{_HERE}.vectors:Pretrained",
        "train": f"{_HERE}.vectors:Trained",
        "colbert": f"{_HERE}.vectors:ColBERT",
        "maxsim": f"{_HERE}.vectors:MaxSim",
    },
    what="kind of system",
)


@dataclass(eq=False)
class RankStep(ArtifactStep):
    trial: Trial
    path: Path
    system: RankingSystem
    data: SpanData
    read_of_context: ContextRecipe
    models: Sequence[ModelStep] = ()  # the last one ranks
    precision: Precision = "float32"
    rouge: bool = False

    kind = "ranks"
    version = 3
    verb = "rank"
    stage = 2

    def __post_init__(self) -> None:
        self.inputs = self.models
        self.reads = [] if self.models else [("systems", self.trial.system)]
        if not self.models:  # candidates' vectors serve all contexts of a system
            self.chunk_places = [self.path.parent]
            self.uses = self.system.uses(self.data.folder)

    def title(self, shown: Shown) -> str:
        count = f": {len(self.data.spans):,} contexts" if self.data.is_read else ""
        return f"{shown(self.path)}: {self.trial.run}, {self.trial.part}{count}"

    def recipe(self) -> Mapping[str, Any]:
        read = self.read_of_context.model_dump(mode="json")
        return {"context": read, "rouge": self.rouge, **self.system.fingerprint_inputs(self)}

    def identities(self) -> Mapping[str, str]:
        return {"data": self.data.identity, **self.system.identities(self)}

    def versions(self) -> Mapping[str, str]:
        return self.system.versions()

    def fill(self, folder: Path, context: Context) -> Mapping[str, Any]:
        label = f"{self.trial.data}, {self.trial.run}, {self.trial.part}"
        progress().note(f"{context.shown(self.path)}: {label}")
        tasks = context.shared("tasks", lambda: list(self.data.tasks()), key=self.trial.data)
        with using_threads(context.threads):
            ranks = self.system.ranks(self, tasks, context)
        ranks = instance(self.system, "ranks", ranks, GoldRanks)
        if not self.rouge:
            ranks = replace(ranks, rouge=None)
        write_ranks(folder / RANKS_FILE, {self.trial.run: ranks})
        return {"contexts": len(ranks.qids)}

    def by_vectors(
        self, vectors: VectorSource, tasks: Sequence[SpanTask], context: Context
    ) -> GoldRanks:
        """The rank of each gold item, from vectors of contexts and candidates kept in files."""
        work = SpanWork(
            vectors=vectors, tasks=partial(list, tasks), running=context.running(self.precision)
        )
        chunking, ranks = context.chunking(self.path), []
        kept = chunking if self.models else replace(chunking, output=self.path.parent, keep=True)
        with scored(work, chunking, kept) as scored_tasks:
            for task, scores, same in scored_tasks:
                with progress().doing("ranking", len(task.spans), "contexts"):
                    gold = same.of[task.gold]
                    ranks.append(context_ranks(scores, gold, same.counts, block=SCORES))
        return gold_ranks(tasks, ranks)

    def ranked(self) -> GoldRanks:
        (ranks,) = read_ranks(self.path / RANKS_FILE, self.trial.run).values()
        return ranks


class LexicalPart(Recipe):
    """BM25 as in rank_bm25's BM25Okapi, over each set of candidates separately."""

    k1: Annotated[float, Field(ge=0)] = 1.5
    """Saturation of term frequency."""
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    """Weight of length."""
    epsilon: float = 0.25
    """The floor of the idf, as a share of the mean idf."""
    analysis: Literal["split", "lucene"] = "split"
    """``split``: lower case, split at white space, as with rank_bm25; ``lucene``: Anserini's
    analysis, with stemming and stop words."""

    def ranks(
        self, tasks: Iterable[SpanTask], read: ContextRecipe, threads: int | None, *, rouge: bool
    ) -> Iterator[ContextRanks]:
        """The standings of gold items."""
        for task, queries, candidates, model in self._opened(tasks, read, threads):
            above, level = candidates.gold_counts(queries, task.gold, model)
            first = None
            if rouge:
                best = candidates.rank(queries, model, 1).numbers[:, 0]
                first = task.same.of[best.astype(np.int64)]
            size = np.full(len(above), len(task.texts), dtype=np.int64)
            yield ContextRanks(above, level, size, first)

    def best(
        self, tasks: Iterable[SpanTask], read: ContextRecipe, depth: int, threads: int | None
    ) -> Iterator[BestOf]:
        """The best candidates of each context."""
        for task, queries, candidates, model in self._opened(tasks, read, threads):
            ranking = candidates.rank(queries, model, depth)
            yield task, ranking.numbers.astype(np.int64), ranking.scores.astype(np.float32)

    def _opened(
        self, tasks: Iterable[SpanTask], read: ContextRecipe, threads: int | None
    ) -> "Iterator[tuple[SpanTask, list[str], CandidateSet, Okapi]]":
        from adducir.indexes.analysis import Analysis
        from adducir.indexes.candidates import CandidateSet
        from adducir.indexes.models import Okapi
        from adducir.indexes.vocabulary import lower_split, vocabulary_of

        model = Okapi(k1=self.k1, b=self.b, epsilon=self.epsilon)
        analysis = lower_split if self.analysis == "split" else vocabulary_of(Analysis())
        for task in tasks:
            candidates = CandidateSet.of_texts(task.texts, analysis, threads=threads)
            yield task, list(map(read.text, task.spans)), candidates, model


class LexicalRanking(RankingSystem):
    """BM25."""

    bm25: LexicalPart
    """Its parameters and analysis."""

    def fingerprint_inputs(self, step: RankStep) -> Mapping[str, Any]:
        return {"bm25": self.bm25.model_dump(mode="json")}

    def ranks(self, step: RankStep, tasks: Sequence[SpanTask], context: Context) -> GoldRanks:
        read = step.read_of_context
        return gold_ranks(tasks, [*self.bm25.ranks(tasks, read, context.threads, rouge=step.rouge)])


def gold_ranks(tasks: Sequence[SpanTask], ranks: Sequence[ContextRanks]) -> GoldRanks:
    names = list(tasks[0].keys)
    near = [
        rouge_l(task.texts[gold], task.texts[first])
        for task, rank in zip(tasks, ranks, strict=True)
        if rank.first is not None
        for gold, first in zip(task.gold, task.same.firsts[rank.first], strict=True)
    ]
    return GoldRanks(
        tuple(span.id for task in tasks for span in task.spans),
        np.concatenate([rank.better for rank in ranks]),
        np.concatenate([rank.tied for rank in ranks]),
        np.concatenate([rank.candidates for rank in ranks]),
        {name: tuple(value for task in tasks for value in task.keys[name]) for name in names},
        rouge=np.array(near) if near else None,
    )
