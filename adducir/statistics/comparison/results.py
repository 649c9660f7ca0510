"""The outcome of comparing systems: values only, for tables to render."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from adducir.core.recipe import Recipe
from adducir.core.texts import html_table
from adducir.statistics.anova import Anova
from adducir.statistics.choices import (
    BestName,
    CorrectionName,
    EquivalenceTestName,
    FamilyName,
    IntervalName,
    TestName,
)
from adducir.statistics.corrections import CORRECTIONS
from adducir.statistics.corrections.correction import Correction
from adducir.statistics.differences import FloatArray
from adducir.statistics.effects import Effect
from adducir.statistics.equivalence import Equivalence
from adducir.statistics.outcome import TestResult
from adducir.statistics.tests import TESTS, SignificanceTest

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Measure: TypeAlias = Hashable
Verdict: TypeAlias = Literal["better", "worse"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked of :func:`adducir.statistics.comparison.comparison.compare`; see there."""

    baselines: tuple[str, ...]
    test: TestName
    correction: CorrectionName
    alpha: float
    family: FamilyName
    equivalence: float | None
    against: str
    equivalence_correction: CorrectionName
    equivalence_test: EquivalenceTestName
    non_inferiority: bool
    confidence: float
    interval: IntervalName
    best: BestName
    seed: int
    permutations: int
    samples: int
    topics_for: float | None = None
    descriptive: frozenset[Measure] = frozenset()
    lower_is_better: frozenset[Measure] = frozenset()

    @property
    def test_kind(self) -> SignificanceTest:
        """The test, with those of its hyperparameters that were asked for."""
        return TESTS.make(self.test, self._drawn(TESTS.kind(self.test)))

    @property
    def correction_kind(self) -> Correction:
        """The correction of the tests of difference, likewise."""
        return CORRECTIONS.make(self.correction, self._drawn(CORRECTIONS.kind(self.correction)))

    def _drawn(self, kind: type[Recipe]) -> dict[str, int]:
        """The numbers of draws and the seed, as far as a kind has them."""
        names = ("permutations", "samples", "seed")
        return {name: getattr(self, name) for name in names if name in kind.model_fields}


