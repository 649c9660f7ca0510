"""Opens what a retrieval experiment names, and plans its indexes and runs.

Everything is opened before anything runs, and every error is kept for one message.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from adducir.core.recipe import KeyPath
from adducir.corpora.references import file_path
from adducir.experiments.planner import Planner
from adducir.experiments.retrieval.answers import Answer, GivenRun
from adducir.experiments.retrieval.index_step import IndexStep, index_path
from adducir.experiments.retrieval.opened import OpenedCorpus, OpenedTopics, TopicSet
from adducir.experiments.sections import ComparisonRecipe, Names, RunTableRecipe, file_name
from adducir.experiments.step import ModelStep, Sharing, Step
from adducir.experiments.study import Study
from adducir.runs.findings import some

if TYPE_CHECKING:
    from adducir.experiments.tuning.folds import Folds, Pool
    from adducir.runs.run import Run
    from adducir.training.plan import TrainingPlan


class Entry(Protocol):
    """A system of an experiment file, as far as planning knows it."""

    verb: ClassVar[str]
    is_given: ClassVar[bool]

    @property
    def members(self) -> tuple[str, ...]:
        """The systems whose runs it is made from."""

    @property
    def is_tuned(self) -> bool:
        """Whether its hyperparameters are chosen by cross-validation."""

    @property
    def group(self) -> str | None:
        """The section of the table that it stands in."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of the trainings of what it is made with; none for those of the recipes."""

    def needs_index(self, name: str, study: "RetrievalStudy") -> str | None:
        """The name of the index that it searches or reads documents of."""

    def given_path(self, topic_set: str) -> Path:
        """The file of a run that is given."""

    def output(self, name: str, topic_set: str, study: "RetrievalStudy") -> Answer:
        """The step that makes its run."""

    def remark(self, name: str, names: Mapping[str, str]) -> str | None:
        """A sentence for below the table."""


class Entries(Protocol):
    """An experiment file, as far as planning knows it."""

    description: str
    corpora: Mapping[str, Any]
    indexes: Mapping[str, Any]
    topics: Mapping[str, Any]
    systems: Mapping[str, Any]
    depth: int | str
    measures: tuple[str, ...]
    negative_grades: Any
    unjudged: bool
    comparison: ComparisonRecipe | None
    table: RunTableRecipe

    @property
    def most(self) -> int | None:
        """The depth as a number; None for all documents."""

    def model_copy(self, *, update: Mapping[str, Any]) -> "Entries":
        """The file with other entries."""

    def model_dump(self, *, mode: str, exclude_unset: bool = False) -> dict[str, Any]:
        """The file as plain values."""


