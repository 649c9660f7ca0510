"""Compare systems with baselines, with each other, and with the best: :func:`compare`.

Each topic set is tested separately. The tests of a measure (``family: measure``) or of all measures
(``table``) are corrected together, those of equivalence as a separate family. Only corrected
p-values decide verdicts. Descriptive measures (share judged, counts) are not tested.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
import polars as pl

from adducir.core.errors import UsageError, worded
from adducir.core.recipe import refusing
from adducir.core.registry import numbers, refuse
from adducir.core.texts import MOST_ROWS, html_table, refuse_unless, typed
from adducir.corpora.frames import Framed
from adducir.evaluation.measures import is_descriptive, lower_is_better
from adducir.evaluation.scores import ScoreMatrix, Scores
from adducir.statistics.corrections import confidence_sets, error_variance
from adducir.statistics.differences import NOISE, Floats, Rows, constant_rows, tolerance
from adducir.statistics.settings import CORRECTIONS, FEW_RUNS, FOR_RUNS, TESTS, PairFamily, Testing

POWER = 0.8
"""The conventional power."""
MAX_TOPICS = 1_000_000
SMALLEST_P = 1e-300
"""Smaller p-values, which a double may not hold, are reported as this one, never as 0."""


def topics_needed(difference: float, sd: float, alpha: float = 0.05, wanted: float = POWER) -> int:
    """The fewest topics with which a paired t-test finds a difference; ``sd`` of differences."""
    from scipy.special import nctdtr, stdtrit

    if not difference or not sd > 0:
        raise UsageError(
            "the difference must not be 0, and the standard deviation must be positive."
        )

    def power(topics: int) -> float:
        t = stdtrit(topics - 1, 1 - alpha / 2)
        shift = abs(difference) / sd * sqrt(topics)
        other_side = nctdtr(topics - 1, shift, -t)  # NaN where it is too small for SciPy
        return float(1 - nctdtr(topics - 1, shift, t) + np.nan_to_num(other_side))

    sizes = range(2, MAX_TOPICS + 1)
    at = bisect_left(sizes, wanted, key=power)
    if at == len(sizes):
        raise UsageError(f"more than {MAX_TOPICS:,} topics would be needed.")
    return sizes[at]


TESTED = pl.Schema(
    {
        **dict.fromkeys(("set", "measure", "claim", "system", "reference"), pl.String),
        **dict.fromkeys(("difference", "low", "high"), pl.Float64),
        **dict.fromkeys(("statistic", "p", "p_corrected"), pl.Float64),
        "verdict": pl.String,
        "effect": pl.Float64,
        **dict.fromkeys(("wins", "ties", "losses"), pl.Int64),
        "method": pl.String,
        "constant": pl.Boolean,
    }
)


class SetTests:
    def __init__(self, name: str, matrix: ScoreMatrix, testing: Testing) -> None:
        self.name, self.matrix, self.testing = name, matrix, testing
        self.systems, self.topics = list(matrix.systems), len(matrix.qids)
        rates, falls = list[bool](), list[bool]()
        for one in matrix.measures.values():
            rates.append(not is_descriptive(one))
            falls.append(lower_is_better(one))
        self.rates, self.falls = np.array(rates), np.array(falls)
        self.tested: Rows = np.flatnonzero(self.rates) if self.topics > 1 else np.empty(0, np.intp)
        self.average = matrix.values.mean(axis=2)
        low, high = self.average.min(axis=1), self.average.max(axis=1)
        self.top = np.where(self.falls, low, high)[:, None]
        self.leads = np.abs(self.average - self.top) <= NOISE * np.abs(self.top)
        # A row of scores per measure and system, grouped by measure.
        self.rows = matrix.values.reshape(-1, self.topics)

    def means(self) -> pl.DataFrame:
        measures, systems = self.average.shape
        p_best = np.full((measures, systems), np.nan)
        if self.testing.best == "set" and systems > 1 and self.tested.size:
            p_best[self.tested] = confidence_sets(
                self.matrix.values[self.tested],
                self.falls[self.tested],
                samples=self.testing.samples,
                seed=self.testing.seed,
            )
        best = self.leads & self.rates[:, None]
        return pl.DataFrame(
            {
                "set": self.name,
                "system": np.repeat(self.systems, measures),
                "measure": list(self.matrix.measures) * systems,
                "mean": self.average.T.ravel(),
                "topics": self.topics,
                "best": best.T.ravel(),
                "p_best": p_best.T.ravel(),
            },
            schema_overrides={"topics": pl.Int64},
        ).with_columns(pl.col("p_best").fill_nan(None))

    def _pairs(self) -> tuple[Rows, Rows]:
        count = len(self.systems)
        if self.testing.all_pairs:
            second, first = np.triu_indices(count, 1)
        else:
            first, second = np.empty((2, 0), dtype=np.intp)
            others = np.arange(count)  # without the baselines so far
            for baseline in self.testing.baselines:
                if baseline in self.systems:
                    base = self.systems.index(baseline)
                    others = others[others != base]
                    first = np.concatenate((first, others))
                    second = np.concatenate((second, np.full_like(others, base)))
        starts = count * self.tested[:, None]
        return (starts + first).ravel(), (starts + second).ravel()

    def differences(self) -> pl.DataFrame:
        first, second = self._pairs()
        if not first.size:
            return pl.DataFrame(schema=TESTED)
        testing, topics = self.testing, self.topics
        test, count = testing.made(TESTS, testing.test), first.size
        pairs, meaning = test.pairs(self.rows, first, second), "a statistic and a p-value per pair"
        statistic, p = numbers(test, "rows", pairs, 2, count, meaning=meaning, finite=False)
        if (wrong := p[~((p >= 0) & (p <= 1))]).size:
            refuse(test, "rows", float(wrong[0]), "a p-value from 0 to 1")
        a, b = self.rows[first], self.rows[second]
        difference, noise = a - b, tolerance(a, b)
        constant = constant_rows(difference, noise)
        mean = difference.mean(axis=1)
        sd = np.where(constant, 0.0, difference.std(axis=1, ddof=1))
        low, high = self._intervals(difference, mean, sd, constant)
        method = [testing.test] * first.size
        if self.matrix.runs:
            from adducir.statistics.equivalence import two_level

            found = [
                two_level(self._runs(i), self._runs(j)) for i, j in zip(first, second, strict=True)
            ]
            statistic = np.array([one.t for one in found])
            p = np.array([one.p for one in found])
            low, high = np.array([one.interval(testing.level) for one in found]).T
            constant = np.isinf(statistic)
            method = ["refused" if one.refused else "two-level" for one in found]
        kept = np.array(method) != "refused"
        corrected = np.full(first.size, np.nan)
        correction = testing.made(CORRECTIONS, testing.correction)
        for family in self._families(first[kept]):
            of = np.flatnonzero(kept)[family]
            adjusted = correction.of_pairs(PairFamily(p[of], self.rows, first[of], second[of]))
            meaning = "an adjusted p-value per test"
            corrected[of] = numbers(correction, "adjusted", adjusted, len(of), meaning=meaning)
        higher = (difference > noise[:, None]).sum(axis=1)
        lower = (-difference > noise[:, None]).sum(axis=1)
        falls = self.falls[first // len(self.systems)]
        verdict = np.where((mean > 0) != falls, "better", "worse")
        direction = testing.made(TESTS, testing.test).direction(difference, noise)
        opposed = np.sign(direction) != np.sign(np.where(np.abs(mean) > noise, mean, 0.0))
        identical = np.abs(difference).max(axis=1) <= noise
        spread = np.where((sd > 0) & ~constant, sd, np.nan)
        return self._framed(
            first,
            second,
            claim="difference",
            difference=mean,
            low=np.where(kept, low, np.nan),
            high=np.where(kept, high, np.nan),
            statistic=statistic,
            p=np.where(kept, p, np.nan),
            p_corrected=corrected,
            verdict=np.where(opposed | (mean == 0), "", verdict),
            effect=np.where(identical, 0.0, mean / spread),
            wins=np.where(falls, lower, higher),
            ties=topics - higher - lower,
            losses=np.where(falls, higher, lower),
            method=method,
            constant=constant & ~identical,
        )

    def _framed(self, first: Rows, second: Rows, **columns: Any) -> pl.DataFrame:
        count, systems = len(self.systems), np.array(self.systems)
        named = {
            "set": self.name,
            "measure": np.array(list(self.matrix.measures))[first // count],
            "system": systems[first % count],
            "reference": systems[second % count],
        }
        holds = (pl.col("p_corrected") <= self.testing.alpha) & (pl.col("verdict") != "")
        frame = pl.DataFrame(named | columns).with_columns(pl.col(pl.Float64).fill_nan(None))
        frame = frame.with_columns(pl.col("p", "p_corrected").clip(lower_bound=SMALLEST_P))
        frame = frame.with_columns(verdict=pl.when(holds).then("verdict"))
        return pl.concat([pl.DataFrame(schema=TESTED), frame], how="diagonal")

    def _runs(self, row: int) -> Floats:
        measure, system = divmod(int(row), len(self.systems))
        runs = self.matrix.runs.get(self.matrix.systems[system])
        return self.rows[row][None] if runs is None else runs[:, measure]

    def _intervals(
        self, difference: Floats, mean: Floats, sd: Floats, constant: Any
    ) -> tuple[Floats, Floats]:
        from scipy.special import stdtrit

        testing = self.testing
        reach = float(stdtrit(self.topics - 1, 0.5 + testing.level / 2)) * sd / sqrt(self.topics)
        low, high = mean - reach, mean + reach
        if testing.interval == "bootstrap":
            from scipy.stats import bootstrap

            for row in np.flatnonzero(~constant):
                low[row], high[row] = bootstrap(
                    (difference[row],),
                    np.mean,
                    confidence_level=testing.level,
                    n_resamples=testing.samples,
                    batch=1_000,
                    method="BCa",
                    rng=np.random.default_rng(testing.seed),
                ).confidence_interval
        return low, high

    def _families(self, first: Rows) -> Iterator[Rows]:
        measure = first // len(self.systems)
        if self.testing.family == "table":
            measure = np.zeros_like(measure)
        for one in np.unique(measure):
            yield np.flatnonzero(measure == one)

    def equivalences(self) -> pl.DataFrame:
        testing, count = self.testing, len(self.systems)
        is_there = testing.against == "best" or testing.against in self.systems
        if testing.equivalence is None or count < 2 or not is_there:
            return pl.DataFrame(schema=TESTED)
        from adducir.statistics.equivalence import Tost, tost, tost_of_runs

        sizes = [len(self.matrix.runs.get(name, ())) for name in self.matrix.systems]
        too_few = [1 < size < FEW_RUNS for size in sizes]
        firsts, seconds, found = list[Rows](), list[Rows](), list[Tost]()
        for measure in self.tested:
            target = int(np.argmax(self.leads[measure]))
            if testing.against != "best":
                target = self.systems.index(testing.against)
            others = [
                row for row in range(count) if row != target and not too_few[row] | too_few[target]
            ]
            if not others:
                continue
            first = measure * count + np.array(others, dtype=np.intp)
            second = np.full_like(first, measure * count + target)
            side = "upper" if self.falls[measure] else "lower"
            options: dict[str, Any] = {
                "test": testing.equivalence_test,
                "side": side if testing.non_inferiority else "both",
            }
            firsts.append(first)
            seconds.append(second)
            if self.matrix.runs:
                found += [
                    tost_of_runs(self._runs(i), self._runs(j), testing.equivalence, **options)
                    for i, j in zip(first, second, strict=True)
                ]
            else:
                pair = self.rows[first], self.rows[second]
                found.append(tost(*pair, testing.equivalence, **options))
        if not firsts:
            return pl.DataFrame(schema=TESTED)
        first, second = np.concatenate(firsts), np.concatenate(seconds)
        p, differing, constant, refused = map(np.concatenate, zip(*found, strict=True))
        correction, corrected = CORRECTIONS.make(testing.equivalence_correction), np.empty_like(p)
        for of in self._families(first):
            corrected[of] = correction.adjusted(p[of])
        return self._framed(
            first,
            second,
            claim="non-inferiority" if testing.non_inferiority else "equivalence",
            difference=self.average.ravel()[first] - self.average.ravel()[second],
            p=p,
            p_corrected=corrected,
            verdict="equivalent",
            ties=self.topics - differing,
            method=np.where(refused, "refused", testing.equivalence_test),
            constant=constant,
        )

    def designs(self) -> Iterator[tuple[tuple[str, str], int | str]]:
        wanted = self.testing.topics_for
        for measure in self.tested if wanted is not None else ():
            key = self.name, list(self.matrix.measures)[measure]
            variance = 0.0
            if len(self.systems) > 1:
                variance = error_variance(self.matrix.values[measure])
            try:
                yield key, topics_needed(wanted or 0.0, sqrt(2 * variance), self.testing.alpha)
            except UsageError as error:
                yield key, error.what.rstrip(".")


@dataclass(frozen=True, eq=False)
class Comparison(Framed):
    """All systems on all measures and topic sets.

    Attributes:
        scores: What was compared.
        testing: The settings.
        means: A row per set, system and measure: mean, topics, best (never of a descriptive
            measure), p_best (smallest alpha at which the system leaves the model confidence set).
        tests: A row per tested pair: set, measure, claim ("difference", "equivalence" or
            "non-inferiority"), system, reference, difference (of their means), low and high (its
            interval, uncorrected), statistic, p, p_corrected, verdict ("better" or "worse" in
            quality, "equivalent", or null: also where test and means point in opposite
            directions), effect (Cohen's d_z), wins, ties and losses
            (topics on which the system is better, equal, worse), method (how it was tested;
            "refused" if there was too little to test: p is then null for a difference, 1 for an
            equivalence), constant (whether the difference is the same on every topic).
        designs: By set and measure, how many topics detect a difference of ``topics_for``, or why
            that is unknown.

    Example:
        >>> comparison = ad.compare(ad.evaluate([run], {"1": {"x": 1}}, "RR"))
        >>> comparison.best("RR")
        'cats'
    """

    scores: Scores
    testing: Testing
    means: pl.DataFrame
    tests: pl.DataFrame
    designs: Mapping[tuple[str, str], int | str] = field(default_factory=dict)
    _matrices: Mapping[str, ScoreMatrix] = field(default_factory=dict, repr=False)

    @cached_property
    def systems(self) -> tuple[str, ...]:
        return self.scores.systems

    def matrix(self, topic_set: str) -> ScoreMatrix:
        return self._matrices[topic_set]

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self.scores.measures)

    @typed
    def best(self, measure: str, topic_set: str = "") -> str:
        """The system with the best mean on a measure, the first if tied."""
        best = self.means.filter("best", set=topic_set, measure=measure)["system"]
        if best.is_empty():
            hint = f"Computed: {', '.join(self.measures)} on {self.scores.sets}."
            raise UsageError(f"{measure!r} was not computed on {topic_set!r}.", hint=hint)
        return str(best[0])

    @property
    def references(self) -> tuple[str, ...]:
        return self.systems if self.testing.all_pairs else self.testing.baselines

    @cached_property
    def topics(self) -> dict[str, int]:
        return dict(self.means.select("set", "topics").unique(maintain_order=True).iter_rows())

    def both_ways(self) -> pl.DataFrame:
        found = self.tests.filter(claim="difference")
        turned = found.with_columns(  # 0.0 - x: -x of 0 is -0.0
            system="reference",
            reference="system",
            difference=0.0 - pl.col("difference"),
            low=0.0 - pl.col("high"),
            high=0.0 - pl.col("low"),
            statistic=None,
            effect=0.0 - pl.col("effect"),
            wins="losses",
            losses="wins",
            verdict=pl.col("verdict").replace({"better": "worse", "worse": "better"}),
        )
        return pl.concat([found, turned.select(TESTED.names()).cast(TESTED)])

    def to_polars(self) -> pl.DataFrame:
        """The tests, or the means if nothing was tested."""
        return self.tests if self.tests.height else self.means

    def _repr_html_(self) -> str:
        found = self.to_polars()
        names = ("measure", "system", "reference", "mean", "difference", "p_corrected", "verdict")
        keys = [name for name in names if name in found.columns]
        rows = found.select(keys).head(MOST_ROWS).rows()
        return html_table(f"{len(self.systems)} systems, {found.height} rows", keys, rows)


def compare(
    scores: Scores | Iterable[Scores], testing: Testing | None = None, **settings: Any
) -> Comparison:
    """Test systems for difference and for equivalence on all measures.

    Systems must share topics and measures within each topic set. A set without a baseline is not
    tested against it; a set of one topic is not tested. ``settings`` are fields of :class:`Testing`
    by name, such as ``baseline="bm25"``, instead of ``testing``.
    """
    every = Scores.concat(scores)
    if testing is not None and settings:
        raise UsageError(f"{', '.join(settings)} cannot be given besides `testing`.")
    if testing is None:
        with refusing():
            testing = Testing.model_validate(settings)
    refuse_unless(testing, "`testing`", Testing)
    named = dict.fromkeys(testing.baselines, "baseline")
    named |= {testing.against: "against"} if testing.against != "best" else {}
    for name, key in named.items():
        if name not in every.systems:
            near = get_close_matches(name, every.systems, n=3, cutoff=0.4) or every.systems[:5]
            raise UsageError(
                f"{worded(key)}: {name!r} is not among the systems.",
                hint=f"Did you mean {' or '.join(near)}?",
            )
    each = [SetTests(name, every.matrix(name), testing) for name in every.sets]
    if every.runs:
        for what in testing.refused_for_runs().values():
            raise UsageError(f"{what}.", hint=FOR_RUNS)
    if testing.anything and len(every.systems) > 1 and max(one.topics for one in each) < 2:
        raise UsageError(
            f"a paired test needs at least two topics, not {len(every.qids)}.",
            hint="Compare means without a baseline, or use more topics.",
        )
    means, tests = list[pl.DataFrame](), [pl.DataFrame(schema=TESTED)]
    designs, matrices = dict[tuple[str, str], int | str](), dict[str, ScoreMatrix]()
    for one in each:
        matrices[one.name] = one.matrix
        means.append(one.means())
        tests += [one.differences(), one.equivalences()]
        designs |= one.designs()
    return Comparison(every, testing, pl.concat(means), pl.concat(tests), designs, matrices)
