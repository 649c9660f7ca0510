"""The work of one comparison: tests, then corrections, then cells.

Called by :func:`adducir.statistics.comparison.comparison.compare`, which says what it all means.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import TypeAlias, TypeVar

import numpy as np

from adducir.core.errors import UsageError
from adducir.statistics.anova import Anova, two_way_anova
from adducir.statistics.choices import CorrectionName, FamilyName, SideName
from adducir.statistics.comparison.lineup import Lineup
from adducir.statistics.comparison.notes import designs
from adducir.statistics.comparison.results import (
    Cell,
    Comparison,
    EquivalenceTest,
    Measure,
    PairedTest,
    Settings,
    Verdict,
)
from adducir.statistics.corrections import checked_family, correct
from adducir.statistics.corrections.correction import PairFamily
from adducir.statistics.differences import FloatArray, constant_rows, scores_array, tolerance
from adducir.statistics.effects import Effect, effect_rows
from adducir.statistics.equivalence import tost_rows
from adducir.statistics.equivalence_of_runs import tost_of_runs
from adducir.statistics.outcome import TestResult
from adducir.statistics.ranking import confidence_sets
from adducir.statistics.two_level import FEW_RUNS, TwoLevel, two_level

Pair: TypeAlias = tuple[int, int]
Found = TypeVar("Found", PairedTest, EquivalenceTest)
TURNED: dict[Verdict | None, Verdict | None] = {"better": "worse", "worse": "better"}


class Comparing:
    """One comparison of a line-up of systems, as settings ask for it."""

    def __init__(self, lineup: Lineup, settings: Settings) -> None:
        self.lineup = lineup
        self.settings = settings
        self.means = lineup.values.mean(axis=2)
        self.tested = [m for m in lineup.measures if m not in settings.descriptive]

    def comparison(self) -> Comparison:
        """Run everything."""
        pairs = self._pairs()
        differences: dict[Measure, list[PairedTest]] = {}
        equivalences: dict[Measure, list[EquivalenceTest]] = {}
        for measure in self.tested:
            differences[measure] = self._difference_tests(measure, pairs)
            equivalences[measure] = self._equivalence_tests(measure)
        settings = self.settings
        tests = self._corrected(differences)
        tosts = _corrected(equivalences, settings.equivalence_correction, settings.family)
        tests = {m: [self._judged(one) for one in many] for m, many in tests.items()}
        tosts = {
            m: [replace(one, equivalent=one.p_corrected <= settings.alpha) for one in many]
            for m, many in tosts.items()
        }
        p_best = self._p_best()
        return Comparison(
            systems=self.lineup.systems,
            measures=self.lineup.measures,
            cells={
                (cell.system, cell.measure): cell
                for measure in self.lineup.measures
                for cell in self._cells(
                    measure,
                    tests.get(measure, []),
                    tosts.get(measure, []),
                    p_best.get(measure),
                )
            },
            settings=settings,
            topics=len(self.lineup.qids),
            tests_in_family=_sizes(
                {m: [one for one in many if not one.refused] for m, many in tests.items()},
                settings.family,
            ),
            equivalence_tests_in_family=_sizes(tosts, settings.family),
            missing=self.lineup.missing,
            p_best=p_best,
            runs={name: len(runs) for name, runs in self.lineup.runs.items()},
            designs=designs(self.lineup, settings),
            analyses=self._analyses(),
        )

    def _pairs(self) -> list[Pair]:
        """(system, reference) of every test of a measure, each unordered pair once."""
        count = len(self.lineup.systems)
        if self.settings.family == "pairs":
            return [(j, i) for i, j in combinations(range(count), 2)]
        bases = [self.lineup.systems.index(name) for name in self.settings.baselines]
        return [
            (system, base)
            for rank, base in enumerate(bases)
            for system in range(count)
            if system != base and system not in bases[:rank]
        ]

    def _values(self, measure: Measure) -> FloatArray:
        """Scores (S, T) of a measure."""
        return np.asarray(self.lineup.values[self.lineup.measures.index(measure)])

    def _difference_tests(self, measure: Measure, pairs: Sequence[Pair]) -> list[PairedTest]:
        """The uncorrected tests of one measure, one for each pair."""
        if not pairs:
            return []
        values = scores_array(self._values(measure), f"the scores on {measure}")
        settings, names = self.settings, self.lineup.systems
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        results = settings.test_kind.pairs(values, first, second)
        effects = self._effects(values, first, second)
        if self.lineup.runs:
            runs = self._runs(measure)
            found = [two_level(runs[i], runs[j]) for i, j in zip(first, second, strict=True)]
            results = [_over_topics_and_runs(*pair) for pair in zip(results, found, strict=True)]
            effects = [
                replace(effect, low=ends[0], high=ends[1])
                for effect, one in zip(effects, found, strict=True)
                for ends in [one.interval(settings.confidence)]
            ]
        return [
            PairedTest(names[i], names[j], measure, result, effect, result.p, None)
            for i, j, result, effect in zip(first, second, results, effects, strict=True)
        ]

    def _runs(self, measure: Measure) -> list[FloatArray]:
        """Scores (R, T) of the R runs of each system."""
        place, runs = self.lineup.measures.index(measure), self.lineup.runs
        alone = self.lineup.values[place]
        return [
            runs[name][:, place] if name in runs else alone[row, None]
            for row, name in enumerate(self.lineup.systems)
        ]

    def _effects(
        self, values: FloatArray, first: Sequence[int], second: Sequence[int]
    ) -> list[Effect]:
        """Effects of the pairs, with the kind of interval that was asked for."""
        settings = self.settings
        a, b = values[list(first)], values[list(second)]
        effects = effect_rows(a, b, level=settings.confidence)
        if settings.interval == "t":
            return effects
        from scipy.stats import bootstrap

        for row in np.flatnonzero(~constant_rows(a - b, tolerance(a, b))):
            found = bootstrap(
                ((a - b)[row],),
                np.mean,
                confidence_level=settings.confidence,
                n_resamples=settings.samples,
                batch=1_000,
                method="BCa",
                rng=np.random.default_rng(settings.seed),
            ).confidence_interval
            effects[row] = replace(effects[row], low=float(found.low), high=float(found.high))
        return effects

    def _equivalence_tests(self, measure: Measure) -> list[EquivalenceTest]:
        """The uncorrected equivalence tests of one measure."""
        settings, names = self.settings, self.lineup.systems
        if settings.equivalence is None or len(names) < 2:
            return []
        values = self._values(measure)
        target = (
            self._best(measure)[0] if settings.against == "best" else names.index(settings.against)
        )
        counts = [len(self.lineup.runs.get(name, ())) for name in names]
        few = {row for row, count in enumerate(counts) if 1 < count < FEW_RUNS}
        others = [row for row in range(len(names)) if row != target and not {row, target} & few]
        if not others:
            return []
        lower = measure in settings.lower_is_better
        side: SideName = ("upper" if lower else "lower") if settings.non_inferiority else "both"
        how, delta = settings.equivalence_test, settings.equivalence
        if self.lineup.runs:
            runs = self._runs(measure)
            tosts = [
                tost_of_runs(runs[other], runs[target], delta, test=how, side=side)
                for other in others
            ]
        else:
            second = values[[target] * len(others)]
            tosts = tost_rows(values[others], second, delta, test=how, side=side)
        return [
            EquivalenceTest(names[system], names[target], measure, tost, tost.p, False)
            for system, tost in zip(others, tosts, strict=True)
        ]

    def _best(self, measure: Measure) -> list[int]:
        """The systems with the best mean, in the order given."""
        means = self.means[self.lineup.measures.index(measure)]
        top = means.min() if measure in self.settings.lower_is_better else means.max()
        return [int(system) for system in np.flatnonzero(means == top)]

    def _p_best(self) -> dict[Measure, FloatArray]:
        """(S,) p of the model confidence set of each measure that is tested."""
        settings, measures = self.settings, self.tested
        if settings.best == "mean" or len(self.lineup.systems) < 2 or not measures:
            return {}
        found = confidence_sets(
            [self._values(measure) for measure in measures],
            [measure in settings.lower_is_better for measure in measures],
            samples=settings.samples,
            seed=settings.seed,
        )
        return dict(zip(measures, found, strict=True))

    def _analyses(self) -> dict[Measure, Anova]:
        """Each measure's two-way analysis of variance, where Tukey's correction takes its error."""
        if self.settings.correction != "tukey" or len(self.lineup.systems) < 2:
            return {}
        found = {}
        for measure in self.tested:
            with suppress(UsageError):  # no error at all
                found[measure] = two_way_anova(self._values(measure))
        return found

    def _corrected(self, tests: dict[Measure, list[PairedTest]]) -> dict[Measure, list[PairedTest]]:
        """The tests of difference with p adjusted over their family, which lacks refused ones."""
        everything = [one for many in tests.values() for one in many]
        one_family = self.settings.family == "table"
        families = [everything] if one_family else list(tests.values())
        made = ([one for one in family if not one.refused] for family in families)
        adjusted = iter([p for family in made for p in self._adjusted(family)])
        return {
            measure: [
                one if one.refused else replace(one, p_corrected=float(next(adjusted)))
                for one in many
            ]
            for measure, many in tests.items()
        }

    def _adjusted(self, tests: list[PairedTest]) -> FloatArray:
        """The adjusted p of the tests of one family."""
        systems, measures = self.lineup.systems, self.lineup.measures
        starts = {measure: place * len(systems) for place, measure in enumerate(measures)}
        rows = {name: place for place, name in enumerate(systems)}
        first = [starts[one.measure] + rows[one.system] for one in tests]
        second = [starts[one.measure] + rows[one.reference] for one in tests]
        family = PairFamily(
            p=checked_family([one.p for one in tests]),
            values=self.lineup.values.reshape(-1, len(self.lineup.qids)),
            first=np.array(first, dtype=np.intp),
            second=np.array(second, dtype=np.intp),
        )
        return self.settings.correction_kind.of_pairs(family)

    def _judged(self, test: PairedTest) -> PairedTest:
        """The test with its verdict."""
        if test.p_corrected > self.settings.alpha or test.difference == 0:
            return test
        higher = (test.difference > 0) != (test.measure in self.settings.lower_is_better)
        verdict: Verdict = "better" if higher else "worse"
        return replace(test, verdict=verdict)

    def _cells(
        self,
        measure: Measure,
        tests: list[PairedTest],
        tosts: list[EquivalenceTest],
        p_best: FloatArray | None,
    ) -> list[Cell]:
        """The cells of one measure, a test turned round for the cell of its reference."""
        names, settings = self.lineup.systems, self.settings
        found = {(test.system, test.reference): test for test in tests}
        for test in tests:
            if settings.family == "pairs" or test.system in settings.baselines:
                found[test.reference, test.system] = self._mirrored(test)
        equivalent = {test.system: test for test in tosts}
        order = [*settings.baselines, *(name for name in names if name not in settings.baselines)]
        means = self.means[self.lineup.measures.index(measure)]
        return [
            Cell(
                system=name,
                measure=measure,
                mean=float(means[row]),
                best=measure not in settings.descriptive and row in self._best(measure),
                in_set=p_best is not None and bool(p_best[row] > settings.alpha),
                tests=tuple(found[name, other] for other in order if (name, other) in found),
                test=found.get((name, settings.baselines[0])) if settings.baselines else None,
                equivalence=equivalent.get(name),
            )
            for row, name in enumerate(names)
        ]

    def _mirrored(self, test: PairedTest) -> PairedTest:
        """The test seen from its reference."""
        base = self.means[
            self.lineup.measures.index(test.measure), self.lineup.systems.index(test.system)
        ]
        return replace(
            test,
            system=test.reference,
            reference=test.system,
            result=self.settings.test_kind.mirrored(test.result),
            effect=test.effect.mirrored(float(base)),
            verdict=TURNED.get(test.verdict),
        )


def _over_topics_and_runs(result: TestResult, found: TwoLevel) -> TestResult:
    """The result of a t-test with what was found over topics and runs in its place."""
    degenerate = bool(np.isinf(found.t))
    method = "refused" if found.refused else "two-level"
    return replace(result, statistic=found.t, p=found.p, method=method, degenerate=degenerate)


def _corrected(
    tests: dict[Measure, list[EquivalenceTest]], correction: CorrectionName, family: FamilyName
) -> dict[Measure, list[EquivalenceTest]]:
    """The equivalence tests with p adjusted over their family."""
    everything = [one for many in tests.values() for one in many]
    families = [everything] if family == "table" else list(tests.values())
    adjusted = iter([p for many in families for p in correct([t.tost.p for t in many], correction)])
    return {
        measure: [replace(one, p_corrected=float(next(adjusted))) for one in many]
        for measure, many in tests.items()
    }


def _sizes(tests: dict[Measure, list[Found]], family: FamilyName) -> dict[Measure, int]:
    """How many tests were corrected together with those of each measure."""
    total = sum(len(many) for many in tests.values())
    return {m: total if family == "table" else len(many) for m, many in tests.items()}
