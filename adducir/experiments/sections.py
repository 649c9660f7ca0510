"""What all tasks' files share: names, links, comparison and table, and how they are opened.

The :class:`Planner` reports all of a file's errors in one message. Besides mistakes, data or models
may not be available (:mod:`adducir.core.planning`). A dry run keeps those as notes; otherwise they
are errors like the others, and downloads happen before anything is built.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from adducir.core.config import RecipeReading
from adducir.core.errors import AdducirError, InputError, MachineError
from adducir.core.planning import Download, NotRead, planning
from adducir.core.progress import progress
from adducir.core.recipe import ErrorDetail, KeyPath, Recipe
from adducir.core.texts import nearest, repeated
from adducir.corpora.sources import file_path
from adducir.evaluation.scores import run_name
from adducir.experiments.step import ModelStep, Trainings
from adducir.statistics.settings import FOR_RUNS, Testing
from adducir.tables.report_data import Snippets
from adducir.tables.style import Detail, Fit, Style

if TYPE_CHECKING:
    from adducir.training.trainable import Trainable

T = TypeVar("T")

ENTRIES = {"corpora": "corpus", "indexes": "index", "topics": "topic set", "systems": "system"}


class Reported(AdducirError):  # noqa: N818
    """Something cannot be opened; the reason is already recorded."""

    def __init__(self) -> None:
        super().__init__("this cannot be opened.")


class Planner:
    """Opens what an experiment file names, and records what is wrong or missing."""

    def __init__(
        self,
        reading: RecipeReading[Any],
        folder: Path,
        overrides: tuple[str, ...] = (),
        *,
        dry_run: bool = False,
    ) -> None:
        self.path, self.folder, self.overrides = reading.document.path, folder, overrides
        self.name = self.path.stem
        self.output = folder / "experiments" / self.name
        sections = {key: value or {} for key, value in reading.data.items() if key in ENTRIES}
        self.names = {
            key: [*section] for key, section in sections.items() if isinstance(section, Mapping)
        }
        self._reading, self._dry_run = reading, dry_run
        self._is_broken = bool(reading.errors or reading.refused)
        self._errors: dict[ErrorDetail, AdducirError | None] = {}  # with their causes
        self._missing: list[tuple[KeyPath, AdducirError]] = []
        self._later: list[tuple[KeyPath, Download]] = []

    def add(self, place: KeyPath, message: str) -> None:
        self._errors.setdefault(ErrorDetail(place, message), None)

    def refer(self, place: KeyPath, section: str, name: str) -> None:
        names = self.names.get(section, [])
        if name not in names:
            message = f"this file does not define the {ENTRIES[section]} `{name}`"
            self.add(place, message + nearest(name, names))

    @contextmanager
    def at(self, *place: str | int) -> Iterator[None]:
        """Open what an entry names; errors are recorded and raised as :class:`Reported`."""
        with planning(is_dry=self._dry_run or self._is_broken) as later:
            try:
                yield
            except Reported:
                raise
            except AdducirError as error:
                if error.absent:
                    self._missing += [(place, part) for part in error.parts]
                else:
                    self._errors[ErrorDetail(place, error.paragraph())] = error
                raise Reported from error
            finally:
                self._later += [(place, need) for need in later]

    def opening(self, place: KeyPath, opener: Callable[[], T]) -> T | None:
        with suppress(Reported), self.at(*place):
            return opener()
        return None

    def check(self) -> None:
        """Raise all errors as one, with what is missing except in a dry run."""
        problems, is_machine = dict(self._errors), not self._is_broken
        for place, cause in () if self._dry_run else self._missing:
            is_known = is_machine or not isinstance(cause, MachineError)
            if is_known and not isinstance(cause, NotRead):
                problems[ErrorDetail(place, cause.paragraph())] = cause
        is_machine &= all(isinstance(cause, MachineError) for cause in problems.values())
        if error := self._reading.error(problems, MachineError if is_machine else InputError):
            raise error

    def notes(self) -> list[str]:
        """A line for each thing that is not available, with the entries that need it."""
        places: dict[str, dict[str, None]] = {}

        def add(note: str, place: KeyPath) -> None:
            places.setdefault(note, {})[".".join(map(str, place[:2]))] = None

        for place, error in self._missing:
            label = "not read" if isinstance(error, NotRead) else "not available"
            add(f"{label}: {error.paragraph()}".rstrip("."), place)
        for place, (label, is_here, _) in self._later:
            if not is_here():
                add(f"not available: {label}", place)
        return [f"{note}; needed by {', '.join(by)}" for note, by in places.items()]

    def lacks(self) -> list[AdducirError]:
        """The named files and folders that do not exist; what is downloaded is not among them."""
        errors = [error for _, error in self._missing if isinstance(error, InputError)]
        return [error for error in errors if error.path and not isinstance(error, NotRead)]

    def fetch(self, places: Collection[KeyPath]) -> None:
        needed = {later[1][0]: later for later in self._later if later[0][:2] in places}
        failed: dict[ErrorDetail, AdducirError] = {}
        for place, (label, is_here, fetch) in needed.values():
            try:
                if not is_here():
                    progress().note(f"fetching {label}")
                    fetch()
            except AdducirError as error:
                failed[ErrorDetail(place, error.paragraph())] = error
        is_machine = all(isinstance(error, MachineError) for error in failed.values())
        if failure := self._reading.error(failed, MachineError if is_machine else InputError):
            raise failure


_LONGEST_NAME = 80  # two names, suffixes and a process's mark must fit a file name of 255 bytes
_MOST_SEEDS = 1000


def _as_name(text: str) -> str:
    # Names become parts of file names, so refuse those that could leave their folder.
    if not re.fullmatch(r"\w[\w .+&()=-]*", text) or text != text.strip():
        raise ValueError("a name may contain letters, digits, blanks and . _ + & ( ) = -")
    if len(text.encode()) > _LONGEST_NAME:
        raise ValueError(f"a name may have at most {_LONGEST_NAME} bytes")
    return text


Name = Annotated[str, AfterValidator(_as_name)]
Natural = Annotated[int, Field(ge=1)]


def _as_seeds(value: Any) -> Any:
    """A number of seeds as a list from 0."""
    if value is None:
        raise ValueError("is empty; give seeds or their number, or omit it")
    if isinstance(value, list | tuple) and (twice := repeated(map(str, value))):
        raise ValueError(f"{', '.join(twice)} is repeated")
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if not 1 <= value <= _MOST_SEEDS:
        raise ValueError(f"should be a list, or a number from 1 to {_MOST_SEEDS:,}")
    return tuple(range(value))


Seeds = Annotated[tuple[Annotated[int, Field(ge=0, lt=10**9)], ...], BeforeValidator(_as_seeds)]
"""Seeds of trainings: ``[0, 7, 9]``, or ``3`` for the first three, 0, 1 and 2."""


def file_name(name: str) -> str:
    """A system's or topic set's name without blanks, for file names and TREC tags."""
    return name.replace(" ", "_")


def is_recipe(reference: str, folder: Path) -> bool:
    """Whether a model is named by its recipe's file."""
    from adducir.models.sources import RECIPES

    return file_path(reference, folder).suffix in RECIPES