@dataclass(frozen=True, slots=True)
class PairedTest:
    """One system against one reference on one measure.

    Attributes:
        system: The system whose difference is shown.
        reference: What it is compared with.
        measure: The measure.
        result: The test, uncorrected.
        effect: Difference, interval (uncorrected), effect size, wins, ties, losses.
        p_corrected: p adjusted for the family, to be held against alpha.
        verdict: ``better`` or ``worse`` where ``p_corrected`` <= alpha, else None. It
            speaks of quality: where less is better, a negative difference is ``better``.
    """

    system: str
    reference: str
    measure: Measure
    result: TestResult
    effect: Effect
    p_corrected: float
    verdict: Verdict | None

    @property
    def difference(self) -> float:
        """Mean of the system minus mean of the reference."""
        return self.effect.difference

    @property
    def p(self) -> float:
        """Uncorrected p-value."""
        return self.result.p

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of the mean difference."""
        return self.effect.low, self.effect.high

    @property
    def degenerate(self) -> bool:
        """Whether the differences are one non-zero constant."""
        return self.result.degenerate

    @property
    def refused(self) -> bool:
        """Whether a system has too few runs to test anything; p is then 1."""
        return self.result.method == "refused"


@dataclass(frozen=True, slots=True)
class EquivalenceTest:
    """One system against the best or a named one: equivalence, or non-inferiority.

    Attributes:
        system: The system.
        reference: What it is held against.
        measure: The measure.
        tost: The test, uncorrected.
        p_corrected: p adjusted for the family of equivalence tests.
        equivalent: Whether ``p_corrected`` <= alpha: equivalent, or not inferior.
    """

    system: str
    reference: str
    measure: Measure
    tost: Equivalence
    p_corrected: float
    equivalent: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One system on one measure.

    Attributes:
        system: The system.
        measure: The measure.
        mean: Mean over all topics.
        best: No system has a better mean; never for a descriptive measure.
        in_set: It is in the set of systems that may be the best, where that was asked for.
        tests: Tests against each reference: the baselines, or (family ``pairs``) all
            others; baselines first. Empty where there is none.
        test: The test against the first baseline; None for itself or without baseline.
        equivalence: The equivalence test; None for the reference itself or if not asked.
    """

    system: str
    measure: Measure
    mean: float
    best: bool
    in_set: bool
    tests: tuple[PairedTest, ...]
    test: PairedTest | None
    equivalence: EquivalenceTest | None

    def against(self, reference: str) -> PairedTest | None:
        """The test against a named system, None if there was none."""
        return next((test for test in self.tests if test.reference == reference), None)

    @property
    def verdict(self) -> Verdict | None:
        """Verdict against the first baseline."""
        return self.test.verdict if self.test else None

    @property
    def equivalent(self) -> bool | None:
        """Whether equivalent; None where not tested."""
        return self.equivalence.equivalent if self.equivalence else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All systems on all measures.

    Attributes:
        systems: Names in the order given.
        measures: Measures in the order given.
        cells: One for each (system, measure).
        settings: What was asked for.
        topics: Number of topics.
        tests_in_family: Difference tests corrected together, for each measure.
        equivalence_tests_in_family: Likewise for the equivalence tests.
        missing: For each system that lacks topics, those topics; they count 0.
        p_best: For each measure that is tested, (S,) p of each system in the model confidence set:
            the least alpha at which it is no longer there; empty where nobody asked for it.
        runs: For each system of several runs, how many; its scores are means over them.
        designs: For each measure how many topics find a difference of ``topics_for``, if that was
            asked for; or why it is not known.
        analyses: The two-way analysis of variance of each measure, whose error Tukey's correction
            takes; a measure whose scores have no error has none.
    """

    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    cells: Mapping[tuple[str, Measure], Cell]
    settings: Settings
    topics: int
    tests_in_family: Mapping[Measure, int]
    equivalence_tests_in_family: Mapping[Measure, int]
    missing: Mapping[str, tuple[str, ...]]
    p_best: Mapping[Measure, FloatArray] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)
    designs: Mapping[Measure, int | str] = field(default_factory=dict)
    analyses: Mapping[Measure, Anova] = field(default_factory=dict)

    @property
    def baselines(self) -> tuple[str, ...]:
        """The baselines, the first of which marks refer to."""
        return self.settings.baselines

    def cell(self, system: str, measure: Measure) -> Cell:
        """The cell of one system on one measure."""
        return self.cells[system, measure]

    def best(self, measure: Measure) -> str:
        """The system with the best mean on a measure, the first given among equals.

        Raises:
            KeyError: A descriptive measure, which has no best, or one not compared.
        """
        marked = [name for name in self.systems if self.cells[name, measure].best]
        if not marked:
            raise KeyError(measure)
        sign = -1.0 if measure in self.settings.lower_is_better else 1.0
        return max(marked, key=lambda name: sign * self.cells[name, measure].mean)

    def to_polars(self) -> "pl.DataFrame":
        """A row for each system, measure and reference; without reference one row, and no test.

        Columns: system, measure, mean, best, reference, difference, low, high (of the interval),
        p, p_corrected, verdict, wins, ties, losses, equivalent.
        """
        import polars as pl

        return pl.DataFrame(list(self._records()), infer_schema_length=None)

    def to_pandas(self) -> "pd.DataFrame":
        """The frame of :meth:`to_polars` in pandas."""
        import pandas as pd

        return pd.DataFrame(list(self._records()))

    def _repr_html_(self) -> str:
        """Means, differences and corrected p-values, for a notebook."""
        keys = ("system", "measure", "mean", "reference", "difference", "p_corrected", "verdict")
        rows = ([record[key] for key in keys] for record in self._records())
        return html_table(f"{len(self.systems)} systems, {self.topics} topics", keys, rows)

    def _records(self) -> Iterator[dict[str, Any]]:
        for cell in self.cells.values():
            own: dict[str, Any] = {"system": cell.system, "measure": str(cell.measure)}
            own |= {"mean": cell.mean, "best": cell.best}
            for test in cell.tests or (None,):
                effect = test and test.effect
                yield {
                    **own,
                    "reference": test and test.reference,
                    "difference": effect and effect.difference,
                    "low": effect and effect.low,
                    "high": effect and effect.high,
                    "p": test and test.p,
                    "p_corrected": test and test.p_corrected,
                    "verdict": test and test.verdict,
                    "wins": effect and effect.wins,
                    "ties": effect and effect.ties,
                    "losses": effect and effect.losses,
                    "equivalent": cell.equivalent,
                }

    def undecided(self, measure: Measure) -> bool:
        """Whether every system may be the best on a measure: its set says nothing."""
        found = self.p_best.get(measure)
        return found is not None and bool((found > self.settings.alpha).all())

    @property
    def has_tests(self) -> bool:
        """Whether anything was tested."""
        counts = (*self.tests_in_family.values(), *self.equivalence_tests_in_family.values())
        return any(counts)

    @property
    def questionable(self) -> tuple[EquivalenceTest, ...]:
        """Equivalences that were found on too little to be relied on."""
        tests = (cell.equivalence for cell in self.cells.values())
        return tuple(one for one in tests if one and one.equivalent and one.tost.questionable)

    @property
    def degenerate(self) -> tuple[PairedTest, ...]:
        """Tests whose differences are one non-zero constant, each pair once."""
        found = {
            (frozenset((test.system, test.reference)), test.measure): test
            for cell in self.cells.values()
            for test in cell.tests
            if test.degenerate
        }
        return tuple(found.values())