class RetrievalStudy(Study):
    """A retrieval experiment, opened; see :class:`.Study` as well.

    Attributes:
        names: The names that the file defines.
        corpora: By name.
        indexes: The steps of those indexes that a system searches or reads documents of.
        topic_sets: By name.
        given: The runs that are given, by system and topic set.
        details: What systems have opened for themselves, by system.
        folds: The folds of tuned systems, by system.
        runs: The run of each system and topic set, each after those that it is made from; topic
            sets that differ in their judgements only share one.
    """

    makes: ClassVar[str] = "runs"
    written: Entries
    recipe: Entries

    def __init__(self, recipe: Entries, planner: Planner) -> None:
        super().__init__(recipe, planner)
        self.names = Names(planner.data)
        self.corpora: dict[str, OpenedCorpus] = {}
        self.indexes: dict[str, IndexStep] = {}
        self.opened = OpenedTopics()
        self.given: dict[tuple[str, str], Run] = {}
        self.details: dict[str, Any] = {}
        self.folds: dict[str, Folds] = {}
        self.runs: dict[tuple[str, str], Answer] = {}
        self._trainings: dict[Path, ModelStep] = {}
        self._sharing = Sharing()

    @property
    def topic_sets(self) -> dict[str, TopicSet]:
        """By name."""
        return self.opened.topic_sets

    @property
    def pool(self) -> "Pool":
        """The judged topics of all topic sets."""
        return self.opened.pool

    def index_of(self, name: str) -> IndexStep:
        """The step of an index; one without data where a dry run lacks its corpus."""
        if name not in self.indexes:
            path = index_path(self.planner.folder, name)
            self.indexes[name] = Step.without_data(path, "build", 1, "index")
        return self.indexes[name]

    def training(self, plan: "TrainingPlan[Any]", path: Path, place: KeyPath) -> ModelStep:
        """The step that trains a model: one, however many entries of the file name its recipe."""
        step = self._trainings.get(path)
        if step is None:
            before = [] if plan.before is None else [self.training(*plan.before, place)]
            step = self._trainings[path] = ModelStep(path, lambda: plan, before, reads=[])
            self._sharing.add(step)
        step.reads = [*step.reads, place]
        return step

    def run_of(self, system: str, topic_set: str) -> Answer:
        """The run of a system on a topic set; one without data where a dry run lacks them."""
        if (system, topic_set) not in self.runs:
            step = self._planned(system, topic_set)
            same = (
                one
                for (name, _), one in self.runs.items()
                if name == system
                and isinstance(step, Answer)
                and isinstance(one, Answer)
                and step.shares is not None
                and one.shares == step.shares
            )
            self.runs[system, topic_set] = next(same, step)
        return self.runs[system, topic_set]

    def _planned(self, system: str, topic_set: str) -> Answer:
        recipe: Entry = self.recipe.systems[system]
        if not recipe.is_given:
            return recipe.output(system, topic_set, self)
        path, run = recipe.given_path(topic_set), self.given.get((system, topic_set))
        if run is None or run.path is None:
            return Answer.without_data(path, "read", 2, "run")  # type: ignore[no-any-return]
        return GivenRun(system, topic_set, run.path, run)

    def run_path(self, system: str, topic_set: str) -> Path:
        """Where the run of a system goes."""
        folder = self.planner.folder / "runs" / self.planner.name
        return folder / f"{file_name(system)}.{file_name(topic_set)}.trec.gz"

    @property
    def output(self) -> Path:
        """The folder of the results."""
        return self.planner.folder / "experiments" / self.planner.name

    def file(self, source: str) -> Path:
        """Where a file is that the experiment names."""
        return file_path(source, self.planner.folder)

    def joined(self, system: str) -> "Run":
        """The runs of a system on all topic sets, over the ids of the pool."""
        return self.pool.joined([self.run_of(system, one).read() for one in self.recipe.topics])

    def label(self, corpus: str) -> str:
        """A corpus in a few words."""
        label = self.recipe.corpora[corpus].label if corpus in self.recipe.corpora else corpus
        seed = self.seed_of("corpora", corpus)
        return label if seed is None else f"{label}, seed {seed}"

    def topics_facts(self, name: str) -> dict[str, Any]:
        """What a run's metadata records of its topics."""
        topics = self.topic_sets[name].topics
        source = self.recipe.topics[name].source
        about = {"name": name, "source": source, "field": topics.field, "topics": len(topics)}
        return {"topics": about | {"sha256": topics.identity()["topics"]}}

    def systems_used(self) -> set[str]:
        """The names of the indexes that systems search or read documents of."""
        systems = self.recipe.systems
        found = {one.needs_index(name, self) for name, one in systems.items()}
        return {name for name in found if name is not None}

    def goals(self) -> Sequence[Step]:
        """The runs, in the order in which they are made from one another."""
        for system in in_order(self.recipe.systems):
            for topic_set in self.recipe.topics:
                self.run_of(system, topic_set)
        return list(dict.fromkeys(self.runs.values()))

    def others(self) -> Sequence[Step]:
        """The indexes, also those that no run to be made needs."""
        used = self.systems_used()
        return [self.index_of(name) for name in self.recipe.indexes if name in used]

    def warnings(self) -> Iterator[tuple[str, str]]:
        """What of given runs would lower figures without anybody's wish; evaluation and tests."""
        for (system, name), run in self.given.items():
            topic_set = self.topic_sets.get(name)  # None in a dry run without its data
            judged = topic_set.qrels.qids if topic_set is not None else []
            lacking = sorted(set(judged).difference(run.qids))
            if lacking:
                what = f"lacks {len(lacking)} of the {len(judged)} judged topics of {name}"
                yield "warn", f"the run of {system} {what}, which count 0: {some(lacking)}"
        sets = ", ".join(self.recipe.topics)
        measures = " ".join(map(str, self.opened.measures))
        runs = sum(map(len, self.rows.values()))
        several = f", {runs} runs," if runs > len(self.rows) else ""
        yield "evaluate", f"{len(self.rows)} systems{several} on {sets}: {measures}"
        yield from super().warnings()


def in_order(systems: Mapping[str, Any]) -> list[str]:
    """All systems, each after those that it is made from; none may be made from itself.

    What is made from nothing comes first, then what is made from that, and so on.
    """
    levels: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in levels:
            levels[name] = 1 + max((level(one) for one in systems[name].members), default=-1)
        return levels[name]

    return sorted(systems, key=level)
