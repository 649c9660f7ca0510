"""The task ``known-item``: its experiment file, training, rankings and tables."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from adducir.core.registry import chosen_by_key
from adducir.corpora.spans import context_text
from adducir.encoders.reading import ContextRecipe
from adducir.evaluation.gold_ranks import CUTOFFS, GoldRanks, Ties
from adducir.experiments.known_item.system import (
    RANKING_SYSTEMS,
    ContextName,
    RankingSystem,
    RankStep,
    SpanData,
    SpanDataRecipe,
    folder_name,
    open_data,
)
from adducir.experiments.sections import Name, Opening, Planner, Reported
from adducir.experiments.step import Context, Step
from adducir.experiments.tasks import EvaluationData, Study, StudyTable, Task, Trial
from adducir.models.machine import Precision

if TYPE_CHECKING:
    from adducir.tables.ranks import Systems
    from adducir.tables.table import ResultTable

AnySystem = Annotated[
    SerializeAsAny[RankingSystem], BeforeValidator(chosen_by_key(RANKING_SYSTEMS))
]


class KnownItem(Task):
    """Contexts with one gold candidate each; see docs/ranks.md for its keys."""

    task: Literal["known-item"]
    """``known-item``."""
    data: Annotated[dict[Name, SpanDataRecipe], Field(min_length=1)]
    """Data sets: a table each."""
    contexts: Annotated[dict[ContextName, ContextRecipe], Field(min_length=1)]
    """How contexts are read: a section of the tables each."""
    systems: Annotated[dict[Name, AnySystem], Field(min_length=1)]
    """The systems to compare."""
    random: bool = True
    """Whether tables show a random ranking's exact expectation."""
    cutoffs: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = CUTOFFS
    """The k of R@k."""
    ties: Ties = "pessimistic"
    """How candidates tied with the gold item count."""
    rouge: bool = False
    """Whether to add ROUGE-L of the first candidate with the gold text."""
    by: tuple[Literal["length", "group"], ...] = ()
    """Also tables by these keys of contexts: ``length``, ``group``."""
    precision: Precision = "float32"
    """Networks' precision when they rank candidates."""

    @model_validator(mode="after")
    def _fits(self) -> "KnownItem":
        for name, system in self.systems.items():
            if unknown := set(system.contexts) - set(self.contexts):
                raise ValueError(f"the system {name!r} names an unknown context {min(unknown)!r}")
        if self.random and "random" in self.systems:
            raise ValueError("a system is called 'random', like the row of `random: true`")
        return self

    def study(self, planner: Planner) -> "KnownItemStudy":
        return KnownItemStudy(self, planner)


class KnownItemStudy(Study):
    makes: ClassVar[str] = "rankings"
    verb: ClassVar[str] = "rank"
    recipe: KnownItem

    def __init__(self, recipe: KnownItem, planner: Planner) -> None:
        super().__init__(recipe, planner)
        self.tables = len(recipe.data)
        self.learned: dict[str, list[str]] = {}  # notes on gold items in the training data
        self.data: dict[str, SpanData] = {}
        for name, data in recipe.data.items():
            with suppress(Reported), planner.at("data", name):
                self.data[name] = open_data(data, self.folder)
        self._opened: set[str] = set()
        for name, system in recipe.systems.items():
            with suppress(Reported), planner.at("systems", name):
                for tested, note in system.open(Opening(planner, "systems", name), self.data):
                    self.learned.setdefault(tested, []).append(note)
                self._opened.add(name)

    def trials(self) -> Iterator[Trial]:
        for data in self.recipe.data:
            for name, system in self.recipe.systems.items():
                for seed in self.seeds(name):
                    for part in self.recipe.contexts:
                        if not system.contexts or part in system.contexts:
                            yield Trial(name, data, seed, part)

    def step(self, trial: Trial) -> Step:
        if trial.data not in self.data or trial.system not in self._opened:
            raise Reported
        recipe, system = self.recipe, self.recipe.systems[trial.system]
        opening = Opening(
            self.planner, "systems", trial.system, trial.seed, trainings=self.trainings
        )
        read = recipe.contexts[trial.part]
        models = system.models(opening, trial.part, read)
        data, path = self.data[trial.data], self.path_of(trial)
        return RankStep(trial, path, system, data, read, models, recipe.precision, recipe.rouge)

    def path_of(self, trial: Trial) -> Path:
        names = (trial.data, trial.run, trial.part)
        return self.folder.joinpath("runs", self.name, *map(folder_name, names))

    def evaluation_data(self, data: str) -> EvaluationData | None:
        if data not in self.data or not self.data[data].is_read:
            return None
        contexts = [context_text(span) for span in self.data[data].spans]
        return EvaluationData(contexts, key="data.without")

    def result_tables(self, context: Context) -> Sequence[StudyTable]:
        from adducir.tables.ranks import by_key, first_of

        tables = list[StudyTable]()
        for data in self.recipe.data:
            name, folder = (data, folder_name(data)) if len(self.data) > 1 else ("", "")
            ranks: dict[str, dict[str, dict[str, GoldRanks]]] = {}
            identities = dict[str, str]()
            for trial, step in self.steps.items():
                if trial.data == data and isinstance(step, RankStep):
                    systems = ranks.setdefault(trial.part, {})
                    systems.setdefault(trial.system, {})[trial.run] = step.ranked()
                    identities[f"{trial.run}, {trial.part}"] = step.fingerprint
            sections = {part: dict(ranks[part]) for part in self.recipe.contexts if part in ranks}
            table = self._table(data, sections, identities)
            tables.append(StudyTable(table, name, folder, each="per-context"))
            for key in self.recipe.by:
                groups = {
                    f"{part}, {group} ({len(first_of(chosen).qids):,})": chosen
                    for part, systems in sections.items()
                    for group, chosen in by_key(systems, key).items()
                }
                table = self._table(data, groups, identities)
                tables.append(StudyTable(table, name, folder, f"by-{key}", is_printed=False))
        return tables

    def _table(
        self, data: str, sections: "Mapping[str, Systems]", identities: Mapping[str, str]
    ) -> "ResultTable":
        from adducir.tables.ranks import rank_table

        layout = self.layout(
            self.provenance({"ranks": identities}),
            of=data if len(self.data) > 1 else "",
            notes=[*self.seed_notes(), *self.learned.get(data, [])],
        )
        comparison, several = self.recipe.comparison, len(sections) > 1
        named = {system for systems in sections.values() for system in systems}
        return rank_table(
            sections if several else {"": next(iter(sections.values()))},
            sections=several,
            cutoffs=self.recipe.cutoffs,
            ties=self.recipe.ties,
            random=self.recipe.random,
            testing=comparison if comparison is not None and comparison.named <= named else None,
            layout=layout,
        )
