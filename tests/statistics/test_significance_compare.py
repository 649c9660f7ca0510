"""Comparisons: families, baselines, verdicts, equivalence, and what a footer must say."""

import csv
import io
from dataclasses import dataclass, field, replace

import ir_measures
import numpy as np
import pytest
from scipy import stats

from adducir.core.errors import UsageError
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.results import Comparison
from adducir.statistics.comparison.statements import statements
from adducir.statistics.corrections import correct
from adducir.statistics.equivalence import tost
from adducir.statistics.tests.randomisation import randomisation
from adducir.tables.builder import Layout, build_table
from adducir.tables.formats import render
from adducir.tables.style import Style

TOPICS = 60
NAMES = ("bm25", "qld", "bm25+rm3", "qld+rm3")


@dataclass(frozen=True)
class Given:
    """Stands in for ``Scores``; it has what the protocol asks for and no more."""

    system: str
    values: np.ndarray
    qids: tuple[str, ...] = tuple(str(q) for q in range(TOPICS))
    measures: tuple[str, ...] = ("AP", "P@5")
    missing: tuple[str, ...] = field(default=())


@pytest.fixture(scope="module")
def systems() -> list[Given]:
    rng = np.random.default_rng(3)
    topic = rng.beta(2, 3, (TOPICS, 1))
    shifts = [(0, 0), (0.01, 0.0), (0.06, 0.03), (-0.08, 0.2)]
    return [
        Given(name, np.clip(topic + shift + rng.normal(0, 0.08, (TOPICS, 2)), 0, 1))
        for name, shift in zip(NAMES, shifts, strict=True)
    ]


def column(systems: list[Given], name: str, measure: str) -> np.ndarray:
    found = next(s for s in systems if s.system == name)
    return found.values[:, found.measures.index(measure)]


def t_of(systems: list[Given], one: str, other: str, measure: str) -> float:
    return stats.ttest_rel(column(systems, one, measure), column(systems, other, measure)).pvalue


def test_each_measure_is_a_family_by_default(systems: list[Given]) -> None:
    found = compare(systems, baseline="bm25")
    assert (found.topics, found.systems, found.measures) == (TOPICS, NAMES, ("AP", "P@5"))
    assert found.tests_in_family == {"AP": 3, "P@5": 3}
    for measure in found.measures:
        p = [t_of(systems, name, "bm25", measure) for name in NAMES[1:]]
        for name, raw, adjusted in zip(NAMES[1:], p, correct(p, "holm"), strict=True):
            test = found.cell(name, measure).test
            assert test.p == pytest.approx(raw, rel=1e-12)
            assert test.p_corrected == pytest.approx(adjusted, rel=1e-12)
            gap = column(systems, name, measure).mean() - column(systems, "bm25", measure).mean()
            assert test.difference == pytest.approx(gap)
            expected = None if adjusted > 0.05 else "better" if gap > 0 else "worse"
            assert test.verdict == found.cell(name, measure).verdict == expected
    verdicts = {found.cell(name, m).verdict for name in NAMES for m in found.measures}
    assert verdicts == {"better", "worse", None}


def test_the_baseline_is_not_a_test(systems: list[Given]) -> None:
    cell = compare(systems, baseline="bm25", equivalence=0.1).cell("bm25", "AP")
    assert (cell.test, cell.tests, cell.verdict) == (None, (), None)
    assert cell.equivalence is not None
    assert np.isfinite(cell.mean)


def test_the_table_can_be_one_family(systems: list[Given]) -> None:
    found = compare(systems, baseline="bm25", family="table", correction="bonferroni")
    assert found.tests_in_family == {"AP": 6, "P@5": 6}
    for cell in found.cells.values():
        if cell.test:
            assert cell.test.p_corrected == pytest.approx(min(1.0, 6 * cell.test.p))


