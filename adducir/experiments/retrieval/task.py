"""The task ``retrieval``: its experiment file, opened and planned; one table per file.

Systems may have several runs: ``DeepCT: {index: weighted, seeds: [0, 1]}`` plans two runs,
``DeepCT.seed0`` and ``DeepCT.seed1``. Each has its own copy of everything that depends on a
training: the model ``deepct/X.seed0``, the index ``weighted.seed0``. Everything else is shared.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from ir_measures import Measure
from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from adducir.core.fingerprint import fingerprint
from adducir.core.recipe import KeyPath, errors_at, validated
from adducir.core.registry import chosen_by_key
from adducir.core.texts import counted, listed
from adducir.evaluation.evaluator import depth_of
from adducir.evaluation.measures import DEFAULT_MEASURES, computable, parse_measure, parse_measures
from adducir.evaluation.scores import run_name
from adducir.experiments.retrieval.corpora import CORPORA, CorpusRecipe, OpenedTopics, TopicsRecipe
from adducir.experiments.retrieval.indexes import IndexEntry, IndexStep, index_path
from adducir.experiments.retrieval.runs import SYSTEMS, Given, GivenRun, RunOpening, System
from adducir.experiments.sections import (
    EntryName,
    Link,
    Name,
    Natural,
    Opening,
    Planner,
    Reported,
    RunTableRecipe,
    file_name,
)
from adducir.experiments.step import Absent, Context, Step
from adducir.experiments.tasks import EvaluationData, Study, StudyTable, Task, Trial
from adducir.experiments.tuning.design import TopicPool
from adducir.judges.costs import Cost

AnyCorpus = Annotated[SerializeAsAny[CorpusRecipe], BeforeValidator(chosen_by_key(CORPORA))]
AnySystem = Annotated[SerializeAsAny[System], BeforeValidator(chosen_by_key(SYSTEMS))]


class Retrieval(Task):
    """Topics with judgements, answered by runs; see docs/recipes.md for its keys."""

    task: Literal["retrieval"] = "retrieval"
    """``retrieval``, or omitted."""
    corpora: dict[Name, AnyCorpus] = Field(default_factory=dict)
    """Documents, by name."""
    indexes: dict[Name, IndexEntry] = Field(default_factory=dict)
    """Indexes of them, by name."""
    topics: Annotated[dict[Name, TopicsRecipe], Field(min_length=1)]
    """Topic sets by name: a group of columns each."""
    systems: Annotated[dict[Name, AnySystem], Field(min_length=1)]
    """The rows of the table."""
    depth: Natural | Literal["all"] = 1000
    """Documents per topic in each run."""
    measures: Annotated[tuple[str, ...], Field(min_length=1)] = DEFAULT_MEASURES
    """The columns."""
    costs: tuple[Cost, ...] = ()
    """Further columns: what language models took per topic."""
    negative_grades: Literal["zero", "trec_eval"] = "zero"
    """How negative judgements count."""
    unjudged: bool = False
    """Whether the footer shows how far unjudged documents could move figures."""
    table: RunTableRecipe = RunTableRecipe()
    """Layout, and what the report quotes."""

    @property
    def most(self) -> int | None:
        """``depth`` as a number; None for all documents with a query term."""
        return None if self.depth == "all" else self.depth

    @model_validator(mode="after")
    def _searches_by_the_model_of_the_index(self) -> "Retrieval":
        wrong = list[tuple[KeyPath, str]]()
        for name, system in self.systems.items():
            searched = getattr(system, "index", None) or getattr(system, "query2doc", None)
            index = self.indexes.get(str(searched))
            default = None if index is None else index.settings.default_model
            if getattr(system, "model", None) is not None or default in (None, "bm25"):
                continue
            stated = {**system.model_dump(exclude_unset=True), "model": default}
            fitting, problems = validated(type(system), stated)
            wrong += [(("systems", name, *path), message) for path, message in problems]
            self.systems[name] = fitting or system
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
        self._refused = set[EntryName]()
        for section in ("corpora", "indexes", "systems"):
            for name, entry in getattr(recipe, section).items():
                for link in entry.links():
                    planner.refer((section, name, *link.place), link.section, link.name)
        for name, corpus in recipe.corpora.items():
            for link in corpus.links():
                if link.name in recipe.corpora and [*recipe.corpora[link.name].links()]:
                    planner.add(("corpora", name, *link.place), f"`{link.name}` is itself expanded")
                    self._refused.add(("corpora", name))
        for name, system in recipe.systems.items():
            for path, message in system.conflicts(self):
                planner.add(("systems", name, *path), message)
            if (tune := getattr(system, "tune", None)) is not None:
                place = ("systems", name, "tune", "objective")
                measure = planner.opening(place, partial(parse_measure, tune.objective))
                if measure is not None:
                    self._is_computable(place, measure)
            for link in system.links():
                linked = recipe.systems.get(link.name) if link.section == "systems" else None
                if not system.seeds and getattr(linked, "seeds", None):
                    message = f"`{link.name}` has a run per seed: add `seeds` to `{name}`, too"
                    planner.add(("systems", name, *link.place), message)
        for circle in self.graph.circles:
            (section, name), target, *_ = circle
            for link in getattr(recipe, section)[name].links():
                if link[1:] == target and not self._refused.intersection(circle):
                    way = " -> ".join(entry for _, entry in circle)
                    planner.add((section, name, *link.place), f"circular reference: {way}")
        self.measures, self.measure_names = self._open_measures()
        self.topic_sets = dict[str, OpenedTopics]()
        for name, topics in recipe.topics.items():
            opened = topics.open(Opening(planner, "topics", name), self)
            if opened is not None:
                self.topic_sets[name] = opened

    def chain(self, name: str) -> list[str]:
        """A system and those that it depends on, nearest first, also undefined ones."""
        ancestors = self.graph.ancestors.get(("systems", name), ())
        return [name, *(other for section, other in ancestors if section == "systems")]

    def _open_measures(self) -> tuple[tuple[Measure, ...], dict[str, str]]:
        planner, recipe = self.planner, self.recipe
        measures: dict[Measure, None] = {}
        for number, text in enumerate(recipe.measures):
            place: KeyPath = ("measures", number)
            for measure in planner.opening(place, partial(parse_measures, text)) or ():
                if self._is_computable(place, measure):
                    measures[measure] = None
        if recipe.unjudged and not any(map(depth_of, measures)):
            message = "only nDCG@k, AP@k and RBP(rel=1) have bounds; add one of them to `measures`"
            planner.add(("unjudged",), message)
        names = dict[str, str]()
        for text, name in recipe.table.measure_names.items():
            # Other measures' names are harmless: --set measures=... may have dropped those.
            place, parse = ("table", "measure_names", text), partial(parse_measure, text)
            names[text if text in recipe.costs else str(planner.opening(place, parse))] = name
        return tuple(measures), names

    def _is_computable(self, place: KeyPath, measure: Measure) -> bool:
        cutoff, most = _cutoff(measure), self.recipe.most
        if most is not None and cutoff > most:
            message = f"{measure} needs {cutoff} documents per topic; `depth` is {most}"
            self.planner.add(place, message)
        return self.planner.opening(place, partial(computable, measure)) is not None

    def _open(self, section: str, name: str, seed: int | None) -> Any:
        """A corpus or an index's step, opened once; None after an error."""
        key = section, name, seed if self.is_trained(section, name) else None
        if key not in self._opened and name in getattr(self.recipe, section):
            self._opened[key] = self._open_now(*key)
        return self._opened.get(key)

    def _open_now(self, section: str, name: str, seed: int | None) -> Any:
        entry = getattr(self.recipe, section)[name]
        if (section, name) in self._refused or self.graph.is_circular((section, name)):
            return None
        links = self._linked(entry.links(), seed)
        opening = Opening(self.planner, section, name, seed, links, self.trainings)
        return self.planner.opening(opening.place, partial(entry.open, opening))

    def _linked(self, links: Iterable[Link], seed: int | None, data: str = "") -> dict[str, Any]:
        """What an entry links to, opened, by key; None after an error."""
        opened = dict[str, Any]()
        for link in links:
            if link.section == "systems":
                is_trained = self.is_trained("systems", link.name)
                opened[link.key] = self.plan(Trial(link.name, data, seed if is_trained else None))
            elif link.section != "topics":
                opened[link.key] = self._open(link.section, link.name, seed)
        return opened

    @property
    def indexes(self) -> dict[str, IndexStep]:
        return {
            run_name(name, seed): step
            for (section, name, seed), step in self._opened.items()
            if section == "indexes" and step is not None
        }

    def trials(self) -> Iterator[Trial]:
        levels = self.graph.levels
        for name in sorted(self.recipe.systems, key=lambda name: levels["systems", name]):
            for seed in self.seeds(name):
                yield from (Trial(name, topics, seed) for topics in self.recipe.topics)

    def step(self, trial: Trial) -> Step:
        system = self.recipe.systems.get(trial.system)
        if system is None or self.graph.is_circular(("systems", trial.system)):
            raise Reported
        if getattr(system, "tune", None) is None:
            step = system.step(self._opening(system, trial))
        else:
            openings = {
                data: self._opening(system, trial._replace(data=data))
                for data in self.recipe.topics
            }
            if openings.keys() > self.topic_sets.keys():
                raise Reported
            from adducir.experiments.retrieval.search import TunedStep

            tunable: Any = system
            opening, negative = openings[trial.data], self.recipe.negative_grades
            step = TunedStep(tunable, opening, openings=openings, pool=self.pool, negative=negative)
        for planned, other in self.planned.items():
            is_alike = planned._replace(data=trial.data) == trial and not isinstance(other, Absent)
            if is_alike and other.fingerprint == step.fingerprint:
                return other
        return step

    def _opening(self, system: System, trial: Trial) -> RunOpening:
        return RunOpening(
            self.planner,
            "systems",
            trial.system,
            trial.seed,
            self._linked(system.inputs(self), trial.seed, trial.data),
            self.trainings,
            trial=trial,
            topic_set=self.topic_sets.get(trial.data),
            path=self.path_of(trial),
            depth=system.run_depth(self.recipe.most),
        )

    def absent(self, trial: Trial) -> Absent:
        system = self.recipe.systems.get(trial.system)  # None after an error
        verb = "tune" if getattr(system, "tune", None) else getattr(system, "verb", self.verb)
        return Absent(self.path_of(trial), verb, 2, "run")

    def path_of(self, trial: Trial) -> Path:
        system, folder = self.recipe.systems.get(trial.system), self.folder / "runs" / self.name
        if isinstance(system, Given):
            return system.path(trial)
        return folder / f"{file_name(trial.run)}.{file_name(trial.data)}.trec.gz"

    @cached_property
    def pool(self) -> TopicPool:
        return TopicPool.of([*self.topic_sets.values()])

    def goals(self) -> Sequence[Step]:
        goals = super().goals()
        used = {key[:2] for key in self._opened}  # also show errors of unused entries
        for name in self.recipe.indexes:
            if ("indexes", name) not in used:
                self._open_now("indexes", name, None)
        for name in self.recipe.corpora:
            self._open("corpora", name, None)
        return goals

    def others(self) -> Sequence[Step]:
        order = [*self.recipe.indexes]
        indexes = [key for key in self._opened if key[0] == "indexes"]
        return [
            self._opened[key] or Absent(index_path(self.folder, *key[1:]), "build", 1, "index")
            for key in sorted(indexes, key=lambda key: order.index(key[1]))
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
                message = f"{message}, which count 0: {listed(lacking, 3)}"
                yield "warn", f"the run of {trial.system} {message}"
        yield from (("warn", sentence.rstrip(".")) for sentence in self.shallow({}))
        names, sets = self.recipe.systems, ", ".join(self.recipe.topics)
        runs = sum(len(self.seeds(name)) for name in names)
        several = f", {runs} runs," if runs > len(names) else ""
        measures = " ".join(map(str, self.measures))
        yield "evaluate", f"{counted(len(names), 'system')}{several} on {sets}: {measures}"
        yield from super().warnings()

    def shallow(self, names: Mapping[str, str]) -> Iterator[str]:
        """Sentences about systems whose own depth is below a measure's cutoff."""
        for name, system in self.recipe.systems.items():
            depth = system.run_depth(None)
            deeper = [f"{m}" for m in self.measures if depth is not None and _cutoff(m) > depth]
            if deeper:
                whose, most = names.get(name, name), counted(depth or 0, "document")
                yield f"{whose}: at most {most} per topic, below the cutoff of {listed(deeper)}."

    def evaluation_data(self, data: str) -> EvaluationData | None:
        if (judged := self.topic_sets.get(data)) is None:
            return None
        qids, topics = {*judged.qrels.qids}, judged.topics
        queries = zip(topics.qids, topics.texts, strict=True)
        opened = [entry for key, entry in self._opened.items() if entry and key[0] == "corpora"]
        return EvaluationData(
            [query for qid, query in queries if qid in qids],
            judged.qrels.frame["docno"],
            {fingerprint(entry.corpus.identity()) for entry in opened},
        )

    def result_tables(self, context: Context) -> Sequence[StudyTable]:
        from adducir.experiments.retrieval.table import run_table

        return [run_table(self, context)]


def _cutoff(measure: Measure) -> int:
    return getattr(measure, "params", {}).get("cutoff") or 0
