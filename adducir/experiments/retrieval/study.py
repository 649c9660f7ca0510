"""The task ``retrieval``: its experiment file, opened and planned; one table per file.

Systems may have several runs: ``DeepCT: {index: weighted, seeds: [0, 1]}`` plans two runs,
``DeepCT.seed0`` and ``DeepCT.seed1``. Each has its own copy of everything that depends on a
training: the model ``deepct/X.seed0``, the index ``weighted.seed0``. Everything else is shared.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    ValidationError,
    field_validator,
    model_validator,
)

from adducir.core.errors import InputError
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import progress
from adducir.core.recipe import KeyPath, errors_at, errors_of
from adducir.core.registry import chosen_by_key
from adducir.core.texts import counted, listed
from adducir.corpora.sources import file_path
from adducir.evaluation.measures import DEFAULT_MEASURES
from adducir.evaluation.scores import run_name
from adducir.experiments.retrieval.corpora import (
    CORPORA,
    CorpusRecipe,
    OpenedCorpus,
    TopicSet,
    TopicsRecipe,
    open_measures,
)
from adducir.experiments.retrieval.indexes import IndexEntry, IndexStep
from adducir.experiments.retrieval.runs import SYSTEMS, GivenRun, System
from adducir.experiments.sections import Known, Name, Natural, Planner, RunTableRecipe, file_name
from adducir.experiments.step import Absent, ModelStep, Step, models_of, shown
from adducir.experiments.study import Finding, Study, Task, Trial
from adducir.experiments.tuning.design import Pool
from adducir.judges.costs import Cost

if TYPE_CHECKING:
    from adducir.experiments.step import Context
    from adducir.training.trainable import Trainable


AnyCorpus = Annotated[
    SerializeAsAny[CorpusRecipe],
    BeforeValidator(chosen_by_key(CORPORA, "a corpus needs exactly one of `source` and `expand`")),
]
AnySystem = Annotated[
    SerializeAsAny[System],
    BeforeValidator(
        chosen_by_key(
            SYSTEMS,
            "a system needs exactly one of `index` (search), `fuse`, `rerank`, `python` and `run`",
        )
    ),
]


class Retrieval(Task):
    """Topics with judgements, answered by runs; see docs/recipes.md for its keys."""

    task: Literal["retrieval"] = "retrieval"  # ``retrieval``, or omitted
    corpora: dict[Name, AnyCorpus] = Field(default_factory=dict)  # documents, by name
    indexes: dict[Name, IndexEntry] = Field(default_factory=dict)  # indexes of them, by name
    topics: dict[Name, TopicsRecipe]  # topic sets by name: a group of columns each
    systems: dict[Name, AnySystem]  # the rows of the table
    # documents per topic in each run
    depth: Natural | Literal["all"] = 1000
    measures: tuple[str, ...] = DEFAULT_MEASURES  # the columns
    costs: tuple[Cost, ...] = ()  # further columns: what language models took per topic
    negative_grades: Literal["zero", "trec_eval"] = "zero"  # how negative judgements count
    # whether the footer shows how far unjudged documents could move figures
    unjudged: bool = False
    table: RunTableRecipe = RunTableRecipe()  # layout, and what the report quotes

    @property
    def most(self) -> int | None:
        """``depth`` as a number; None for all documents with a query term."""
        return None if self.depth == "all" else self.depth

    @field_validator("topics", "systems", "measures")
    @classmethod
    def _some(cls, value: Any) -> Any:
        if not value:
            raise ValueError("at least one is needed")
        return value

    @model_validator(mode="after")
    def _searches_by_the_model_of_the_index(self) -> "Retrieval":
        wrong = list[tuple[KeyPath, str]]()
        for name, system in self.systems.items():
            searched = getattr(system, "index", None) or getattr(system, "query2doc", None)
            index = self.indexes.get(str(searched))
            default = None if index is None else index.settings.default_model
            if "model" in system.model_fields_set or default in (None, "bm25"):
                continue
            stated = {**system.model_dump(exclude_unset=True), "model": default}
            try:
                self.systems[name] = type(system).model_validate(stated)
            except ValidationError as error:
                problems = errors_of(error, stated)
                wrong += [(("systems", name, *problem.path), problem.what) for problem in problems]
        if wrong:
            raise errors_at(*wrong)
        return self

    def study(self, planner: Planner) -> "RetrievalStudy":
        return RetrievalStudy(self, planner)


class RetrievalStudy(Study):
    makes: ClassVar[str] = "runs"
    recipe: Retrieval

    def __init__(self, recipe: Retrieval, planner: Planner) -> None:
        super().__init__(recipe, planner)
        self._opened: dict[tuple[str, str, int | None], Any] = {}
        self.weights: dict[tuple[Path, str], Step] = {}
        for section in ("corpora", "indexes", "systems"):
            for name, entry in getattr(recipe, section).items():
                for link in entry.links():
                    planner.refer((section, name, *link.place), link.section, link.name)
        for name, system in recipe.systems.items():
            system.check(name, self)
            for link in system.links():
                linked = recipe.systems.get(link.name) if link.section == "systems" else None
                if not system.seeds and getattr(linked, "seeds", None):
                    message = f"`{link.name}` has a run per seed: add `seeds` to `{name}`, too"
                    planner.add(("systems", name, *link.place), message)
        for circle in self.graph.circles:
            (section, name), target, *_ = circle
            for link in recipe.systems[name].links() if section == "systems" else ():
                if link[1:] == target:
                    way = " -> ".join(entry for _, entry in circle)
                    planner.add((section, name, *link.place), f"circular reference: {way}")
        self.measures, self.measure_names = open_measures(self)
        opened = {name: topics.open(name, self) for name, topics in recipe.topics.items()}
        self.topic_sets = {name: topics for name, topics in opened.items() if topics is not None}

    def made_of(self, name: str) -> list[str]:
        """The systems that one depends on, nearest first, including undefined ones."""
        ancestors = self.graph.ancestors.get(("systems", name), ())
        return [ancestor for section, ancestor in ancestors if section == "systems"]

    def _open(self, section: str, name: str, seed: int | None) -> Any:
        """A corpus or an index's step, opened once; :class:`.Known` on an error."""
        key = section, name, seed if self.is_trained(section, name) else None
        entries: Mapping[str, Any] = getattr(self.recipe, section)
        if key not in self._opened and name in entries:
            make = entries[name].open if section == "corpora" else partial(IndexStep, entries[name])
            self._opened[key] = self.planner.opening(key[:2], partial(make, name, key[2], self))
        if self._opened.get(key) is None:
            raise Known
        return self._opened[key]

    def corpus(self, name: str, seed: int | None = None) -> OpenedCorpus:
        return self._open("corpora", name, seed)

    def index(self, name: str, seed: int | None = None) -> IndexStep:
        return self._open("indexes", name, seed)

    def topic_set(self, name: str) -> TopicSet:
        if name not in self.topic_sets:
            raise Known
        return self.topic_sets[name]

    @property
    def indexes(self) -> dict[str, IndexStep]:
        return {
            name if seed is None else run_name(name, seed): step
            for (section, name, seed), step in self._opened.items()
            if section == "indexes" and step is not None
        }

    def index_path(self, name: str, seed: int | None) -> Path:
        label = name if seed is None else run_name(name, seed)
        return self.folder / "indexes" / file_name(label)

    def training(
        self,
        reference: str,
        seed: int | None,
        kind: "type[Trainable[Any]] | tuple[type[Trainable[Any]], ...]",
        model: str,
        place: KeyPath,
    ) -> ModelStep:
        """The step that trains ``deepct/X`` from its recipe; with seed 3, ``deepct/X.seed3``."""
        from adducir.training.trainable import open_training

        path = file_path(reference, self.folder)
        folder = path.with_suffix("")
        overrides: tuple[str, ...] = ()
        if seed is not None:
            folder = path.with_name(run_name(path.stem, seed))
            overrides = (f"training.seed={seed}",)
        plan = open_training(path, overrides)
        if not isinstance(plan, kind):
            raise InputError(f"this is not a recipe of {model}.", path=path)
        return self.model(folder, plan, place)

    def trials(self) -> Iterator[Trial]:
        for name in sorted(
            self.recipe.systems, key=lambda name: self.graph.levels["systems", name]
        ):
            for seed in self.seeds(name):
                yield from (Trial(name, topics, seed) for topics in self.recipe.topics)

    def step(self, trial: Trial) -> Step:
        system = self.recipe.systems.get(trial.system)
        if system is None or self.graph.is_circular(("systems", trial.system)):
            raise Known
        step = system.step(trial, self)
        for planned, planned_step in self.planned.items():
            is_same = planned._replace(data=trial.data) == trial and not isinstance(
                planned_step, Absent
            )
            if is_same and planned_step.fingerprint == step.fingerprint:
                return planned_step
        return step

    def absent(self, trial: Trial) -> Absent:
        system: Any = self.recipe.systems.get(trial.system)
        if system is None:
            return super().absent(trial)
        verb = "tune" if getattr(system, "tune", None) else system.verb
        return Absent(system.path(trial, self), verb, 2, "run")

    def run(self, trial: Trial) -> Any:
        is_trained = self.is_trained("systems", trial.system)
        return self.plan(trial if is_trained else trial._replace(seed=None))

    def path_of(self, trial: Trial) -> Path:
        folder = self.folder / "runs" / self.name
        return folder / f"{file_name(trial.run)}.{file_name(trial.data)}.trec.gz"

    @cached_property
    def pool(self) -> Pool:
        return Pool.of([*self.topic_sets.values()])

    def goals(self) -> Sequence[Step]:
        goals = super().goals()
        used = {key[:2] for key in self._opened}  # also show errors of unused entries
        for name, entry in self.recipe.indexes.items():
            if ("indexes", name) not in used:
                make = partial(IndexStep, entry, name, None, self)
                self.planner.opening(("indexes", name), make)
        for name in self.recipe.corpora:
            with suppress(Known):
                self.corpus(name)
        return goals

    def others(self) -> Sequence[Step]:
        place = {name: number for number, name in enumerate(self.recipe.indexes)}
        indexes = [key for key in self._opened if key[0] == "indexes"]
        return [
            self._opened[key] or Absent(self.index_path(*key[1:]), "build", 1, "index")
            for key in sorted(indexes, key=lambda key: place.get(key[1], 0))
        ]

    def warnings(self) -> Iterator[tuple[str, str]]:
        """Warnings about given runs that would lower figures; evaluation and tests."""
        for trial, step in self.steps.items():
            topic_set = self.topic_sets.get(trial.data)  # None in a dry run without its data
            if not isinstance(step, GivenRun) or topic_set is None:
                continue
            judged = topic_set.qrels.qids
            if lacking := sorted(set(judged).difference(step.run.qids)):
                message = f"lacks {len(lacking)} of the {len(judged)} judged topics of {trial.data}"
                message = (
                    f"the run of {trial.system} {message}, which count 0: {listed(lacking, 3)}"
                )
                yield "warn", message
        yield from (("warn", line) for line in self.leaks())
        names, sets = self.recipe.systems, ", ".join(self.recipe.topics)
        runs = sum(len(self.seeds(name)) for name in names)
        several = f", {runs} runs," if runs > len(names) else ""
        measures = " ".join(map(str, self.measures))
        yield "evaluate", f"{counted(len(names), 'system')}{several} on {sets}: {measures}"
        yield from super().warnings()

    def leaks(self) -> Iterator[str]:
        """A line per model and topic set with queries or documents that it was trained on."""
        from adducir.training.leaks import queries_of

        opened = [entry for key, entry in self._opened.items() if entry and key[0] == "corpora"]
        corpora, noted = {fingerprint(entry.corpus.identity()) for entry in opened}, set[Any]()
        for trial, step in self.steps.items():
            for model in models_of(step) if trial.data in self.topic_sets else ():
                ending = "" if trial.seed is None else run_name("", trial.seed)
                name = shown(model.path, self.folder).removesuffix(ending)
                if (name, trial.data) in noted:
                    continue
                noted.add((name, trial.data))
                seen, judged = model.plan.trained_on(), self.topic_sets[trial.data]
                if seen.corpus not in corpora:
                    seen = replace(seen, corpus="")
                if not seen.queries:
                    seen = replace(seen, queries=queries_of(model.path))
                qids = {*judged.qrels.qids}
                both = zip(judged.topics.qids, judged.topics.texts, strict=True)
                queries = [query for qid, query in both if qid in qids]
                yield from seen.warnings(name, queries, judged.qrels.frame["docno"], trial.data)

    def findings(self, context: "Context") -> Sequence[Finding]:
        from adducir.experiments.retrieval.table import result_table

        for line in self.leaks():
            progress().note(line)
        return [Finding(result_table(self, context), each="per-topic")]
