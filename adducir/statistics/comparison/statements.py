"""What a comparison's footer must say: family, test, correction, alpha, topics."""

from collections.abc import Mapping, Sequence

from adducir.statistics.choices import CorrectionName, FamilyName, TestName
from adducir.statistics.comparison.notes import further_statements
from adducir.statistics.comparison.results import Comparison, EquivalenceTest, Measure, Settings
from adducir.statistics.corrections import CORRECTIONS
from adducir.statistics.equivalence import FEW, Equivalence
from adducir.statistics.outcome import printed_p
from adducir.statistics.tests import TESTS
from adducir.statistics.two_level import FEW_RUNS


def statements(
    comparison: Comparison, names: Mapping[str, str] | None = None, *, several_sets: bool = False
) -> tuple[str, ...]:
    """What a reader must know to judge the marks, as sentences for the footer.

    Args:
        comparison: What was compared, on one topic set.
        names: Printed names of measures, by exact name.
        several_sets: Whether the table has other topic sets as well; each is a family of its own.
    """
    sentences = [f"{comparison.topics} topic{'s' * (comparison.topics != 1)}."]
    sentences += _alone(comparison)
    if any(comparison.tests_in_family.values()):
        sentences.append(_difference_statement(comparison, several_sets))
        if comparison.analyses:
            sentences.append(_analysis_statement(comparison))
    if any(comparison.equivalence_tests_in_family.values()):
        sentences.append(_equivalence_statement(comparison, several_sets))
    if comparison.runs:
        runs = [f"{system} {count}" for system, count in comparison.runs.items()]
        sentences.append(
            f"Runs of a system: {_listed(runs)}. Figures are means over runs; tests and intervals "
            "are over topics and runs (two-level, Cochran)."
        )
        few = [system for system, count in comparison.runs.items() if 1 < count < FEW_RUNS]
        settings = comparison.settings
        if few and (settings.baselines or settings.family == "pairs" or settings.equivalence):
            sentences.append(
                f"Not tested: {_listed(few)}, because two runs do not show how much runs vary. "
                f"Give {FEW_RUNS} or more."
            )
    if comparison.p_best:
        sentences.append(_best_statement(comparison))
        sentences += _undecided(comparison, names or {})
    sentences += _questionable(comparison)
    sentences += [
        f"{system} lacks {len(qids)} of the topics, which count 0: {_listed(qids)}."
        for system, qids in comparison.missing.items()
    ]
    if comparison.degenerate:
        pairs = [f"{t.system} and {t.reference} ({t.measure})" for t in comparison.degenerate]
        sentences.append(
            f"The difference is the same on every topic between {_listed(pairs)}: it has no "
            "variance, and p is that of the exact randomisation test, 2^(1 - topics)."
        )
    sentences += further_statements(comparison)
    return tuple(sentences)


def _alone(comparison: Comparison) -> list[str]:
    """What was asked for and takes two systems, where there is one."""
    settings = comparison.settings
    asked = {
        "difference": bool(settings.baselines) or settings.family == "pairs",
        _claim(settings): settings.equivalence is not None,
        "set of systems that may be the best": settings.best == "set",
    }
    names = [name for name, is_asked in asked.items() if is_asked]
    if len(comparison.systems) > 1 or not names:
        return []
    return [f"There is one system only, and so no {' and no '.join(names)} to test."]


_EQUIVALENCE_TESTS = {
    "t": "{} paired t-test{}",
    "hall": "{} paired t-test{} adjusted for skewness",
}


def _difference_statement(comparison: Comparison, several_sets: bool) -> str:
    """The sentence about the tests of difference."""
    settings = comparison.settings
    who = (
        "of all pairs of systems"
        if settings.family == "pairs"
        else f"against {_listed(settings.baselines)}"
    )
    family = _family(comparison.tests_in_family, settings.family, several_sets)
    drawn = settings.test_kind.draws or settings.correction_kind.draws
    draws = f", {getattr(settings, drawn):,} {drawn}, seed {settings.seed}" if drawn else ""
    return (
        f"{title_of_test(settings.test, of_runs=bool(comparison.runs))}, two-sided, {who}; "
        f"{_corrected(settings.correction)} {family}, alpha = {settings.alpha:g}{draws}."
    )


def _analysis_statement(comparison: Comparison) -> str:
    """The sentence about analyses of variance."""
    systems = len(comparison.systems) - 1
    found = (
        f"{measure} F({systems}, {one.df}) = {one.f:.4g}, {printed_p(one.p)}, shares of the sum of "
        f"squares: systems {one.systems:.3f}, topics {one.topics:.3f}"
        for measure, one in comparison.analyses.items()
    )
    return f"Two-way analysis of variance (systems, topics): {'; '.join(found)}."