def test_pairs_are_one_family_a_measure(systems: list[Given]) -> None:
    found = compare(systems, family="pairs", correction="bonferroni")
    assert found.tests_in_family == {"AP": 6, "P@5": 6}
    for one in NAMES:
        cell = found.cell(one, "P@5")
        assert [test.reference for test in cell.tests] == [n for n in NAMES if n != one]
        assert cell.test is None
        for other in NAMES:
            if other == one:
                continue
            there, back = cell.against(other), found.cell(other, "P@5").against(one)
            assert (there.system, there.reference) == (one, other)
            assert there.p_corrected == back.p_corrected
            assert there.p == pytest.approx(t_of(systems, one, other, "P@5"), rel=1e-12)
            assert there.difference == -back.difference
            assert there.interval == tuple(-end for end in reversed(back.interval))
            assert {there.verdict, back.verdict} in ({None}, {"better", "worse"})
            assert there.result.statistic == -back.result.statistic
            assert there.effect.wins == back.effect.losses
    with_baseline = compare(systems, family="pairs", baseline="qld")
    assert with_baseline.cell("bm25", "AP").test.reference == "qld"
    assert with_baseline.cell("bm25", "AP").tests[0].reference == "qld"


def test_corrected_values_decide_and_alpha_belongs_to_the_rejection(systems: list[Given]) -> None:
    test = compare(systems, baseline="bm25", correction="bonferroni").cell("bm25+rm3", "AP").test
    between = (test.p + test.p_corrected) / 2
    for correction, alpha, verdict in (
        ("bonferroni", between, None),
        ("none", between, "better"),
        ("bonferroni", test.p_corrected, "better"),
    ):
        found = compare(systems, baseline="bm25", correction=correction, alpha=alpha)
        assert found.cell("bm25+rm3", "AP").verdict == verdict
    tost_found = compare(systems, equivalence=0.1, correction="bonferroni")
    test = tost_found.cell("bm25", "AP").equivalence
    between = (test.tost.p + test.p_corrected) / 2
    for correction, equivalent in (("bonferroni", False), ("none", True)):
        found = compare(systems, equivalence=0.1, correction=correction, alpha=between)
        assert found.cell("bm25", "AP").equivalent is equivalent


def test_two_baselines_are_tested_against_each_other_once(systems: list[Given]) -> None:
    found = compare(systems, baseline=["bm25", "qld"], correction="bonferroni")
    assert found.baselines == ("bm25", "qld")
    assert found.tests_in_family["AP"] == 5
    assert [t.reference for t in found.cell("qld+rm3", "AP").tests] == ["bm25", "qld"]
    there, back = found.cell("qld", "AP"), found.cell("bm25", "AP")
    assert there.test.reference == "bm25"
    assert back.test is None
    assert back.against("qld").p_corrected == there.against("bm25").p_corrected
    assert back.against("qld").effect.relative == pytest.approx(back.mean / there.mean - 1)


def test_relabelled_family_gives_the_same_corrected_values(systems: list[Given]) -> None:
    there = compare(systems, baseline="bm25", correction="bh")
    back = compare(systems[::-1], baseline="bm25", correction="bh")
    for key, cell in there.cells.items():
        if cell.test:
            assert back.cells[key].test.p_corrected == pytest.approx(cell.test.p_corrected)


def test_equivalence_is_tested_with_the_best_of_each_measure(systems: list[Given]) -> None:
    found = compare(systems, equivalence=0.1, alpha=0.05, equivalence_correction="none")
    best = {"AP": "bm25+rm3", "P@5": "qld+rm3"}
    for measure, name in best.items():
        assert found.best(measure) == name
        assert found.cell(name, measure).equivalence is None
        assert found.cell(name, measure).best
        for other in NAMES:
            if other == name:
                continue
            test = found.cell(other, measure).equivalence
            expected = tost(column(systems, other, measure), column(systems, name, measure), 0.1)
            assert (test.reference, test.tost) == (name, expected)
            assert test.equivalent == (expected.p < 0.05)
    marks = [c.equivalent for c in found.cells.values() if c.equivalence]
    assert set(marks) == {True, False}
    assert found.tests_in_family == {"AP": 0, "P@5": 0}


