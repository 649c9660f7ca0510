"""The seam between the engine of experiments and their tasks.

A task is an experiment file (:class:`Task`) and its study (:class:`Study`). The study opens the
file's data in its ``__init__``, with ``planner.opening``, which collects errors for one message. It
lists its trials (``trials``), returns the step of each (``step``), and turns the steps' results
into tables (``result_tables``); everything else is the same for all tasks.
"""

import os
import shlex
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from adducir.core.errors import AdducirError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.evaluation.scores import run_name
from adducir.experiments.sections import (
    ENTRIES,
    ComparisonRecipe,
    EntryName,
    Graph,
    Linked,
    Planner,
    TableRecipe,
)
from adducir.experiments.step import Absent, Context, Step, Trainings, shown, with_inputs
from adducir.version import __version__

if TYPE_CHECKING:
    from ir_measures import Measure

    from adducir.tables.table import Layout, ResultTable


class Task(Recipe):
    """The base of every task's experiment file."""

    description: str = ""
    """For readers."""
    systems: Mapping[str, Any]
    """The systems to compare: rows of the tables."""
    comparison: ComparisonRecipe | None = None
    """Which differences to test, and how."""
    table: TableRecipe = TableRecipe()
    """The table's layout."""

    @abstractmethod
    def study(self, planner: Planner) -> "Study":
        """Open everything that the file names; the planner records errors."""


_HERE = "adducir.experiments"
_EVALUATORS = ("ir_measures", "pytrec_eval-terrier", "polars", "numpy", "scipy")

TASKS = Family(
    "tasks",
    Task,
    {
        "retrieval": f"{_HERE}.retrieval.task:Retrieval",
        "known-item": f"{_HERE}.known_item.task:KnownItem",
    },
    what="task",
)


class Trial(NamedTuple):
    system: str  # its name in the file
    data: str = ""  # the data set or topic set, if a file has several
    seed: int | None = None  # of the system's trainings; None without training
    part: Any = None  # what else distinguishes trials: a context, a round, a number of passages

    @property
    def run(self) -> str:
        """The name of this run of the system, with any seed."""
        return run_name(self.system, self.seed)


@dataclass(frozen=True)
class EvaluationData:
    """What a trial is tested on, as far as a model may have been trained on it."""

    queries: Sequence[str]
    docnos: Collection[str] = ()  # of judged documents
    corpora: Collection[str] = ()  # fingerprints of the corpora that have them
    key: str = ""  # of recipes, if theirs leave out more than those of examples


@dataclass(frozen=True)
class StudyTable:
    table: "ResultTable"
    name: str = ""  # the table's name, if a study prints several
    folder: str = ""  # below the study's results
    file: str = "table"  # the name of its files
    each: str | None = None  # the name of a CSV with values per query
    is_printed: bool = True  # besides being written


