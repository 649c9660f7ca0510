"""A study: a task whose data are opened, what it makes, and the tables that show it.

Systems may have several runs: with ``DeepCT: {index: weighted, seeds: [0, 1]}`` two systems are
planned, ``DeepCT.seed0`` and ``DeepCT.seed1``. Each has entries of its own for what is trained and
for all that stands on that: the corpus with the model ``deepct/X.seed0``, the index
``weighted.seed0``. What stands on no training is shared. In the table they are one row
(:mod:`adducir.evaluation.seeds`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from adducir.core.errors import AdducirError
from adducir.core.files import name_in_study
from adducir.core.recipe import ErrorDetail
from adducir.evaluation.seeds import run_name
from adducir.experiments.planner import Planner
from adducir.experiments.sections import ComparisonRecipe, Linked, untestable
from adducir.experiments.step import Step
from adducir.statistics.corrections import CORRECTIONS, for_equivalence
from adducir.version import __version__

if TYPE_CHECKING:
    from adducir.core.registry import Family
    from adducir.evaluation.measures import Measure
    from adducir.experiments.context import Context
    from adducir.tables.builder import Layout
    from adducir.tables.material import Material
    from adducir.tables.table import ResultTable


@dataclass(frozen=True)
class Finding:
    """A table of a study, and where it goes.

    Attributes:
        table: The table.
        name: What it is of, where a study has several tables that are printed.
        folder: The folder below the study's results.
        file: The name of its files.
        each: The name of a CSV with the values of every query; None for no such file.
        is_printed: Whether it is printed, beside being written.
    """

    table: "ResultTable"
    name: str = ""
    folder: str = ""
    file: str = "table"
    each: str | None = None
    is_printed: bool = True


class Origin(NamedTuple):
    """The entry of the file that an entry of a seed is made of, and the seed."""

    name: str
    seed: int


class Study(ABC):
    """A task whose data are opened: what it makes, and the tables that show it.

    Attributes:
        tables: How many tables are printed.
        makes: What its last steps make, for notes: "runs".
        written: What the file says.
        recipe: The same with the entries of each seed in place of the systems that have seeds.
        planner: Where it lies, and what takes errors.
        rows: The systems that each system of the file is planned as: one for each seed.
        origins: What entries of a seed are made of, by section and name.
    """

    tables: int = 1
    makes: ClassVar[str]

    def __init__(self, recipe: Any, planner: Planner) -> None:
        self.written: Any = recipe
        self.recipe: Any = recipe
        self.planner = planner
        self.folder, self.name = planner.folder, planner.name
        self.rows: Mapping[str, tuple[str, ...]] = {
            name: (name,) for name in getattr(recipe, "systems", {})
        }
        self.origins: Mapping[tuple[str, str], Origin] = {}

    @abstractmethod
    def goals(self) -> Sequence[Step]:
        """The steps whose artifacts are evaluated, each after those that it is made from."""

    def others(self) -> Sequence[Step]:
        """Steps that the plan lists even where no goal needs them."""
        return ()

    def warnings(self) -> Iterator[tuple[str, str]]:
        """The plan's lines behind those of the steps, a verb and what it is done to."""
        yield from tests_of(self.recipe.comparison)

    @abstractmethod
    def findings(self, context: "Context") -> Sequence[Finding]:
        """The tables; all goals are made."""

    def provenance(
        self, facts: Mapping[str, Any], measures: "Iterable[Measure]" = ()
    ) -> dict[str, Any]:
        """How a table was made: the file, these facts, and packages that compute its figures."""
        own = {"adducir": __version__, "file": name_in_study(self.planner.path)}
        return {**own, **facts, **packages(self.written.comparison, measures)}

    def layout(
        self,
        provenance: Mapping[str, Any],
        *,
        title: str = "",
        of: str = "",
        notes: Sequence[str] = (),
        measure_names: Mapping[str, str] | None = None,
        sections: Mapping[str, str] | None = None,
        material: "Material | None" = None,
    ) -> "Layout":
        """How a table looks, as the file says.

        Args:
            provenance: How it was made.
            title: Where the file gives no caption; by default its description.
            of: What it is of, where there are several.
            notes: Sentences for below it.
            measure_names: Printed names of measures; by default those of the file.
            sections: The section of each system.
            material: What the report shows beyond the table.
        """
        from adducir.tables.builder import Layout
        from adducir.tables.material import Material
        from adducir.tables.style import Style

        table = self.written.table
        title = table.caption or title or self.written.description
        return Layout(
            title=f"{title.rstrip('.')}: {of}" if of else title,
            label=(table.label or f"tab:{self.name}") + (f"-{of}" if of else ""),
            style=Style(
                table.decimals,
                table.leading_zero,
                table.show,
                table.fit,
                table.footer,
                table.critical_difference,
            ),
            measure_names=table.measure_names if measure_names is None else measure_names,
            system_names=table.system_names,
            sections=sections or {},
            notes=list(notes),
            provenance=provenance,
            material=material or Material(),
        )

    def seed_of(self, section: str, name: str) -> int | None:
        """The seed of the trainings of an entry; None for those of the recipes."""
        origin = self.origins.get((section, name))
        return None if origin is None else origin.seed

    def add_seeds(self, *sections: str) -> bool:
        """Plan the systems that have seeds as one for each seed.

        Args:
            sections: Those of the entries that systems are made with; ``systems`` as well.

        Returns:
            Whether there are such systems, and no errors, which are left with the planner.
        """
        errors = self.planner.errors
        written = {name: getattr(self.written, name) for name in sections}
        seeded = _Seeded(self.planner.folder, written)
        found = list(seeded.errors(self.written.comparison))
        errors.extend(found)
        if not seeded.origins or found:
            return False
        self.recipe = self.written.model_copy(update=seeded.entries)
        self.rows, self.origins = seeded.rows, seeded.origins
        errors.origins = {key: one.name for key, one in seeded.origins.items()}
        return True

    def seed_notes(self) -> list[str]:
        """The seeds of systems of several runs; those of the same ones in one sentence."""
        names, alike = self.written.table.system_names, dict[tuple[int, ...], list[str]]()
        for name, system in self.written.systems.items():
            if system.seeds:
                alike.setdefault(system.seeds, []).append(names.get(name, name))
        return [
            f"Seeds of the trainings of {', '.join(systems)}: {', '.join(map(str, seeds))}."
            for seeds, systems in alike.items()
        ]


