"""Several runs of trained systems: ``seeds``, for each a training, and all that is made with it.

``DeepCT: {index: weighted, seeds: [0, 1]}`` is planned as two systems, ``DeepCT.seed0`` and
``DeepCT.seed1``. Each has entries of its own for what is trained and for all that stands on that:
the corpus with the model ``deepct/X.seed0``, the index ``weighted.seed0``. What stands on no
training is shared. In the table they are one row (:mod:`adducir.evaluation.seeds`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.errors import AdducirError
from adducir.core.recipe import ErrorDetail
from adducir.evaluation.seeds import run_name
from adducir.experiments.linked import Linked
from adducir.experiments.plan import Study
from adducir.experiments.planner import Planner
from adducir.experiments.sections import ComparisonRecipe, untestable


class Origin(NamedTuple):
    """The entry of the file that an entry of a seed is made of, and the seed."""

    name: str
    seed: int


class SeededStudy(Study):
    """A study whose systems may have seeds.

    Attributes:
        written: What the file says.
        recipe: The same with the entries of each seed in place of the systems that have seeds.
        rows: The systems that each system of the file is planned as: one for each seed.
        origins: What entries of a seed are made of, by section and name.
        planner: Where it lies, and what takes errors.
    """

    def __init__(self, recipe: Any, planner: Planner) -> None:
        self.written, self.recipe, self.planner = recipe, recipe, planner
        self.rows: Mapping[str, tuple[str, ...]] = {name: (name,) for name in recipe.systems}
        self.origins: Mapping[tuple[str, str], Origin] = {}

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
        seeded = Seeded(self.planner.folder, written)
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
class Seeded:
    """The entries of a file with those of each seed.

    Attributes:
        folder: The study's.
        written: The file's entries by section.
        entries: The entries that are planned by section: systems with seeds are left out, and
            there are those of each seed.
        origins: What each seed's entry is made of, by section and name.
        rows: The systems that each system of the file is planned as.
    """

    folder: Path
    written: Mapping[str, Mapping[str, Any]]
    entries: dict[str, dict[str, Any]] = field(init=False)
    origins: dict[tuple[str, str], Origin] = field(default_factory=dict)
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _trained: dict[tuple[str, str], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Add the entries of each seed."""
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
                self._trained[key] = self._names_recipe(entry) or any(
                    self.is_trained(*one) for one in entry.named()
                )
        return self._trained[key]

    def _names_recipe(self, entry: Linked) -> bool:
        try:
            return entry.is_trained(self.folder)
        except AdducirError:
            return True  # what is wrong with the recipe is reported where it is opened

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
