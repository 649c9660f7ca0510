"""What the files of all tasks share: names, links between entries, the comparison, the table."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field

from adducir.core.recipe import KeyPath, Recipe
from adducir.core.texts import repeated
from adducir.corpora.sources import file_path
from adducir.experiments.planner import Planner
from adducir.models.sources import RECIPES
from adducir.statistics.settings import FOR_RUNS, Testing
from adducir.tables.material import Snippets
from adducir.tables.style import Detail, Fit

_LONGEST_NAME = 80  # two names, endings and a mark of the process make a file name of 255 bytes
_MOST_SEEDS = 1000


def _as_name(text: str) -> str:
    # Names become parts of file names; a name that could leave its folder is refused here.
    if not re.fullmatch(r"\w[\w .+&()=-]*", text) or text != text.strip():
        raise ValueError("a name consists of letters, digits, blanks and any of . _ + & ( ) = -")
    if len(text.encode()) > _LONGEST_NAME:
        raise ValueError(f"a name has at most {_LONGEST_NAME} bytes")
    return text


Name = Annotated[str, AfterValidator(_as_name)]
Natural = Annotated[int, Field(ge=1)]


def _as_seeds(value: Any) -> Any:
    """A number of seeds as that many, from 0."""
    if value is None:
        raise ValueError("is empty; name seeds or how many, or leave it out")
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    if not 1 <= value <= _MOST_SEEDS:
        raise ValueError(f"should be a list, or how many from 1 to {_MOST_SEEDS:,}")
    return tuple(range(value))


def _once(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if twice := repeated([str(seed) for seed in seeds]):
        raise ValueError(f"{', '.join(twice)} is repeated")
    return seeds


Seeds = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=10**9)], ...],
    BeforeValidator(_as_seeds),
    AfterValidator(_once),
]
"""Seeds of trainings: ``[0, 7, 9]``, or ``3`` for the first three, 0, 1 and 2."""


def file_name(name: str) -> str:
    """A system's or topic set's name as part of a file name and as a TREC tag: no blanks."""
    return name.replace(" ", "_")


def is_recipe(reference: str, folder: Path) -> bool:
    """Whether a model is named by the file of its recipe."""
    return file_path(reference, folder).suffix in RECIPES


class Link(NamedTuple):
    """Where below an entry another one is named, and that one's section and name."""

    place: KeyPath
    section: str
    name: str


class Linked(Recipe):
    """An entry that may name others: ``references`` has the section of each key that does."""

    references: ClassVar[Mapping[str, str]] = {}

    def links(self) -> Iterator[Link]:
        """The entries that it names."""
        for key, section in self.references.items():
            value = getattr(self, key)
            if isinstance(value, str):
                yield Link((key,), section, value)
            else:
                yield from (Link((key, n), section, name) for n, name in enumerate(value or ()))

    def is_trained(self, folder: Path) -> bool:
        """Whether it names the recipe of a model that is trained for it; raises InputError."""
        return False


class SystemEntry(Linked):
    """A system: a row of the tables.

    Attributes:
        seeds: Of the trainings of what it is made with: a run for each.
    """

    seeds: Seeds = ()

    @property
    def members(self) -> tuple[str, ...]:
        """The systems whose runs it is made from."""
        return tuple(one.name for one in self.links() if one.section == "systems")


class ComparisonRecipe(Testing):
    """Which differences are tested, and how; see docs/statistics.md."""

    baseline: Name | tuple[Name, ...] | None = None
    against: Name = "best"

    def lines(self) -> Iterator[tuple[str, str]]:
        """What is tested, for the plan's lines."""
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
        for key, what in self.refused_for_runs().items() if several_runs else ():
            planner.add(("comparison", key), f"{what} (`seeds`). {FOR_RUNS[:-1]}")


class TableRecipe(Recipe):
    """How the table looks."""

    caption: str = ""
    label: str = ""
    decimals: Annotated[int, Field(ge=1, le=6)] = 3
    leading_zero: bool = True
    show: tuple[Detail, ...] = ()
    measure_names: dict[str, str] = Field(default_factory=dict)
    system_names: dict[Name, str] = Field(default_factory=dict)
    fit: Fit = "auto"
    footer: bool = True

    def check(self, planner: Planner, comparison: ComparisonRecipe | None) -> None:
        """Refuse names of other systems, and details that no test gives."""
        for name in self.system_names if planner.names.get("systems") else ():
            planner.refer(("table", "system_names", name), "systems", name)
        for number, detail in enumerate(self.show):
            is_there = comparison is not None and comparison.differences
            needed = "`baseline` or `comparisons: all-pairs`"
            if detail == "equivalence_p":
                is_there = comparison is not None and comparison.equivalence is not None
                needed = "`equivalence`"
            if not is_there:
                what = f"`{detail}` needs {needed} in `comparison`"
                planner.add(("table", "show", number), what)


class RunTableRecipe(TableRecipe):
    """How a table of runs looks.

    Attributes:
        snippets: Which texts its report may quote.
    """

    snippets: Snippets = "none"
