"""What the files of all tasks share: names, links between entries, the comparison, the table."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from adducir.core.errors import UsageError
from adducir.core.recipe import ErrorDetail, KeyPath, Recipe
from adducir.core.texts import nearest, repeated
from adducir.statistics.choices import (
    DEFAULT_PERMUTATIONS,
    DEFAULT_SAMPLES,
    DEFAULT_SEED,
    BestName,
    CorrectionName,
    EquivalenceTestName,
    FamilyName,
    IntervalName,
    PresetName,
    TestName,
)
from adducir.statistics.comparison.runs import FOR_RUNS, refused_for_runs
from adducir.statistics.corrections import joint_error
from adducir.statistics.presets import preset_of
from adducir.tables.material import Snippets
from adducir.tables.style import CriticalDifference, Detail, Fit

# Two names, endings and a mark of the process make a file name, of at most 255 bytes.
_LONGEST_NAME = 80
_NAME = re.compile(r"[\w][\w .+&()=-]*", re.UNICODE)


def _as_name(text: str) -> str:
    # Names become parts of file names; a name that could leave its folder is refused here.
    if not _NAME.fullmatch(text) or text != text.strip():
        raise ValueError("a name is made of letters, digits, blanks and any of . _ + & ( ) = -")
    if len(text.encode()) > _LONGEST_NAME:
        raise ValueError(f"a name has at most {_LONGEST_NAME} bytes")
    return text


Name = Annotated[str, AfterValidator(_as_name)]
Probability = Annotated[float, Field(gt=0, lt=1)]
Natural = Annotated[int, Field(ge=1)]

_MOST_SEEDS = 1000


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
    if not seeds:
        raise ValueError("at least one is needed")
    twice = repeated([str(seed) for seed in seeds])
    if twice:
        raise ValueError(f"{', '.join(twice)} comes more than once")
    return seeds


Seeds = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=10**9)], ...],
    BeforeValidator(_as_seeds),
    AfterValidator(_once),
]
"""Seeds of trainings: ``[0, 7, 9]``, or ``3`` for the first three, 0, 1 and 2."""


class Names:
    """The names that a file defines, by section; its entries may have errors of their own."""

    _ENTRY: ClassVar = {
        "corpora": "corpus",
        "indexes": "index",
        "topics": "topic set",
        "systems": "system",
    }

    def __init__(self, data: Mapping[str, Any]) -> None:
        sections = {key: data.get(key) or {} for key in self._ENTRY}
        self.of = {key: [*one] for key, one in sections.items() if isinstance(one, Mapping)}

    def check(self, path: KeyPath, section: str, name: str) -> Iterator[ErrorDetail]:
        """An error if the section has no entry of that name."""
        known = self.of.get(section, [])
        if name not in known:
            what = f"there is no {self._ENTRY[section]} `{name}` in this file"
            yield ErrorDetail(path, what + nearest(name, known))


class Linked(Recipe):
    """An entry that may name others: ``references`` has the section of each key that does."""

    references: ClassVar[Mapping[str, str]] = {}

    def named(self) -> Iterator[tuple[str, str]]:
        """Section and name of each entry that it names."""
        for key, section in self.references.items():
            value = getattr(self, key)
            for name in (value,) if isinstance(value, str) else value or ():
                yield section, name

    def renamed(self, new: Callable[[str, str], str]) -> Self:
        """The same with other names; ``new`` takes a section and a name in it."""
        changes: dict[str, Any] = {}
        for key, section in self.references.items():
            value = getattr(self, key)
            if isinstance(value, str):
                changes[key] = new(section, value)
            elif value:
                changes[key] = tuple(new(section, name) for name in value)
        return self.model_copy(update=changes)

    def is_trained(self, folder: Path) -> bool:
        """Whether it names the recipe of a model that is trained for it; raises InputError."""
        del folder
        return False


class SystemEntry(Linked):
    """A system: a row of the tables.

    Attributes:
        seeds: Of the trainings of what it is made with: a run for each.
    """

    seeds: Seeds = ()

    @model_serializer(mode="wrap")
    def _without_nothing(self, rest: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Empty keys of these names are refused, so that what is written can be read.
        return {k: value for k, value in rest(self).items() if k not in ("tune", "seeds") or value}

    @property
    def members(self) -> tuple[str, ...]:
        """The systems whose runs it is made from."""
        return ()

    def place_of(self, member: int) -> KeyPath:
        """Where a member is named, below the system."""
        raise NotImplementedError


class ComparisonRecipe(Recipe):
    """Which differences are tested, and how; see docs/statistics.md."""

    baseline: Name | tuple[Name, ...] | None = None
    test: TestName | None = None
    correction: CorrectionName | None = None
    preset: PresetName | None = None
    family: FamilyName = "measure"
    alpha: Probability = 0.05
    equivalence: Annotated[float, Field(gt=0)] | None = None
    against: Name = "best"
    equivalence_test: EquivalenceTestName = "hall"
    non_inferiority: bool = False
    confidence: Probability | None = None
    interval: IntervalName = "t"
    best: BestName = "mean"
    permutations: Natural = DEFAULT_PERMUTATIONS
    samples: Natural = DEFAULT_SAMPLES
    topics_for: Annotated[float, Field(gt=0)] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = DEFAULT_SEED

    @model_validator(mode="after")
    def _goes_together(self) -> "ComparisonRecipe":
        try:
            test, correction = self.test_and_correction
        except UsageError as error:
            raise ValueError(f"{error.what} {error.hint}".rstrip(".")) from error
        why = joint_error(correction, test, self.family)
        if why:
            raise ValueError(why)
        return self

    @property
    def test_and_correction(self) -> tuple[TestName, CorrectionName]:
        """The test and the correction, by themselves or by the preset."""
        return preset_of(self.preset, self.test, self.correction)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines' names."""
        if self.baseline is None:
            return ()
        return (self.baseline,) if isinstance(self.baseline, str) else self.baseline

    @property
    def named(self) -> set[str]:
        """The systems that it names."""
        return {*self.baselines, self.against} - {"best"}

    @property
    def differences(self) -> bool:
        """Whether differences are tested."""
        return bool(self.baselines) or self.family == "pairs"


