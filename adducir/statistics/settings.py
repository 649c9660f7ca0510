"""Settings of a comparison, with tests and corrections by name.

Imports neither numpy nor scipy, because command lines and experiment files are read with it.
Packages add tests and corrections through entry points ``adducir.tests`` and
``adducir.corrections``.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeAlias,
    TypeVar,
)

from pydantic import Field, model_validator

from adducir.core.recipe import RARE, Kind, Needs, Recipe, errors_at, needs
from adducir.core.registry import Family

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float64]

FEW_RUNS = 3
"""Two runs hardly show how much runs vary: fewer than three are not tested."""
FEW = 15
"""The fewest differing topics for which equivalence's t-tests are reliable."""

Kinded = TypeVar("Kinded", bound=Recipe)


class SignificanceTest(Recipe):
    """A paired, two-sided test of two systems' scores on the same topics.

    The fields of a subclass are its hyperparameters. ``permutations``, ``samples`` and ``seed`` get
    the user's settings for all tests.
    """

    title: ClassVar[str]  # its name in a sentence, such as "paired t-test"

    @abstractmethod
    def rows(self, first: "FloatArray", second: "FloatArray") -> "tuple[FloatArray, FloatArray]":
        """(K,) statistics and (K,) p-values, in (0, 1], of K pairs of systems.

        ``first`` and ``second`` are (K, T) finite scores on T topics, at least two.
        """

    def direction(self, difference: "FloatArray", noise: "FloatArray") -> "FloatArray":
        """(K,) the sign of what is tested, by default the mean of (K, T) differences."""
        return difference.mean(axis=1)

    def pairs(
        self, values: "FloatArray", first: "NDArray[np.intp]", second: "NDArray[np.intp]"
    ) -> "tuple[FloatArray, FloatArray]":
        """The same for K pairs of S systems, by their rows of (S, T) scores."""
        return self.rows(values[first], values[second])


class PairFamily(NamedTuple):
    """The K paired tests of one family, and their scores."""

    p: "FloatArray"  # (K,) uncorrected p-values
    values: "FloatArray"  # (R, T) scores on T topics, a row per system and measure
    first: "NDArray[np.intp]"  # (K,) the row of the first system of each pair
    second: "NDArray[np.intp]"  # (K,) that of the second


class Correction(Recipe):
    """A way to adjust the p-values of a family of tests."""

    title: ClassVar[str]  # its name in a sentence, such as "Holm"; empty for none
    # the tests of difference it can correct; empty for all
    tests: ClassVar[tuple[str, ...]] = ()
    # the families it can correct; empty for all
    scopes: ClassVar[tuple[str, ...]] = ()
    # whether its family is all pairs of the systems, whichever are tested
    of_all_pairs: ClassVar[bool] = False

    @abstractmethod
    def adjusted(self, p: "FloatArray") -> "FloatArray":
        """(m,) adjusted p-values to compare with alpha, in the order of the family's (m,)."""

    def of_pairs(self, family: PairFamily) -> "FloatArray":
        """(K,) adjusted p-values of paired tests; by default only from their p-values."""
        return self.adjusted(family.p)


_HERE = "adducir.statistics"
TESTS = Family(
    "tests",
    SignificanceTest,
    {
        "t": f"{_HERE}.tests:StudentT",
        "wilcoxon": f"{_HERE}.tests:Wilcoxon",
        "sign": f"{_HERE}.tests:Sign",
        "randomisation": f"{_HERE}.tests:Randomisation",
    },
    what="significance test",
)
CORRECTIONS = Family(
    "corrections",
    Correction,
    {
        "holm": f"{_HERE}.corrections:Holm",
        "bonferroni": f"{_HERE}.corrections:Bonferroni",
        "maxt": f"{_HERE}.corrections:MaxT",
        "tukey": f"{_HERE}.corrections:Tukey",
        "hommel": f"{_HERE}.corrections:Hommel",
        "hochberg": f"{_HERE}.corrections:Hochberg",
        "sidak": f"{_HERE}.corrections:Sidak",
        "bh": f"{_HERE}.corrections:BenjaminiHochberg",
        "by": f"{_HERE}.corrections:BenjaminiYekutieli",
        "none": f"{_HERE}.corrections:NoCorrection",
    },
    what="correction",
)

PERMUTATIONS, SAMPLES, SEED = 100_000, 10_000, 0
"""Defaults of random draws."""
FOR_RUNS = "Use t-tests with holm, bonferroni, bh or none."
"""What is available for systems with several runs."""

