"""The task ``retrieval``: its experiment file, opened and planned; one table per file.

Systems may have several runs: ``DeepCT: {index: weighted, seeds: [0, 1]}`` plans two runs,
``DeepCT.seed0`` and ``DeepCT.seed1``. Each has its own copy of everything that depends on a
training: the model ``deepct/X.seed0``, the index ``weighted.seed0``. Everything else is shared.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
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
from adducir.experiments.step import Absent, ModelStep, Step
from adducir.experiments.study import Finding, Study, Task, Trial
from adducir.experiments.tuning.design import Pool

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
            index = self.indexes.get(str(getattr(system, "index", "")))
            default = None if index is None else index.settings.default_model
            if "model" in system.model_fields_set or default in (None, "bm25"):
                continue
            stated = {**system.model_dump(exclude_unset=True), "model": default}
            try:
                self.systems[name] = type(system).model_validate(stated)
            except ValidationError as error:
                found = errors_of(error, stated)
                wrong += [(("systems", name, *one.path), one.what) for one in found]
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
        circled = set[str]()
        for name, system in recipe.systems.items():
            system.check(name, self)
            circle = self._circle(name)
            if not circled.isdisjoint(circle):  # each is reported once
                circle = []
            circled.update(circle)
            for link in (one for one in system.links() if one.section == "systems"):
                place = ("systems", name, *link.place)
                if not system.seeds and getattr(recipe.systems.get(link.name), "seeds", None):
                    what = f"`{link.name}` has a run per seed: add `seeds` to `{name}`, too"
                    planner.add(place, what)
                if link.name in circle[1:2]:
                    planner.add(place, f"circular reference: {' -> '.join(circle)}")
        self.measures, self.measure_names = open_measures(self)
        opened = {name: topics.open(name, self) for name, topics in recipe.topics.items()}
        self.topic_sets = {name: one for name, one in opened.items() if one is not None}

    def made_of(self, name: str) -> list[str]:
        """The systems that one depends on, nearest first, including undefined ones."""
        systems, found, waiting = self.recipe.systems, dict[str, None](), [name]
        for one in waiting:
            members = systems[one].members if one in systems else ()
            waiting += [member for member in members if member not in found]
            found |= dict.fromkeys(members)
        return list(found)

    def _circle(self, name: str) -> list[str]:
        """The shortest way from a system through what it depends on back to it, if there is one."""
        waiting, seen = [[name]], set[str]()
        for way in waiting:
            members = getattr(self.recipe.systems.get(way[-1]), "members", ())
            if name in members:
                return [*way, name]
            waiting += [[*way, member] for member in members if member not in seen]
            seen.update(members)
        return []

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
        own = name if seed is None else run_name(name, seed)
        return self.folder / "indexes" / file_name(own)

    def training(
        self,
        reference: str,
        seed: int | None,
        kind: "type[Trainable[Any]]",
        what: str,
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
            raise InputError(f"this is not a recipe of {what}.", path=path)
        return self.model(folder, plan, place)

    def trials(self) -> Iterator[Trial]:
        @cache
        def level(name: str) -> int:
            if name not in self.recipe.systems or name in self.made_of(name):
                return 0
            return 1 + max(map(level, self.recipe.systems[name].members), default=-1)

        for name in sorted(self.recipe.systems, key=level):
            for seed in self.seeds(name):
                yield from (Trial(name, topics, seed) for topics in self.recipe.topics)

    def step(self, trial: Trial) -> Step:
        system = self.recipe.systems.get(trial.system)
        if system is None or trial.system in self.made_of(trial.system):
            raise Known
        step = system.step(trial, self)
        for other, one in self.planned.items():
            is_same = other._replace(data=trial.data) == trial and not isinstance(one, Absent)
            if is_same and one.fingerprint == step.fingerprint:
                return one
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
                what = f"lacks {len(lacking)} of the {len(judged)} judged topics of {trial.data}"
                what = f"the run of {trial.system} {what}, which count 0: {listed(lacking, 3)}"
                yield "warn", what
        names, sets = self.recipe.systems, ", ".join(self.recipe.topics)
        runs = sum(len(self.seeds(name)) for name in names)
        several = f", {runs} runs," if runs > len(names) else ""
        measures = " ".join(map(str, self.measures))
        yield "evaluate", f"{counted(len(names), 'system')}{several} on {sets}: {measures}"
        yield from super().warnings()

    def findings(self, context: "Context") -> Sequence[Finding]:
        from adducir.experiments.retrieval.table import result_table

        return [Finding(result_table(self, context), each="per-topic")]