def title_of_test(test: TestName, *, of_runs: bool = False) -> str:
    """What a test of difference is called at the start of a sentence.

    Args:
        test: Its kind.
        of_runs: Whether a system has several runs: then there is the two-level t-test alone.
    """
    title = "two-level t-test" if of_runs else TESTS.kind(test).title
    return title[0].upper() + title[1:]


def _equivalence_statement(comparison: Comparison, several_sets: bool) -> str:
    """The sentence about the tests of equivalence."""
    settings = comparison.settings
    whom = "the best system of each measure" if settings.against == "best" else settings.against
    family = _family(comparison.equivalence_tests_in_family, settings.family, several_sets)
    phrase = f"{_corrected(settings.equivalence_correction)} {family}"
    if settings.non_inferiority:
        what = f"Not worse than {whom} by {settings.equivalence:g} or more"
        tests = "one-sided", "s"
    else:
        what = f"Equivalence with {whom} within ±{settings.equivalence:g}"
        tests = "two one-sided", "s (TOST)"
    how = _EQUIVALENCE_TESTS[settings.equivalence_test].format(*tests)
    how = how.replace("paired", "two-level") if comparison.runs else how
    sentence = f"{what}: {how}; {phrase}, alpha = {settings.alpha:g}."
    if settings.against == "best":
        sentence += " Exploratory: the best system was picked by the figures that are tested."
    return sentence


FEW_SAMPLED = 30
"""With so many topics or fewer, the set of best systems is too small more often than alpha says."""


def _best_statement(comparison: Comparison) -> str:
    """The sentence about the set of best systems."""
    settings = comparison.settings
    sentence = (
        "Systems that may be the best: model confidence set (Hansen, Lunde and Nason) of each "
        f"measure, level {100 * (1 - settings.alpha):g}%, {settings.samples:,} samples, seed "
        f"{settings.seed}."
    )
    if comparison.topics > FEW_SAMPLED or all(map(comparison.undecided, comparison.p_best)):
        return sentence
    return (
        f"{sentence} Warning: with {FEW_SAMPLED} topics or fewer it lacks a best system more often "
        "than alpha."
    )


def _undecided(comparison: Comparison, names: Mapping[str, str]) -> list[str]:
    """The measures whose set holds every system, so that none is marked."""
    held = [str(one) for one in comparison.measures if comparison.undecided(one)]
    every = len(held) == len(comparison.p_best) > 1
    what = "every measure" if every else _listed([names.get(one, one) for one in held])
    sentence = (
        f"The set holds every system on {what}: none can be told from the best, or has its mark."
    )
    return [sentence] if held else []


def _questionable(comparison: Comparison) -> list[str]:
    """Where few topics differ: what was not tested, or on too little."""
    sentences = []
    every = [cell.equivalence for cell in comparison.cells.values() if cell.equivalence]
    if refused := [one for one in every if one.tost.method == "refused"]:
        why = f"fewer than {FEW} topics differ"
        if any(one.tost.degenerate and one.tost.differing for one in refused):
            why += " or all differ by the same"
        named = "all pairs" if refused == every else _listed(_similar(refused))
        claim = _claim(comparison.settings)
        sentences.append(f"Not tested for {claim}, because {why}: {named}.")
    if comparison.questionable:
        found = _similar(comparison.questionable)
        sentences.append(
            f"Warning: do not rely on the {_claim(comparison.settings)} of {_listed(found)}: with "
            f"fewer than {FEW} topics that differ the t-test does not hold its level."
        )
    return sentences


def _claim(settings: Settings) -> str:
    return "non-inferiority" if settings.non_inferiority else "equivalence"


def _similar(tests: Sequence[EquivalenceTest]) -> list[str]:
    """The pairs of some equivalence tests, and on how many topics they differ."""
    return [
        f"{one.system} and {one.reference} on {one.measure} ({_how_similar(one.tost)})"
        for one in tests
    ]


def _how_similar(tost: Equivalence) -> str:
    """On how many topics two systems differ."""
    if not tost.differing:
        return f"the same score on all {tost.n} topics"
    if tost.degenerate:
        return f"the same difference on all {tost.n} topics"
    return f"different scores on {tost.differing} of {tost.n} topics only"


def _corrected(correction: CorrectionName) -> str:
    """How p-values were corrected."""
    title = CORRECTIONS.kind(correction).title
    if " " in title:
        return f"corrected by {title} over"
    return f"{title}-corrected over" if title else "no correction for"


def _family(sizes: Mapping[Measure, int], family: FamilyName, several_sets: bool) -> str:
    """Which tests were corrected together, and how many they are."""
    count = max(sizes.values())  # the same for every measure that is tested
    tests = "the one test" if count == 1 else f"the {count} tests"
    if family == "table":
        return f"{tests} of all measures" + (" on each topic set" if several_sets else "")
    return f"{tests} of each measure" + (" and topic set" if several_sets else "")


def _listed(names: Sequence[str], limit: int = 5) -> str:
    """Names joined by commas, the rest counted."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