Share = Annotated[float, Field(gt=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Side: TypeAlias = Literal["both", "lower", "upper"]
EquivalenceTest: TypeAlias = Literal["hall", "t"]


_TESTED: dict[str, Any] = {"comparisons": "all-pairs"}


class Bootstrap(Recipe):
    """How intervals of human judgements are computed."""

    confidence: Share = 0.95
    """Level of the intervals."""
    samples: int = Field(2000, ge=1)
    """Samples of the bootstrap intervals."""
    seed: int = Field(0, ge=0)
    """Seed of the bootstrap."""


class Testing(Kind):
    """What is tested, and how: the arguments of ``compare``, the keys of ``comparison:``."""

    panel: ClassVar[str] = "Testing differences"
    conditions: ClassVar[Mapping[str, Needs]] = {
        **dict.fromkeys(("test", "confidence", "interval"), needs("baseline", **_TESTED)),
        **dict.fromkeys(("correction", "family"), needs("baseline", "equivalence", **_TESTED)),
        "alpha": needs("baseline", "equivalence", **_TESTED, best="set"),
        **dict.fromkeys(("against", "equivalence_test", "non_inferiority"), needs("equivalence")),
        "permutations": Needs(
            "without a test or correction that draws them", lambda testing: testing.permutes
        ),
        "samples": needs(best="set", interval="bootstrap"),
        "seed": Needs(
            "without anything random",
            lambda testing: (
                testing.permutes or testing.best == "set" or testing.interval == "bootstrap"
            ),
        ),
    }

    baseline: str | tuple[str, ...] | None = None
    """The system or systems that all others are tested against."""
    comparisons: Literal["baseline", "all-pairs"] = "baseline"
    """Which systems to compare: with a baseline, or all pairs."""
    test: Annotated[str, TESTS] = "t"
    """The paired test."""
    correction: Annotated[str, CORRECTIONS] = "holm"
    """Correction of the p-values within a family."""
    alpha: Share = 0.05
    """Significance level (alpha)."""
    equivalence: Positive | None = None
    """Also test whether the difference lies within plus or minus this bound (TOST), in units of the
    measure."""
    family: Literal["measure", "table"] = Field("measure", json_schema_extra=RARE)
    """What to correct together: the tests of a measure, or all."""
    against: str = Field("best", json_schema_extra=RARE)
    """The reference of the equivalence test: the best system of each measure, or a system."""
    equivalence_test: EquivalenceTest = Field("hall", json_schema_extra=RARE)
    """t-tests, or (hall) t-tests also adjusted for skewness."""
    non_inferiority: bool = Field(False, json_schema_extra=RARE)
    """Test only that a system is not worse by the bound or more."""
    best: Literal["mean", "set"] = Field("mean", json_schema_extra=RARE)
    """set: also mark all systems that may be the best (model confidence set)."""
    confidence: Share | None = Field(None, json_schema_extra=RARE)
    """Level of the intervals of differences; by default 1 - alpha."""
    interval: Literal["t", "bootstrap"] = Field("t", json_schema_extra=RARE)
    """Intervals of differences: t, or bootstrap (BCa, by scipy)."""
    topics_for: Positive | None = Field(None, json_schema_extra=RARE)
    """Print how many topics are needed to detect a difference of this size."""
    permutations: int = Field(PERMUTATIONS, ge=1, json_schema_extra=RARE)
    """Sign vectors to draw."""
    samples: int = Field(SAMPLES, ge=1, json_schema_extra=RARE)
    """Samples of topics to draw."""
    seed: int = Field(SEED, ge=0, lt=1 << 63, json_schema_extra=RARE)
    """Seed of all draws."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        kind = CORRECTIONS.kind(self.correction)
        if kind.scopes and self.family not in kind.scopes:
            message = f"{self.correction} cannot correct over the family {self.family}"
            raise errors_at((("correction",), message))
        if kind.tests and self.test not in kind.tests:
            message = f"{self.correction} needs the test {' or '.join(kind.tests)}, not {self.test}"
            raise errors_at((("correction",), message))
        return self

    @property
    def permutes(self) -> bool:
        test, correction = TESTS.kind(self.test), CORRECTIONS.kind(self.correction)
        return "permutations" in test.model_fields | correction.model_fields

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines without duplicates; marks refer to the first."""
        named = self.baseline or ()
        return (named,) if isinstance(named, str) else tuple(dict.fromkeys(named))

    @property
    def named(self) -> set[str]:
        return {*self.baselines, self.against} - {"best"}

    @property
    def all_pairs(self) -> bool:
        return self.comparisons == "all-pairs"

    @property
    def differences(self) -> bool:
        return self.all_pairs or bool(self.baselines)

    @property
    def anything(self) -> bool:
        on_request = (self.equivalence, self.topics_for)
        return (
            self.differences or self.best == "set" or any(value is not None for value in on_request)
        )

    @property
    def level(self) -> float:
        return 1 - self.alpha if self.confidence is None else self.confidence

    @property
    def equivalence_correction(self) -> str:
        return "holm" if CORRECTIONS.kind(self.correction).tests else self.correction

    def made(self, family: Family[Kinded], name: str) -> Kinded:
        drawn = {"permutations", "samples", "seed"} & family.kind(name).model_fields.keys()
        return family.make(name, self.model_dump(include=drawn))

    def refused_for_runs(self) -> dict[str, str]:
        """What is not available for systems with several runs, and why, by key."""
        requests = {
            "test": self.test != "t" and f"{self.test} test",
            "correction": CORRECTIONS.kind(self.correction).tests
            and f"{self.correction} correction",
            "topics_for": self.topics_for is not None and "topic set size design",
            "best": self.best == "set" and "set of systems that may be the best",
            "interval": self.interval != "t" and f"{self.interval} interval",
        }
        return {
            key: f"the {name} is not available for systems with several runs: it treats only "
            "topics as a sample, and the few runs as if they were all possible runs"
            for key, name in requests.items()
            if name
        }