class Study(ABC):
    """A task with opened data: its steps and tables."""

    makes: ClassVar[str]  # its trials' results, for notes: "runs"
    verb: ClassVar[str] = "make"  # for trials whose data are not available
    tables: int = 1  # printed ones

    def __init__(self, recipe: Any, planner: Planner) -> None:
        self.recipe, self.planner = recipe, planner
        self.folder, self.name = planner.folder, planner.name
        self.trainings, self.planned = Trainings(), dict[Trial, Step]()
        self._is_trained: dict[EntryName, bool] = {}
        comparison: ComparisonRecipe | None = recipe.comparison
        if comparison is not None:
            several = any(len(self.seeds(name)) > 1 for name in recipe.systems)
            comparison.check(planner, several_runs=several)
        recipe.table.check(planner, comparison)
        for name, system in recipe.systems.items():
            place = ("systems", name, "seeds")
            if "seeds" in getattr(system, "model_fields_set", ()) and not system.seeds:
                planner.add(place, "at least one is needed")
            if getattr(system, "seeds", ()) and not self.is_trained("systems", name):
                message = "nothing in it is trained here, so all runs are equal"
                planner.add(place, f"{message}: leave `seeds` out")

    @cached_property
    def graph(self) -> Graph:
        links = dict[EntryName, list[EntryName]]()
        for section in ENTRIES:
            for name, entry in (getattr(self.recipe, section, None) or {}).items():
                if isinstance(entry, Linked):
                    links[section, name] = [(link.section, link.name) for link in entry.links()]
        return Graph(links)

    def is_trained(self, section: str, name: str) -> bool:
        """Whether an entry depends on a model trained from a recipe."""
        ancestors = self.graph.ancestors.get((section, name), ())
        return any(self._trains(*entry) for entry in ((section, name), *ancestors))

    def _trains(self, section: str, name: str) -> bool:
        """Whether an entry itself names such a model, is undefined, or has a reported error."""
        key, entry = (section, name), getattr(self.recipe, section).get(name)
        if key not in self._is_trained:
            self._is_trained[key] = entry is None
            if isinstance(entry, Linked):
                try:
                    self._is_trained[key] = entry.is_trained(self.folder)
                except AdducirError:
                    self._is_trained[key] = True  # its error is reported when it is opened
        return self._is_trained[key]

    def seeds(self, system: str) -> Sequence[int | None]:
        """The seeds of a system's trainings, one per run; ``(None,)`` without seeds."""
        return getattr(self.recipe.systems[system], "seeds", ()) or (None,)

    @abstractmethod
    def trials(self) -> Iterable[Trial]:
        """All trials, in the order of the plan."""

    @abstractmethod
    def step(self, trial: Trial) -> Step | None:
        """A trial's step, without loading or training; None if its data are not available."""

    def path_of(self, trial: Trial) -> Path:
        return self.folder / "runs" / self.name / trial.run

    def plan(self, trial: Trial) -> Step:
        if trial not in self.planned:
            place = ("systems", trial.system)
            step = self.planner.opening(place, partial(self.step, trial)) or self.absent(trial)
            step.place = step.place or place
            self.planned[trial] = step
        return self.planned[trial]

    def absent(self, trial: Trial) -> Absent:
        return Absent(self.path_of(trial), self.verb)

    @cached_property
    def steps(self) -> Mapping[Trial, Step]:
        return {trial: self.plan(trial) for trial in self.trials()}

    def goals(self) -> Sequence[Step]:
        """The steps whose artifacts are evaluated, after their inputs."""
        return list(dict.fromkeys(self.steps.values()))

    def others(self) -> Sequence[Step]:
        """Steps that the plan lists even if no goal needs them."""
        return ()

    def evaluation_data(self, data: str) -> EvaluationData | None:
        """What the trials of a data set are tested on; None if it is not known."""
        return None

    @cached_property
    def leaks(self) -> Sequence[str]:
        """A line per model and data set with queries or documents that it was trained on."""
        lines, noted = list[str](), set[tuple[str, str]]()
        tested = {data: self.evaluation_data(data) for data in {trial.data for trial in self.steps}}
        for trial, step in self.steps.items():
            if (test := tested[trial.data]) is None:
                continue
            parts = reversed(with_inputs([step]))
            for path, seen in (model for part in parts for model in part.trained_models()):
                name = shown(path, self.folder).removesuffix(run_name("", trial.seed))
                if (name, trial.data) not in noted:
                    noted.add((name, trial.data))
                    corpus = seen.corpus if seen.corpus in test.corpora else ""
                    known = replace(seen, corpus=corpus, key=test.key or seen.key)
                    named = trial.data or "the test data"
                    lines += known.warnings(name, test.queries, test.docnos, named)
        return lines

    def warnings(self) -> Iterator[tuple[str, str]]:
        """The plan's lines after the steps': verbs and objects."""
        if self.recipe.comparison is not None:
            yield from self.recipe.comparison.lines()

    @abstractmethod
    def result_tables(self, context: Context) -> Sequence[StudyTable]:
        """The tables, once all goals exist."""

    def provenance(
        self, facts: Mapping[str, Any], measures: "Iterable[Measure]" = ()
    ) -> dict[str, Any]:
        """A table's provenance, without paths and times, so that it is reproducible."""
        from adducir.evaluation.formulas import MEASURES
        from adducir.statistics.settings import CORRECTIONS, TESTS

        packages = {}
        for name in (str(getattr(measure, "NAME", "")) for measure in measures):
            packages[f"measure {name}"] = MEASURES.origin(name)
        if (comparison := self.recipe.comparison) is not None:
            test, correction = comparison.test, comparison.correction
            packages[f"test {test}"] = TESTS.origin(test)
            packages[f"correction {correction}"] = CORRECTIONS.origin(correction)
        packages = {label: origin for label, origin in sorted(packages.items()) if origin}
        planner, software = self.planner, {"adducir": __version__, "python": python_version()}
        for name in _EVALUATORS:
            with suppress(PackageNotFoundError):
                software[name] = version(name)
        path = Path(os.path.normpath(planner.path.absolute()))
        is_inside = path.is_relative_to(planner.folder)
        file = str(path.relative_to(planner.folder)) if is_inside else path.name
        words = ["adducir", "experiment", file]
        words += [word for override in planner.overrides for word in ("--set", override)]
        return {
            "command": shlex.join(words),
            "recipe": self.recipe.model_dump(mode="json", exclude_unset=True),
            **facts,
            "software": software,
            **({"packages": packages} if packages else {}),
        }

    def layout(
        self,
        provenance: Mapping[str, Any],
        *,
        title: str = "",
        of: str = "",
        notes: Sequence[str] = (),
        **more: Any,
    ) -> "Layout":
        """A table's layout from the file; ``of``: its name, if there are several."""
        from adducir.tables.table import Layout

        table: TableRecipe = self.recipe.table
        title = table.caption or title or self.recipe.description
        trained = [name for name in self.recipe.systems if self.is_trained("systems", name)]
        names = {"measure_names": table.measure_names, "system_names": table.system_names}
        return Layout(
            title=f"{title.rstrip('.')}: {of}" if of and title else title or of,
            label=(table.label or f"tab:{self.name}") + (f"-{of}" if of else ""),
            style=table.style,
            notes=list(notes),
            provenance=provenance,
            trained=trained,
            **{**names, **more},
        )

    def seed_notes(self) -> list[str]:
        """The seeds of systems with several runs, grouped by equal seeds."""
        names, alike = self.recipe.table.system_names, dict[Sequence[int | None], list[str]]()
        for name in self.recipe.systems:
            if self.seeds(name) != (None,):
                alike.setdefault(self.seeds(name), []).append(names.get(name, name))
        return [
            f"Seeds of the trainings of {', '.join(systems)}: {', '.join(map(str, seeds))}."
            for seeds, systems in alike.items()
        ]