class Link(NamedTuple):
    """A reference below an entry: its path, and the target's section and name."""

    place: KeyPath
    section: str
    name: str

    @property
    def key(self) -> str:
        return ".".join(map(str, self.place))


@dataclass(frozen=True)
class Opening:
    """What an entry is opened with: its place in the file, its seed, and what it links to."""

    planner: Planner  # records errors
    section: str
    name: str
    seed: int | None = None  # of the trainings that it depends on
    links: Mapping[str, Any] = field(default_factory=dict)  # opened, by key; None after an error
    trainings: Trainings = field(default_factory=Trainings)  # the experiment's

    @property
    def place(self) -> KeyPath:
        return self.section, self.name

    @property
    def folder(self) -> Path:
        return self.planner.folder

    def at(self, *keys: str | int) -> AbstractContextManager[None]:
        return self.planner.at(*self.place, *keys)

    def linked(self, key: str) -> Any:
        if self.links.get(key) is None:
            raise Reported
        return self.links[key]

    def training(
        self,
        reference: str,
        kind: "type[Trainable[Any]] | tuple[type[Trainable[Any]], ...]",
        model: str,
    ) -> ModelStep:
        """The step that trains ``deepct/X`` from its recipe; with seed 3, ``deepct/X.seed3``."""
        from adducir.training.trainable import open_training

        path = file_path(reference, self.folder)
        folder = path.with_name(run_name(path.stem, self.seed))
        plan = open_training(path, [f"training.seed={self.seed}"][: self.seed is not None])
        if not isinstance(plan, kind):
            raise InputError(f"this is not a recipe of {model}.", path=path)
        return self.trainings.step(folder, plan, self.place)


class Linked(Recipe):
    """An entry that may refer to others: ``references`` has the section of each such key."""

    references: ClassVar[Mapping[str, str]] = {}

    def links(self) -> Iterator[Link]:
        for key, section in self.references.items():
            value = getattr(self, key)
            if isinstance(value, str):
                yield Link((key,), section, value)
            else:
                yield from (Link((key, n), section, name) for n, name in enumerate(value or ()))

    def is_trained(self, folder: Path) -> bool:
        """Whether it names the recipe of a model to train; raises InputError."""
        return False


EntryName = tuple[str, str]
"""An entry's section and name."""