def test_equivalence_marks_are_corrected_like_the_others_by_default(systems: list[Given]) -> None:
    found = compare(systems, baseline="bm25", equivalence=0.1, against="bm25")
    tests = [found.cell(name, "AP").equivalence for name in NAMES[1:]]
    adjusted = correct([test.tost.p for test in tests], "holm")
    assert [test.p_corrected for test in tests] == adjusted.tolist()
    assert found.equivalence_tests_in_family == {"AP": 3, "P@5": 3}
    assert found.cell("bm25", "AP").equivalence is None


def test_identical_systems_never_bring_nan_into_a_family(systems: list[Given]) -> None:
    twin = Given("twin", systems[0].values)
    for test in ("t", "wilcoxon", "sign", "randomisation"):
        found = compare(
            [*systems, twin], baseline="bm25", test=test, equivalence=0.1, permutations=500
        )
        alone = compare(systems, baseline="bm25", test=test, permutations=500)
        cell = found.cell("twin", "AP")
        assert (cell.test.p, cell.test.p_corrected, cell.verdict) == (1.0, 1.0, None)
        assert cell.test.effect.ties == TOPICS
        everything = [c.test.p_corrected for c in found.cells.values() if c.test]
        assert np.isfinite(everything).all()
        assert found.cell("qld", "AP").test.p == alone.cell("qld", "AP").test.p
    assert compare([systems[0], twin], equivalence=0.1).cell("twin", "AP").equivalent is False


def test_equal_means_are_all_best_and_the_first_is_the_reference(systems: list[Given]) -> None:
    twin = Given("twin", systems[2].values)
    found = compare([*systems, twin], equivalence=0.1)
    assert found.cell("twin", "AP").best
    assert found.cell("bm25+rm3", "AP").best
    assert found.best("AP") == "bm25+rm3"
    assert found.cell("twin", "AP").equivalence.tost.method == "refused"


def test_a_constant_difference_is_named_in_the_footer(systems: list[Given]) -> None:
    shifted = Given("shifted", systems[0].values + 0.05)
    found = compare([*systems, shifted], baseline="bm25", family="pairs")
    assert {(t.system, t.reference) for t in found.degenerate} <= {
        ("shifted", "bm25"),
        ("bm25", "shifted"),
    }
    assert len(found.degenerate) == 2  # one for each measure
    assert any("same on every topic" in message for message in statements(found))
    assert not compare(systems, baseline="bm25").degenerate


def test_less_can_be_better(systems: list[Given]) -> None:
    usual = compare(systems, baseline="bm25", equivalence=0.1)
    turned = compare(systems, baseline="bm25", equivalence=0.1, lower_is_better=["AP"])
    assert usual.cell("bm25+rm3", "AP").verdict == "better"
    assert turned.cell("bm25+rm3", "AP").verdict == "worse"
    assert turned.cell("qld+rm3", "AP").verdict == "better"
    assert turned.best("AP") == "qld+rm3"
    assert turned.best("P@5") == usual.best("P@5")


def test_descriptive_measures_are_shown_and_not_tested(systems: list[Given]) -> None:
    measures = (ir_measures.AP, ir_measures.Judged @ 5)
    given = [Given(s.system, s.values, measures=measures) for s in systems]
    found = compare(given, baseline="bm25", equivalence=0.1, family="table")
    cell = found.cell("qld+rm3", ir_measures.Judged @ 5)
    assert (cell.test, cell.equivalence, cell.best) == (None, None, False)
    assert cell.mean == pytest.approx(systems[3].values[:, 1].mean())
    assert found.tests_in_family == {ir_measures.AP: 3}
    with pytest.raises(KeyError):
        found.best(ir_measures.Judged @ 5)
    arguments = compare(given, baseline="bm25", family="table", descriptive=())
    assert arguments.tests_in_family[ir_measures.AP] == 6
    named = compare(given, baseline="bm25", descriptive=["AP"])
    assert named.tests_in_family == {ir_measures.Judged @ 5: 3}


