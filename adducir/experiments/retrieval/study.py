"""Opens what a retrieval experiment names, and plans its indexes and runs.

Everything is opened before anything runs, and every error is kept for one message.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from adducir.core.errors import InputError
from adducir.core.recipe import ErrorDetail, KeyPath
from adducir.corpora.references import file_path
from adducir.evaluation.measures import Measure
from adducir.experiments.planner import Planner
from adducir.experiments.retrieval.corpora import OpenedCorpus, refuse_unknown_fields
from adducir.experiments.retrieval.runs import Answer, GivenRun
from adducir.experiments.retrieval.topics import TopicSet, open_topics
from adducir.experiments.sections import Names, file_name, on_disk
from adducir.experiments.step import ModelStep, Sharing, Step
from adducir.experiments.study import Finding, Study
from adducir.models.sources import RECIPES
from adducir.runs.rules import some

if TYPE_CHECKING:
    from adducir.experiments.context import Context
    from adducir.experiments.retrieval.indexes import IndexStep
    from adducir.experiments.retrieval.recipe import Retrieval
    from adducir.experiments.tuning.folds import Folds, Pool
    from adducir.runs.run import Run
    from adducir.training.plan import TrainingPlan

P = TypeVar("P", bound="TrainingPlan[Any]")


class RetrievalStudy(Study):
    """A retrieval experiment, opened."""

    makes: ClassVar[str] = "runs"
    written: "Retrieval"
    recipe: "Retrieval"

    def __init__(self, recipe: "Retrieval", planner: Planner) -> None:
        super().__init__(recipe, planner)
        self.output = planner.output
        self.names = Names(planner.data)
        self.corpora: dict[str, OpenedCorpus] = {}
        self.indexes: dict[str, IndexStep] = {}  # that a system searches or reads documents of
        self.topic_sets: dict[str, TopicSet] = {}
        self.measures: tuple[Measure, ...] = ()  # in the file's order, each once
        self.measure_names: dict[str, str] = {}  # as printed, by the measures' exact names
        self.given: dict[tuple[str, str], Run] = {}  # by system and topic set
        self.details: dict[str, Any] = {}  # what systems have opened for themselves
        self.folds: dict[str, Folds] = {}  # of tuned systems
        # Each after those it is made from; topic sets that differ in judgements only share one.
        self.runs: dict[tuple[str, str], Answer] = {}
        self._trainings: dict[Path, ModelStep] = {}
        self._sharing = Sharing()

    def open(self) -> "RetrievalStudy":
        """Open every source of the file; what is wrong is left with the planner."""
        errors = self.planner.errors
        for name, index in self.recipe.indexes.items():
            place = ("indexes", name, "corpus")
            errors.extend(self.names.check(place, "corpora", index.corpus))
        errors.extend(_clashing_files(self.recipe))
        for name, system in self.recipe.systems.items():
            errors.extend(system.check(name, self))
        if self.add_seeds("corpora", "indexes", "systems"):
            errors.extend(_clashing_files(self.recipe))
        for name, corpus in sorted(self.recipe.corpora.items(), key=lambda item: item[1].stage):
            corpus.open(name, self)
        open_topics(self)
        used = self.indexes_used()
        for name in self.recipe.indexes:
            self._settle(name, is_used=name in used)
        for name, system in self.recipe.systems.items():
            system.open(name, self)
        return self

    def _settle(self, name: str, *, is_used: bool) -> None:
        """Settle how an index is built."""
        index, planner, place = self.recipe.indexes[name], self.planner, ("indexes", name)
        corpus = self.corpora.get(index.corpus)
        index.check(name, self)
        if corpus is None or not is_used:
            return
        step = index.step(name, self._index_path(name), corpus, self)
        if step is None:
            return
        self.indexes[name] = step
        if planner.opening(place, step.why) is not None:

            def look() -> None:
                """Look for its fields in its corpus; a dry run notes a large one as not read."""
                fields = step.fields or corpus.corpus.default_fields
                refuse_unknown_fields(corpus.corpus, fields)

            planner.opening((*place, "fields"), look)

    @cached_property
    def pool(self) -> "Pool":
        """The judged topics of all topic sets; sources are named as the file writes them."""
        from adducir.experiments.tuning.folds import JudgedTopics, Pool

        sets = []
        for name, one in self.topic_sets.items():
            topics, qrels = one.sources
            judged = replace(one.topics, source=topics), replace(one.qrels, source=qrels)
            sets.append(JudgedTopics(name, *judged))
        return Pool.of(sets)

    def _index_path(self, name: str) -> Path:
        return self.folder / "indexes" / file_name(name)

    def index_of(self, name: str) -> "IndexStep":
        """The step of an index; one without data where a dry run lacks its corpus."""
        if name not in self.indexes:
            path = self._index_path(name)
            self.indexes[name] = Step.without_data(path, "build", 1, "index")
        return self.indexes[name]

    def trained_by(
        self, reference: str, entry: tuple[str, str], kind: type[P], what: str
    ) -> "tuple[P, Path] | None":
        """What trains the model that a recipe is named for, and its folder; None for any other.

        The folder is ``deepct/X`` of ``deepct/X.yaml``, or ``deepct/X.seed3`` for a seed of the
        entry, which takes the place of the recipe's own.
        """
        if not is_recipe(reference, self.folder):
            return None
        from adducir.training.kinds import open_training

        path, seed = self.file(reference), self.seed_of(*entry)
        folder = path.with_suffix("")
        overrides = () if seed is None else (f"training.seed={seed}",)
        if seed is not None:
            folder = folder.with_name(f"{folder.name}.seed{seed}")
            for ending in RECIPES:
                other = folder.with_name(f"{folder.name}{ending}")
                if other.exists():
                    raise InputError(
                        f"its model of seed {seed} would have the folder of the model of "
                        f"{other.name}.",
                        path=path,
                        hint="Give one of the recipes another name.",
                    )
        plan = open_training(path, overrides)
        if not isinstance(plan, kind):
            raise InputError(f"this is not a recipe of {what}.", path=path)
        return plan, folder

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
        recipe = self.recipe.systems[system]
        if not recipe.is_given:
            return recipe.output(system, topic_set, self)
        path, run = recipe.given_path(topic_set), self.given.get((system, topic_set))
        if run is None or run.path is None:
            return Answer.without_data(path, "read", 2, "run")  # type: ignore[no-any-return]
        return GivenRun(system, topic_set, run.path, run)

    def run_path(self, system: str, topic_set: str) -> Path:
        """Where the run of a system goes."""
        folder = self.folder / "runs" / self.name
        return folder / f"{file_name(system)}.{file_name(topic_set)}.trec.gz"

    def file(self, source: str) -> Path:
        """Where a file is that the experiment names."""
        return file_path(source, self.folder)

    def joined(self, system: str) -> "Run":
        """The runs of a system on all topic sets, over the ids of the pool."""
        return self.pool.joined([self.run_of(system, one).read() for one in self.recipe.topics])

    def label(self, corpus: str) -> str:
        """A corpus in a few words."""
        label = self.recipe.corpora[corpus].label if corpus in self.recipe.corpora else corpus
        seed = self.seed_of("corpora", corpus)
        return label if seed is None else f"{label}, seed {seed}"

    def indexes_used(self) -> set[str]:
        """The names of the indexes that systems search or read documents of."""
        systems = self.recipe.systems
        found = {one.needs_index(name, self) for name, one in systems.items()}
        return {name for name in found if name is not None}

    def goals(self) -> Sequence[Step]:
        """The runs, each after those that it is made from."""
        systems, levels = self.recipe.systems, dict[str, int]()

        def level(name: str) -> int:
            if name not in levels:
                levels[name] = 1 + max((level(one) for one in systems[name].members), default=-1)
            return levels[name]

        for system in sorted(systems, key=level):
            for topic_set in self.recipe.topics:
                self.run_of(system, topic_set)
        return list(dict.fromkeys(self.runs.values()))

    def others(self) -> Sequence[Step]:
        """The indexes, also those that no run to be made needs."""
        used = self.indexes_used()
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
        measures = " ".join(map(str, self.measures))
        runs = sum(map(len, self.rows.values()))
        several = f", {runs} runs," if runs > len(self.rows) else ""
        yield "evaluate", f"{len(self.rows)} systems{several} on {sets}: {measures}"
        yield from super().warnings()

    def findings(self, context: "Context") -> Sequence[Finding]:
        from adducir.experiments.retrieval.table import result_table

        return [Finding(result_table(self, context), each="per-topic")]


def open_study(recipe: "Retrieval", planner: Planner) -> RetrievalStudy:
    """Open every source of an experiment file, and settle its indexes."""
    return RetrievalStudy(recipe, planner).open()


def is_recipe(reference: str, folder: Path) -> bool:
    """Whether a model is named by the file of its recipe."""
    return file_path(reference, folder).suffix in RECIPES


def _clashing_files(recipe: "Retrieval") -> Iterator[ErrorDetail]:
    """Names that would get the same file, also where upper and lower case are one."""
    sections: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("indexes", recipe.indexes),
        ("topics", recipe.topics),
        ("systems", recipe.systems),
    )
    for section, names in sections:
        seen: dict[str, str] = {}
        for name in names:
            before = seen.setdefault(on_disk(name), name)
            if before != name:
                what = f"its files would have the names of those of `{before}`"
                yield ErrorDetail((section, name), what)
    runs: dict[str, tuple[str, str]] = {}
    for system in (name for name, one in recipe.systems.items() if not one.is_given):
        for topic_set in recipe.topics:
            other, on = runs.setdefault(on_disk(f"{system}.{topic_set}"), (system, topic_set))
            if on_disk(other) != on_disk(system):
                what = f"its run on `{topic_set}` would have the file of that of `{other}`"
                yield ErrorDetail(("systems", system), f"{what} on `{on}`")
