"""Opens a study of known-item search, plans its trainings and rankings, and makes its tables."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from adducir.core.artifacts import parts_of, remove_parts
from adducir.core.chunks import Chunking
from adducir.core.processes import locked
from adducir.core.progress import progress
from adducir.encoders.ranking import SpanTask
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.evaluation.rank_files import read_ranks, write_ranks
from adducir.experiments.known_item.data import SpanData, open_data
from adducir.experiments.known_item.system import (
    ContextRecipe,
    KnownItem,
    RankingSystem,
    folder_name,
)
from adducir.experiments.step import ArtifactStep, Step
from adducir.experiments.study import Finding, Study
from adducir.models.machine import using_threads
from adducir.tables.builder import Layout
from adducir.tables.ranks import Runs, rank_table
from adducir.tables.stacking import stacked
from adducir.tables.table import ResultTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adducir.experiments.context import Context
    from adducir.experiments.planner import Planner

Sections = Mapping[str, Mapping[str, Runs]]
"""The ranks of each run of each system, by section."""


def rank_tables(sections: Sections, study: KnownItem, layout: Layout) -> ResultTable:
    """One table of several sections; systems are tested within each."""
    requested = study.comparison
    tables: dict[str, ResultTable] = {}
    for name, systems in sections.items():
        testing: dict[str, Any] = {}
        if requested is not None and requested.named <= set(systems):
            testing = requested.model_dump(exclude_none=True)
        tables[name] = rank_table(
            systems,
            cutoffs=study.cutoffs,
            ties=study.ties,
            random=study.random,
            testing=testing,
            layout=layout,
        )
    return stacked(tables, layout.system_names)


def by_key(sections: Sections, key: str) -> dict[str, dict[str, Runs]]:
    """The ranks of each group of contexts, such as those of a length, as sections."""
    found: dict[str, dict[str, Runs]] = {}
    for name, systems in sections.items():
        values = next(ranks for runs in systems.values() for ranks in runs.values()).keys[key]
        for value in sorted(set(values), key=lambda one: (not one.isdigit(), len(one), one)):
            places = np.flatnonzero([one == value for one in values])
            title = f"{name}, {key} {value} ({len(places):,})"
            found[title] = {
                system: {run: ranks.rows(places) for run, ranks in runs.items()}
                for system, runs in systems.items()
            }
    return found


def without_values(table: ResultTable) -> ResultTable:
    """The table without the values of each query: its sections are of different ones."""
    rows = tuple(
        replace(row, cells=tuple(replace(cell, values=(), runs={}) for cell in row.cells))
        for row in table.rows
    )
    columns = tuple(replace(column, topics=()) for column in table.columns)
    return replace(table, rows=rows, columns=columns)


RANKS_FILE = "ranks.tsv"

T = TypeVar("T")


class RankStep(ArtifactStep):
    """The ranks of one system, on one data set, with one context."""

    kind: ClassVar[str] = "ranks"
    version: ClassVar[int] = 2
    verb = "rank"
    stage = 2

    def __init__(
        self, study: "KnownItemStudy", data: SpanData, place: tuple[str, str, str]
    ) -> None:
        self.study, self.data = study, data
        self.data_name, self.system, self.context_name = place
        self.path = study.path_of(*place)
        self.inputs = study.system(self.system).training(self.system, self.context_name, study)
        self.place = ("systems", self.system)
        self.reads = [] if self.inputs else [self.place]

    @property
    def shared_work(self) -> Hashable | None:
        """The vectors of the candidates, unless another encoder is trained for each context."""
        return None if self.inputs else (self.data_name, self.system)

    @property
    def chunk_places(self) -> Sequence[Path]:
        """See :attr:`Step.chunk_places`: the candidates' serve all contexts of a system."""
        return [self.path.parent] if self.shared_work else []

    @property
    def reads_of_context(self) -> ContextRecipe:
        """What is read of contexts."""
        return self.study.recipe.contexts[self.context_name]

    @contextmanager
    def keeping(self, context: "Context") -> "Iterator[Chunking]":
        """Who makes the candidates' vectors, and beside what they are kept.

        Another process may rank another context by them: whoever works with them holds a lock.
        """
        if self.shared_work is None:
            yield context.chunking(self.path)
            return
        with locked(self.path.parent):
            yield context.chunking(self.path.parent)

    def make(self, context: "Context") -> None:
        """See :meth:`Step.make`; the candidates' vectors go behind the last context."""
        super().make(context)
        of_system = self.path.parent
        if self.shared_work is None or not parts_of(of_system):
            return
        goals = self.study.goals()
        later = goals[goals.index(self) + 1 :]
        same = [one for one in later if one.shared_work == self.shared_work]
        if not any(context.rebuild or one.why() for one in same):
            with locked(of_system):
                remove_parts(of_system)

    @property
    def _system(self) -> RankingSystem:
        return self.study.system(self.system)

    def title(self, shown: Callable[[Path], str]) -> str:
        """Its folder, and what is ranked."""
        count = f": {len(self.data.spans):,} contexts" if self.data.is_read else ""
        return f"{shown(self.path)}: {self.system}, {self.context_name}{count}"

    def recipe(self) -> Mapping[str, Any]:
        read, rouge = self.reads_of_context.model_dump(mode="json"), self.study.recipe.rouge
        return {"context": read, "rouge": rouge, **self._system.fingerprint_inputs(self.study)}

    def identities(self) -> Mapping[str, str]:
        return {"data": self.data.identity, **self._system.identities(self)}

    def versions(self) -> Mapping[str, str]:
        return self._system.versions()

    def fill(self, folder: Path, context: "Context") -> Mapping[str, Any]:
        """Rank, and write the ranks."""
        what = f"{self.data_name}, {self.system}, {self.context_name}"
        progress().note(f"{context.shown(self.path)}: {what}")
        tasks: list[SpanTask] = context.latest(
            "tasks", self.data.recipe, lambda: list(self.data.tasks())
        )
        with using_threads(context.threads):
            ranks = self._system.ranks(self, tasks, context)
        if not self.study.recipe.rouge:
            ranks = replace(ranks, rouge=None)
        write_ranks(folder / RANKS_FILE, {self.system: ranks})
        return {"contexts": len(ranks.qids)}

    def read(self) -> GoldRanks:
        """The ranks that stand in its file."""
        (ranks,) = read_ranks(self.path / RANKS_FILE, self.system).values()
        return ranks


