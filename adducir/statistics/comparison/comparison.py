"""Compare systems with baselines, with each other, and with the best.

Families: scope of the multiple-testing correction.

* ``measure``: every system against every baseline, separately for each measure.
* ``table``: the same, over all measures at once.
* ``pairs``: every pair of systems, separately for each measure.

Two baselines are tested against each other once. The equivalence tests are a family of
their own, cut the same way (``table``: all of them; else each measure's) and corrected
in the same way unless ``equivalence_correction`` says otherwise: an equivalence mark is
a claim too, and the chance of a false one grows with the number of marks. Within one
TOST nothing is to be corrected. Only corrected p-values decide marks; with correction,
the agreement with the (1 - 2 alpha) interval therefore holds for the uncorrected p.

Descriptive measures rate no system (share judged, counts of what was retrieved): their
means are shown, they are neither tested nor part of a family.

Which tests to run must be planned before looking at the figures, and on topics that no
parameter was tuned on.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from adducir.core.errors import UsageError
from adducir.core.texts import refuse_text
from adducir.families import family
from adducir.statistics.choices import (
    BESTS,
    DEFAULT_PERMUTATIONS,
    DEFAULT_SAMPLES,
    DEFAULT_SEED,
    EQUIVALENCE_TESTS,
    FAMILIES,
    INTERVALS,
    BestName,
    CorrectionName,
    EquivalenceTestName,
    FamilyName,
    IntervalName,
    PresetName,
    TestName,
)
from adducir.statistics.comparison.cells import Comparing
from adducir.statistics.comparison.lineup import SystemScores, line_up, named
from adducir.statistics.comparison.results import Comparison, Measure, Settings
from adducir.statistics.comparison.runs import FOR_RUNS, refused_for_runs
from adducir.statistics.corrections import for_equivalence, joint_error
from adducir.statistics.effects import check_share
from adducir.statistics.presets import preset_of
from adducir.statistics.tests import TESTS

Choice = TypeVar("Choice", bound=str)


def compare(
    scores: Sequence[SystemScores],
    *,
    baseline: str | Sequence[str] | None = None,
    test: TestName | None = None,
    correction: CorrectionName | None = None,
    preset: PresetName | None = None,
    alpha: float = 0.05,
    family: FamilyName = "measure",
    equivalence: float | None = None,
    against: str = "best",
    equivalence_correction: CorrectionName | None = None,
    equivalence_test: EquivalenceTestName = "hall",
    non_inferiority: bool = False,
    confidence: float | None = None,
    interval: IntervalName = "t",
    best: BestName = "mean",
    seed: int = DEFAULT_SEED,
    permutations: int = DEFAULT_PERMUTATIONS,
    samples: int = DEFAULT_SAMPLES,
    topics_for: float | None = None,
    descriptive: Collection[Measure] | None = None,
    lower_is_better: Collection[Measure] | None = None,
) -> Comparison:
    """Test systems for difference and for equivalence on all measures.

    Args:
        scores: The systems, on the same topics and measures.
        baseline: One or several of their names. None: no test of difference, unless
            ``family`` is ``pairs``.
        test: A kind of ``TESTS``; by default that of the preset, or ``t``.
        correction: A kind of ``CORRECTIONS``; by default that of the preset, or ``holm``.
        preset: A test and a correction by one name, in their place.
        alpha: Level of all tests.
        family: Scope of the multiple-testing correction; see the module.
        equivalence: Half-width of the band of equivalence in units of the measure, fixed
            in advance; None: no test of equivalence.
        against: What equivalence is tested with: ``best``, on each measure the system
            with the best mean (the first given among equals), or a system's name.
        equivalence_correction: Correction of the equivalence tests; None: ``correction``, or
            ``holm`` where that is of tests of difference only.
        equivalence_test: ``hall`` or ``t``: see :mod:`adducir.statistics.equivalence`.
        non_inferiority: Test only that a system is not worse by ``equivalence`` or more.
        confidence: Level of the intervals of differences, which are not corrected; None:
            1 - ``alpha``.
        interval: ``t``, or ``bootstrap`` (BCa, by scipy).
        best: ``set``: mark as well all systems that may be the best (see
            :mod:`adducir.statistics.ranking`), beside those with the best mean.
        seed: Seed of whatever is drawn.
        permutations: Sign vectors of the randomisation test and of ``maxt``.
        samples: Samples of the bootstrap interval and of the set.
        topics_for: A true difference, for the number of topics that it takes to find it.
        descriptive: Measures to show without test; None: those whose kind says that
            they rate no system.
        lower_is_better: Measures on which the lower mean is the better; None: those that say so
            themselves. Measures may be given by name in both.

    Raises:
        UsageError: An unknown choice or name, a number out of range, scores that do not
            fit together, or fewer than two topics where there is something to test.
    """
    lineup = line_up(scores)
    test, correction = preset_of(preset, test, correction)
    TESTS.kind(test)
    why = joint_error(correction, test, family, equivalence_correction)
    if why:
        raise UsageError(f"{why}.", hint="Choose another test or correction.")
    if lineup.runs:
        refused = refused_for_runs(
            test=test,
            correction=correction,
            interval=interval,
            best=best,
            topics_for=topics_for,
        )
        for what in refused.values():
            raise UsageError(f"there is no {what}.", hint=FOR_RUNS)
    baselines = _baselines(baseline, lineup.systems)
    settings = Settings(
        baselines=baselines,
        test=test,
        correction=correction,
        alpha=alpha,
        family=_chosen(family, FAMILIES, "family"),
        equivalence=equivalence,
        against=against,
        equivalence_correction=equivalence_correction or for_equivalence(correction),
        equivalence_test=_chosen(equivalence_test, EQUIVALENCE_TESTS, "equivalence test"),
        non_inferiority=non_inferiority,
        confidence=1 - alpha if confidence is None else confidence,
        interval=_chosen(interval, INTERVALS, "interval"),
        best=_chosen(best, BESTS, "best"),
        seed=seed,
        permutations=permutations,
        samples=samples,
        topics_for=topics_for,
        descriptive=_descriptive(lineup.measures, descriptive),
        lower_is_better=_falling(lineup.measures, lower_is_better),
    )
    check_share(alpha, "alpha")
    check_share(settings.confidence, "the confidence level")
    if topics_for is not None and not topics_for > 0:
        raise UsageError(f"the difference to be found must lie above 0, but is {topics_for}.")
    if against != "best":
        named(against, lineup.systems, "system to be equivalent with")
    return Comparing(lineup, settings).comparison()


def _descriptive(
    measures: Iterable[Measure], chosen: Collection[Measure] | None
) -> frozenset[Measure]:
    """The measures that rate no system: those chosen, else by their names."""
    if chosen is not None:
        return _among(measures, chosen)
    return frozenset(one for one in measures if getattr(_kind(one), "is_descriptive", False))


def _falling(measures: Iterable[Measure], chosen: Collection[Measure] | None) -> frozenset[Measure]:
    """The measures on which the lower mean is the better: those chosen, else what they say."""
    if chosen is not None:
        return _among(measures, chosen)
    return frozenset(
        one
        for one in measures
        if getattr(one, "lower_is_better", getattr(_kind(one), "lower_is_better", False))
    )


def _kind(measure: Measure) -> object:
    """The kind of a measure that is computed by one."""
    kinds, name = family("measures"), str(getattr(measure, "NAME", ""))
    return kinds.kind(name) if name in kinds else None


def _among(measures: Iterable[Measure], chosen: Collection[Measure]) -> frozenset[Measure]:
    """Those of the measures that are chosen, as themselves or by name."""
    refuse_text(chosen, "measures")
    names = {str(measure) for measure in chosen}
    return frozenset(measure for measure in measures if str(measure) in names)


def _chosen(name: Choice, choices: Sequence[str], what: str) -> Choice:
    """The name, or UsageError if it is not a choice."""
    if name not in choices:
        raise UsageError(f"unknown {what} {name!r}.", hint=f"Choose one of {', '.join(choices)}.")
    return name


def _baselines(baseline: str | Sequence[str] | None, systems: Sequence[str]) -> tuple[str, ...]:
    """The baselines without repetition, each known to be a system."""
    requested = () if baseline is None else (baseline,) if isinstance(baseline, str) else baseline
    for name in requested:
        named(name, systems, "baseline")
    return tuple(dict.fromkeys(requested))
