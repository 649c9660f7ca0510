"""What a comparison's footer must say: family, test, correction, alpha, topics."""

from collections.abc import Mapping, Sequence

from adducir.experiments.comparison.results import Comparison, Measure, Settings
from adducir.experiments.significance.choices import (
    CORRECTION_TITLES,
    TEST_TITLES,
    CorrectionName,
    FamilyName,
)


def statements(comparison: Comparison) -> tuple[str, ...]:
    """What a reader must know to judge the marks, as sentences for the footer."""
    said = [f"{comparison.topics} topic{'s' * (comparison.topics != 1)}."]
    if any(comparison.tests_in_family.values()):
        said.append(_difference_statement(comparison))
    if any(comparison.equivalence_tests_in_family.values()):
        said.append(_equivalence_statement(comparison))
    said += [
        f"{system} lacks {len(qids)} of the topics, which count 0: {_listed(qids)}."
        for system, qids in comparison.missing.items()
    ]
    if comparison.degenerate:
        pairs = [f"{t.system} and {t.reference} ({t.measure})" for t in comparison.degenerate]
        said.append(
            f"The difference is the same on every topic between {_listed(pairs)}: it has no "
            "variance, and p is that of the exact randomisation test, 2^(1 - topics)."
        )
    return tuple(said)


def _difference_statement(comparison: Comparison) -> str:
    """The sentence about the tests of difference."""
    asked = comparison.settings
    who = (
        "of all pairs of systems"
        if asked.family == "pairs"
        else f"against {_listed(asked.baselines)}"
    )
    title = TEST_TITLES[asked.test]
    title = title[0].upper() + title[1:]
    return (
        f"{title}, two-sided, {who}; "
        f"{_correction_phrase(asked.correction, comparison.tests_in_family, asked.family)}, "
        f"alpha = {asked.alpha:g}{_draws(comparison.settings)}."
    )


def _draws(asked: Settings) -> str:
    """Number of draws and seed, where anything was drawn."""
    if asked.test == "randomisation":
        return f", {asked.permutations:,} permutations, seed {asked.seed}"
    if asked.test == "bootstrap":
        return f", {asked.samples:,} samples, seed {asked.seed}"
    return ""


def _equivalence_statement(comparison: Comparison) -> str:
    """The sentence about the tests of equivalence."""
    asked = comparison.settings
    whom = "the best system of each measure" if asked.against == "best" else asked.against
    phrase = _correction_phrase(
        asked.equivalence_correction, comparison.equivalence_tests_in_family, asked.family
    )
    return (
        f"Equivalence with {whom} within ±{asked.equivalence:g}: two one-sided paired "
        f"t-tests (TOST); {phrase}, alpha = {asked.alpha:g}."
    )


def _correction_phrase(
    correction: CorrectionName, sizes: Mapping[Measure, int], family: FamilyName
) -> str:
    """How p-values were corrected, and over which family."""
    count = max(sizes.values())  # the same for every measure that is tested
    tests = f"{count} test" if count == 1 else f"{count} tests"
    whole = "of the whole table" if family == "table" else "of each measure"
    if correction == "none":
        return f"no correction for the {tests} {whole}"
    return f"{CORRECTION_TITLES[correction]}-corrected over the {tests} {whole}"


def _listed(names: Sequence[str], limit: int = 5) -> str:
    """Names joined by commas, the rest counted."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