class KnownItemStudy(Study):
    """A study of known-item search, opened; see :class:`.Study` as well."""

    makes: ClassVar[str] = "rankings"
    written: KnownItem
    recipe: KnownItem

    def __init__(self, recipe: KnownItem, planner: "Planner") -> None:
        super().__init__(recipe, planner)
        self.data: dict[str, SpanData] = {}
        self.learnt: dict[str, list[str]] = {}
        self.tables = len(recipe.data)
        self._unopened: set[str] = set()
        self._details: dict[str, Any] = {}
        self._steps: list[Step] = []

    def open(self) -> None:
        """Open data and systems; what is wrong is left with the planner."""
        planner = self.planner
        for name, one in self.recipe.data.items():
            opened = planner.opening(("data", name), partial(open_data, one, self.folder))
            if opened is not None:
                self.data[name] = opened
        for name, system in self.written.systems.items():
            done = planner.opening(("systems", name), partial(self._open, name, system))
            if done is None:
                self._unopened.add(name)
        self.add_seeds("systems")
        rows = self.rows.items()
        self._unopened = {one for name, runs in rows for one in runs if name in self._unopened}

    def _open(self, name: str, system: RankingSystem) -> bool:
        system.open(name, self)
        return True

    def system(self, name: str) -> RankingSystem:
        """A system of the file."""
        return self.recipe.systems[name]

    def details(self, what: str, make: Callable[[], T]) -> T:
        """What systems share, made when it is first asked for."""
        if what not in self._details:
            self._details[what] = make()
        value: T = self._details[what]
        return value

    def path_of(self, *names: str) -> Path:
        """The folder of the ranks of a data set, a system and a context."""
        return self.folder.joinpath("runs", self.name, *map(folder_name, names))

    def goals(self) -> Sequence[Step]:
        """The rankings, those of a data set and system together."""
        if not self._steps:
            self._steps = [
                self._step(data, system, context)
                for data in self.recipe.data
                for system in self.recipe.systems
                for context in self.recipe.contexts_of(system)
            ]
        return self._steps

    def _step(self, data: str, system: str, context: str) -> Step:
        place = (data, system, context)
        if data not in self.data or system in self._unopened:
            found: Step = Step.without_data(self.path_of(*place), "rank", 2)
            return found
        return RankStep(self, self.data[data], place)

    def findings(self, context: "Context") -> Sequence[Finding]:
        """A table for each data set, and those of groups of contexts."""
        found: list[Finding] = []
        for data in self.recipe.data:
            several = len(self.data) > 1
            name, folder = (data, folder_name(data)) if several else ("", "")
            sections = self._sections(data)
            table = self._table(data, sections)
            found.append(Finding(table, name, folder, each="per-context"))
            for key in self.recipe.by:
                grouped = without_values(self._table(data, by_key(sections, key)))
                found.append(Finding(grouped, name, folder, f"by-{key}", is_printed=False))
        return found

    def _rankings(self, data: str) -> list[RankStep]:
        return [s for s in self.goals() if isinstance(s, RankStep) and s.data_name == data]

    def _sections(self, data: str) -> dict[str, dict[str, Runs]]:
        """The ranks of each run of a data set's systems, by context."""
        row_of = {run: row for row, runs in self.rows.items() for run in runs}
        found: dict[str, dict[str, dict[str, GoldRanks]]] = {}
        for step in self._rankings(data):
            rows = found.setdefault(step.context_name, {})
            rows.setdefault(row_of[step.system], {})[step.system] = step.read()
        return {name: dict(found[name]) for name in self.recipe.contexts if name in found}

    def _table(self, data: str, sections: Sections) -> ResultTable:
        ranks = {
            f"{step.system}, {step.context_name}": step.fingerprint for step in self._rankings(data)
        }
        layout = self.layout(
            self.provenance({"ranks": ranks}),
            of=data if len(self.data) > 1 else "",
            notes=[*self.seed_notes(), *self.learnt.get(data, [])],
        )
        return rank_tables(sections, self.recipe, layout)


def open_study(recipe: KnownItem, planner: "Planner") -> KnownItemStudy:
    """Open a study's data and systems."""
    study = KnownItemStudy(recipe, planner)
    study.open()
    return study