class Graph:
    """The links between a file's entries: what each depends on, in which order, in circles."""

    def __init__(self, links: Mapping[EntryName, Collection[EntryName]]) -> None:
        self.circles = list[list[EntryName]]()  # each from its first entry in the file back to it
        self.ancestors = dict[EntryName, dict[EntryName, None]]()  # nearest first
        self.levels = dict[EntryName, int]()  # longest ways through an entry's own section
        place, open_links = {entry: n for n, entry in enumerate(links)}, dict(links)
        order: list[EntryName] | None = None
        while order is None:
            try:
                order = [*TopologicalSorter(open_links).static_order()]
            except CycleError as error:
                circle = error.args[1][:0:-1]
                start = circle.index(min(circle, key=place.__getitem__))
                self.circles.append([*circle[start:], *circle[: start + 1]])
                open_links |= dict.fromkeys(circle, ())
        for entry in order:
            targets = dict.fromkeys(open_links.get(entry, ()))
            levels = [self.levels[target] for target in targets if target[0] == entry[0]]
            self.levels[entry] = 1 + max(levels, default=-1)
            self.ancestors[entry] = dict(targets)
            for target in targets:
                self.ancestors[entry] |= self.ancestors[target]

    def is_circular(self, entry: EntryName) -> bool:
        return any(entry in circle for circle in self.circles)


class SystemEntry(Linked):
    """A system: a row of the tables."""

    seeds: Seeds = ()
    """Seeds of its trainings: a run per seed."""


class ComparisonRecipe(Testing):
    """Which differences to test, and how; see docs/statistics.md."""

    baseline: Name | tuple[Name, ...] | None = None
    against: Name = "best"

    def lines(self) -> Iterator[tuple[str, str]]:
        over = "over each table" if self.family == "table" else "over each measure"
        if self.differences:
            whom = "all pairs" if self.all_pairs else f"against {', '.join(self.baselines)}"
            how = f"{self.test}, {self.correction} {over}, alpha {self.alpha:g}"
            yield "test", f"differences, {whom}: {how}"
        if self.equivalence is not None:
            whom = "the best (exploratory)" if self.against == "best" else self.against
            claim = "not worse than" if self.non_inferiority else "equivalence with"
            by = "by" if self.non_inferiority else "within"
            how = f"{self.equivalence_correction} {over}"
            yield "test", f"{claim} {whom} {by} {self.equivalence:g}: {how}"
        if self.best == "set":
            level = f"level {100 * (1 - self.alpha):g}%"
            yield "test", f"systems that may be the best: model confidence set, {level}"

    def check(self, planner: Planner, *, several_runs: bool) -> None:
        if planner.names.get("systems"):
            for number, name in enumerate(self.baselines):
                item = () if isinstance(self.baseline, str) else (number,)
                planner.refer(("comparison", "baseline", *item), "systems", name)
            if self.against != "best":
                planner.refer(("comparison", "against"), "systems", self.against)
        if not self.anything:
            ways = "name a `baseline`, `comparisons: all-pairs`, an `equivalence` or `best: set`"
            planner.add(("comparison",), f"nothing is compared: {ways}")
        for key, reason in self.refused_for_runs().items() if several_runs else ():
            planner.add(("comparison", key), f"{reason} (`seeds`). {FOR_RUNS[:-1]}")


class TableRecipe(Recipe):
    """The table's layout."""

    caption: str = ""
    """The title and LaTeX caption; by default the description."""
    label: str = ""
    """The LaTeX label; by default tab:FILE."""
    decimals: Annotated[int, Field(ge=1, le=6)] = 3
    """Digits after the point."""
    leading_zero: bool = True
    """Whether to print 0.842 or .842."""
    show: tuple[Detail, ...] = ()
    """Details below each mean."""
    measure_names: dict[str, str] = Field(default_factory=dict)
    """The printed name of a measure, by its exact name."""
    system_names: dict[Name, str] = Field(default_factory=dict)
    """The printed name of a system."""
    fit: Fit = "auto"
    """How LaTeX places it: in a column, over the page, or by its number of columns."""
    footer: bool = True
    """Whether LaTeX prints legend and footer below it."""

    @property
    def style(self) -> Style:
        return Style(self.decimals, self.leading_zero, self.show, self.fit, self.footer)

    def check(self, planner: Planner, comparison: ComparisonRecipe | None) -> None:
        """Refuse unknown systems' names, and details without a test."""
        for name in self.system_names if planner.names.get("systems") else ():
            planner.refer(("table", "system_names", name), "systems", name)
        for number, detail in enumerate(self.show):
            is_there = comparison is not None and comparison.differences
            needed = "`baseline` or `comparisons: all-pairs`"
            if detail == "equivalence_p":
                is_there = comparison is not None and comparison.equivalence is not None
                needed = "`equivalence`"
            if not is_there:
                message = f"`{detail}` needs {needed} in `comparison`"
                planner.add(("table", "show", number), message)


class RunTableRecipe(TableRecipe):
    """The layout of a table of runs."""

    snippets: Snippets = "none"
    """Which texts the report may quote."""