@dataclass
class _Seeded:
    """The entries of a file with those of each seed, in place of systems that have seeds."""

    folder: Path
    written: Mapping[str, Mapping[str, Any]]
    entries: dict[str, dict[str, Any]] = field(init=False)
    origins: dict[tuple[str, str], Origin] = field(default_factory=dict)
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _trained: dict[tuple[str, str], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.entries = {key: dict(one) for key, one in self.written.items()}
        self.entries["systems"] = {}
        for name, system in self.written["systems"].items():
            if not system.seeds or not self.is_trained("systems", name):
                self.entries["systems"][name] = system
                self.rows[name] = (name,)
                continue
            self.rows[name] = tuple(self._of_seed("systems", name, one) for one in system.seeds)

    def is_trained(self, section: str, name: str) -> bool:
        """Whether an entry stands on a model that is trained from a recipe."""
        key = section, name
        if key not in self._trained:
            self._trained[key] = False  # as it stays for what is made of itself
            entry = self.written[section].get(name)
            if entry is None:
                self._trained[key] = True  # not defined, or with an error that is reported
            elif isinstance(entry, Linked):
                try:
                    names_recipe = entry.is_trained(self.folder)
                except AdducirError:
                    names_recipe = True  # what is wrong with it is reported where it is opened
                linked = any(self.is_trained(*one) for one in entry.named())
                self._trained[key] = names_recipe or linked
        return self._trained[key]

    def _of_seed(self, section: str, name: str, seed: int) -> str:
        """The name of an entry with a seed, made where it is not there; its own without one."""
        if name not in self.written[section] or not self.is_trained(section, name):
            return name
        own = run_name(name, seed)
        if (section, own) not in self.origins:
            self.origins[section, own] = Origin(name, seed)
            entry: Linked = self.written[section][name]
            made = entry.renamed(lambda where, one: self._of_seed(where, one, seed))
            self.entries[section][own] = made
        return own

    def errors(self, comparison: ComparisonRecipe | None) -> Iterator[ErrorDetail]:
        """What does not go together with seeds."""
        for (section, own), origin in self.origins.items():
            if own in self.written[section]:
                what = f"with seed {origin.seed} it would have the name of `{own}`"
                yield ErrorDetail((section, origin.name), what)
        systems = self.written["systems"]
        for name, system in systems.items():
            if system.seeds and not self.is_trained("systems", name):
                what = "nothing that it is made with is trained here, so all runs would be equal"
                yield ErrorDetail(("systems", name, "seeds"), f"{what}: leave `seeds` out")
            for number, member in enumerate(system.members):
                if not system.seeds and getattr(systems.get(member), "seeds", None):
                    what = f"`{member}` has a run for each seed: give `{name}` `seeds` as well"
                    yield ErrorDetail(("systems", name, *system.place_of(number)), what)
        if any(len(runs) > 1 for runs in self.rows.values()):
            yield from untestable(comparison)


def tests_of(comparison: ComparisonRecipe | None) -> Iterator[tuple[str, str]]:
    """The plan's lines of a comparison."""
    if comparison is None:
        return
    over = "over each table" if comparison.family == "table" else "over each measure"
    test, correction = comparison.test_and_correction
    if comparison.differences:
        all_pairs = comparison.family == "pairs"
        whom = "all pairs" if all_pairs else f"against {', '.join(comparison.baselines)}"
        level = f"alpha {comparison.alpha:g}"
        yield "test", f"differences, {whom}: {test}, {correction} {over}, {level}"
    if comparison.equivalence is not None:
        whom = "the best (exploratory)" if comparison.against == "best" else comparison.against
        claim = "not worse than" if comparison.non_inferiority else "equivalence with"
        by = "by" if comparison.non_inferiority else "within"
        how = f"{for_equivalence(correction)} {over}"
        yield "test", f"{claim} {whom} {by} {comparison.equivalence:g}: {how}"
    if comparison.best == "set":
        level = f"level {100 * (1 - comparison.alpha):g}%"
        how = f"model confidence set of each measure, {level}"
        yield "test", f"systems that may be the best: {how}"


def packages(
    comparison: ComparisonRecipe | None, measures: "Iterable[Measure]" = ()
) -> dict[str, Any]:
    """For provenance: package and version of each kind of another package; empty for none."""
    from adducir.evaluation.formulas import MEASURES
    from adducir.statistics.tests import TESTS

    named: list[tuple[str, Family[Any], str]] = [
        ("measure", MEASURES, str(getattr(one, "NAME", ""))) for one in measures
    ]
    if comparison is not None:
        test, correction = comparison.test_and_correction
        named += [("test", TESTS, test), ("correction", CORRECTIONS, correction)]
    found = {f"{what} {name}": family.origin(name) for what, family, name in named}
    known = {what: origin for what, origin in sorted(found.items()) if origin}
    return {"packages": known} if known else {}