def test_intervals_are_of_the_kind_and_level_asked_for(systems: list[Given]) -> None:
    a, b = column(systems, "qld", "AP"), column(systems, "bm25", "AP")
    usual = compare(systems, baseline="bm25", alpha=0.01).cell("qld", "AP").test
    ends = stats.ttest_rel(a, b).confidence_interval(0.99)
    assert usual.interval == pytest.approx(tuple(ends), rel=1e-10)
    found = compare(
        systems, baseline="bm25", confidence=0.9, interval="bootstrap", samples=999, seed=4
    )
    test = found.cell("qld", "AP").test
    expected = stats.bootstrap(
        (a - b,), np.mean, confidence_level=0.9, n_resamples=999, rng=np.random.default_rng(4)
    ).confidence_interval
    assert test.interval == pytest.approx(tuple(expected), rel=1e-12)
    assert test.effect.level == 0.9


def test_the_seed_determines_what_is_drawn(systems: list[Given]) -> None:
    def figures(seed: int) -> Comparison:
        return compare(systems, baseline="bm25", test="randomisation", permutations=999, seed=seed)

    assert figures(1).cells == figures(1).cells
    assert figures(1).cells != figures(2).cells
    single = randomisation(
        column(systems, "qld", "AP"), column(systems, "bm25", "AP"), permutations=999, seed=1
    )
    assert figures(1).cell("qld", "AP").test.result == single


def test_topics_and_measures_are_aligned_by_name(systems: list[Given]) -> None:
    other = systems[2]
    turned = Given(other.system, other.values[::-1, ::-1], other.qids[::-1], other.measures[::-1])
    expected = compare(systems, baseline="bm25").cells
    found = compare([*systems[:2], turned, systems[3]], baseline="bm25").cells
    for key, cell in expected.items():
        assert found[key].mean == cell.mean
        assert (found[key].test and found[key].test.p) == (cell.test and cell.test.p)


def test_the_footer_states_what_a_reader_must_know(systems: list[Given]) -> None:
    lacking = Given("short", systems[0].values * 0.9, missing=tuple("1234567"))
    found = compare(
        [*systems, lacking],
        baseline="bm25",
        test="randomisation",
        permutations=1000,
        seed=12,
        equivalence=0.1,
        equivalence_correction="none",
    )
    assert found.missing == {"short": tuple("1234567")}
    assert statements(found) == (
        "60 topics.",
        "Fisher's paired randomisation test, two-sided, against bm25; Holm-corrected over the "
        "4 tests of each measure, alpha = 0.05, 1,000 permutations, seed 12.",
        "Equivalence with the best system of each measure within ±0.1: two one-sided paired "
        "t-tests (TOST) adjusted for skewness; no correction for the 4 tests of each measure, "
        "alpha = 0.05. Exploratory: the best system was picked by the figures that are tested.",
        "short lacks 7 of the topics, which count 0: 1, 2, 3, 4, 5 and 2 more.",
    )
    table = compare(systems, baseline=["bm25", "qld"], family="table", correction="bh")
    assert statements(table)[1] == (
        "Paired t-test, two-sided, against bm25, qld; Benjamini-Hochberg-corrected over the "
        "10 tests of all measures, alpha = 0.05."
    )
    pairs = compare(systems[:2], family="pairs", correction="none", test="sign")
    assert statements(pairs)[1] == (
        "Sign test, two-sided, of all pairs of systems; no correction for the one test of each "
        "measure, alpha = 0.05."
    )
    assert statements(compare(systems)) == ("60 topics.",)


def test_a_p_of_exactly_alpha_is_significant_and_equivalent(systems: list[Given]) -> None:
    """One rule everywhere: p <= alpha."""
    asked = {"baseline": "bm25", "equivalence": 0.1, "against": "bm25", "correction": "none"}
    found = compare(systems, **asked)
    cell = found.cell("qld", "AP")
    at = compare(systems, **asked, alpha=cell.test.p).cell("qld", "AP")
    assert at.verdict is not None
    at = compare(systems, **asked, alpha=cell.equivalence.tost.p).cell("qld", "AP")
    assert at.equivalent
    below = float(np.nextafter(cell.equivalence.tost.p, 0))
    assert not compare(systems, **asked, alpha=below).cell("qld", "AP").equivalent