def untestable(comparison: ComparisonRecipe | None) -> Iterator[ErrorDetail]:
    """What of a comparison there is not for systems with several runs, and why."""
    if comparison is None:
        return
    test, correction = comparison.test_and_correction
    refused = refused_for_runs(
        test=test,
        correction=correction,
        interval=comparison.interval,
        best=comparison.best,
        topics_for=comparison.topics_for,
    )
    for key, what in refused.items():
        by_preset = comparison.preset and key in ("test", "correction")
        place = "preset" if by_preset else key
        yield ErrorDetail(("comparison", place), f"there is no {what} (`seeds`). {FOR_RUNS[:-1]}")


def comparison_errors(
    comparison: ComparisonRecipe | None, table: "TableRecipe", names: Names
) -> Iterator[ErrorDetail]:
    """What of a comparison, and of its details in the table, cannot be made of any task's file."""
    if comparison is not None:
        key: KeyPath = ("comparison", "baseline")
        is_one = isinstance(comparison.baseline, str)
        named = {key if is_one else (*key, n): one for n, one in enumerate(comparison.baselines)}
        if comparison.against != "best":
            named["comparison", "against"] = comparison.against
        for place, name in named.items() if names.of.get("systems") else ():
            yield from names.check(place, "systems", name)
        if comparison.equivalence is None:
            for option in ("against", "equivalence_test", "non_inferiority"):
                if option in comparison.model_fields_set:
                    yield ErrorDetail(("comparison", option), "has no effect without `equivalence`")
            is_plain = comparison.best != "set" and comparison.topics_for is None
            if not comparison.differences and is_plain:
                ways = "name a `baseline`, `family: pairs`, an `equivalence` or `best: set`"
                yield ErrorDetail(("comparison",), f"nothing is compared: {ways}")
    for name in table.system_names if names.of.get("systems") else ():
        yield from names.check(("table", "system_names", name), "systems", name)
    for number, detail in enumerate(table.show):
        is_there = comparison is not None and comparison.differences
        needed = "`baseline` or `family: pairs`"
        if detail == "equivalence_p":
            is_there = comparison is not None and comparison.equivalence is not None
            needed = "`equivalence`"
        if not is_there:
            what = f"`{detail}` needs {needed} in `comparison`"
            yield ErrorDetail(("table", "show", number), what)


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
    critical_difference: CriticalDifference = "none"


class RunTableRecipe(TableRecipe):
    """How a table of runs looks.

    Attributes:
        snippets: Which texts its report may quote.
    """

    snippets: Snippets = "none"


def file_name(name: str) -> str:
    """A system's or topic set's name as part of a file name and as a TREC tag: no blanks."""
    return name.replace(" ", "_")


def on_disk(name: str) -> str:
    """A name's file where upper and lower case, and ways to write an accent, are one."""
    return unicodedata.normalize("NFC", file_name(name)).casefold()