def test_equivalence_with_whoever_is_best_is_said_to_be_exploratory(systems: list[Given]) -> None:
    picked = build_table(compare(systems, equivalence=0.1))
    named = build_table(compare(systems, equivalence=0.1, against="bm25"))
    for kind in ("terminal", "markdown", "latex", "html", "json"):
        assert "xploratory" in render(picked, kind)
        assert "xploratory" not in render(named, kind)
    for table, said in ((picked, {"true", ""}), (named, {""})):
        lines = csv.DictReader(io.StringIO(render(table, "csv")))
        assert {line["exploratory"] for line in lines} == said


def test_no_p_is_printed_as_zero() -> None:
    rng = np.random.default_rng(1)
    base = rng.random(60)
    scores = [Given("low", base[:, None]), Given("high", (base + 5 + rng.random(60))[:, None])]
    scores = [replace(one, measures=("AP",)) for one in scores]
    found = compare(scores, baseline="low", equivalence=50.0, against="low")
    assert 0 < found.cell("high", "AP").test.p < 1e-20
    style = Style(details=("p", "p_corrected", "equivalence_p"))
    table = build_table(found, layout=Layout(style=style))
    for kind, small in (("terminal", "<0.001"), ("markdown", r"\<0.001"), ("html", "&lt;0.001")):
        text = render(table, kind)
        assert text.count(small) == 3
        assert kind == "html" or "0.000" not in text
    assert r"\textless{}0.001" in render(table, "latex")
    (line,) = (one for one in csv.DictReader(io.StringIO(render(table, "csv"))) if one["p"])
    assert float(line["p"]) == found.cell("high", "AP").test.p
    pairs = compare(scores, family="pairs", correction="tukey")
    assert any("p < .001" in one for one in statements(pairs))


def test_one_topic_is_enough_for_means_only(systems: list[Given]) -> None:
    single = [Given(s.system, s.values[:1], ("1",)) for s in systems]
    assert statements(compare(single)) == ("1 topic.",)
    assert compare(single[:1], equivalence=0.1, baseline="bm25").cell("bm25", "AP").best
    for test in ("t", "randomisation"):
        with pytest.raises(UsageError, match=r"at least two topics.*AP"):
            compare(single, baseline="bm25", test=test)


def test_systems_that_do_not_fit_together_are_refused(systems: list[Given]) -> None:
    first, second = systems[:2]
    other_topics = Given("qld", second.values, tuple(str(q + 1) for q in range(TOPICS)))
    with pytest.raises(UsageError, match=r"bm25 and qld have different topics.*\(0\).*\(60\)"):
        compare([first, other_topics])
    fewer = Given("qld", second.values[:, :1], measures=("AP",))
    with pytest.raises(UsageError, match=r"bm25 has 1 measures that the other lacks \(P@5\)"):
        compare([first, fewer])
    with pytest.raises(UsageError, match="more than one system is called bm25"):
        compare([first, first])
    with pytest.raises(UsageError, match="no system"):
        compare([])
    with pytest.raises(UsageError, match="shape"):
        compare([Given("x", second.values[:-1])])
    broken = second.values.copy()
    broken[7, 1] = np.nan
    with pytest.raises(UsageError, match="qld has no number for P@5 on topic 7, but nan"):
        compare([first, Given("qld", broken)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"baseline": "bm52"}, "Did you mean bm25"),
        ({"baseline": ["bm25", "x"]}, "'x' is not among"),
        ({"against": "bst", "equivalence": 0.1}, "equivalent"),
        ({"test": "anova"}, "no significance test 'anova'. Choose one of t, wilcoxon"),
        ({"correction": "sidak"}, "there is no correction"),
        ({"family": "all"}, "unknown family"),
        ({"interval": "normal"}, "unknown interval"),
        ({"alpha": 5.0}, "alpha"),
        ({"confidence": 95.0}, "confidence"),
        ({"equivalence": 0.0}, "above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(
    systems: list[Given], arguments: dict, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        compare(systems, **{"baseline": "bm25", **arguments})
