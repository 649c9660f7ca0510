"""Comparisons: families, baselines, verdicts, intervals, equivalence with the best."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from drawn import compared, holm, scores_of
from scipy import stats

from adducir.core.errors import UsageError
from adducir.evaluation.measures import NamedMeasure
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison import Comparison, compare
from adducir.statistics.equivalence import tost
from adducir.statistics.settings import TESTS

TOPICS = 60
NAMES = ("bm25", "qld", "bm25+rm3", "qld+rm3")
MEASURES = ("AP", "P@5")


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(3)
    topic = rng.beta(2, 3, (TOPICS, 1))
    shifts = [(0, 0), (0.01, 0.0), (0.06, 0.03), (-0.08, 0.2)]
    return np.array([np.clip(topic + s + rng.normal(0, 0.08, (TOPICS, 2)), 0, 1) for s in shifts])


@pytest.fixture(scope="module")
def systems(values: np.ndarray) -> list[Scores]:
    return scores_of(values, names=NAMES)


def column(values: np.ndarray, system: str, measure: str) -> np.ndarray:
    return values[NAMES.index(system), :, MEASURES.index(measure)]


def row_of(found: Comparison, system: str, measure: str, **where: str) -> dict[str, Any]:
    where = {"claim": "difference"} | where
    return found.tests.row(
        by_predicate=pl.all_horizontal(
            pl.col("system") == system,
            pl.col("measure") == measure,
            *(pl.col(key) == value for key, value in where.items()),
        ),
        named=True,
    )


def test_each_measure_is_a_family_by_default(systems: list[Scores], values: np.ndarray) -> None:
    found = compare(systems, baseline="bm25")
    assert (found.topics, found.systems, found.measures) == ({"": TOPICS}, NAMES, MEASURES)
    for measure in MEASURES:
        base = column(values, "bm25", measure)
        theirs = [stats.ttest_rel(column(values, name, measure), base) for name in NAMES[1:]]
        adjusted = holm([one.pvalue for one in theirs])
        for name, one, p in zip(NAMES[1:], theirs, adjusted, strict=True):
            test, d = row_of(found, name, measure), column(values, name, measure) - base
            assert test["reference"] == "bm25"
            assert test["statistic"] == pytest.approx(one.statistic, rel=1e-12)
            assert test["p"] == pytest.approx(one.pvalue, rel=1e-12)
            assert test["p_corrected"] == pytest.approx(p, rel=1e-12)
            assert test["difference"] == pytest.approx(d.mean())
            ends = tuple(one.confidence_interval(0.95))
            assert (test["low"], test["high"]) == pytest.approx(ends, rel=1e-10)
            assert test["effect"] == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-12)
            counts = (d > 1e-9).sum(), (abs(d) <= 1e-9).sum(), (d < -1e-9).sum()
            assert (test["wins"], test["ties"], test["losses"]) == counts
            expected = None if p > 0.05 else "better" if d.mean() > 0 else "worse"
            assert test["verdict"] == expected
    assert found.tests["system"].to_list() == [*NAMES[1:], *NAMES[1:]]
    assert set(found.tests["verdict"]) == {"better", "worse", None}


@pytest.mark.parametrize("test", ["sign", "wilcoxon"])
def test_no_verdict_contradicts_the_mean_or_the_test(test: str) -> None:
    new = [-0.001 * (n % 9 + 1) for n in range(34)] + [0.45] * 6
    (row,) = compared([[0.5] * 40, np.add(0.5, new)], baseline="s0", test=test).tests.rows(
        named=True
    )
    assert (row["wins"], row["losses"], row["verdict"]) == (6, 34, None)
    assert row["p"] < 0.05 and row["difference"] > 0
    ties = np.add(0.5, [-0.001 * n for n in range(1, 23)] + [0.4] * 20 + [0.0] * 958)
    found = compared([[0.5] * 1000, ties], baseline="s0", test="wilcoxon")
    assert found.tests["verdict"].to_list() == ["better"]


def test_means_say_which_is_best(systems: list[Scores], values: np.ndarray) -> None:
    found = compare(systems)
    assert found.tests.height == 0
    assert found.means["mean"].to_list() == pytest.approx(values.mean(axis=1).ravel(), rel=1e-12)
    assert found.means["topics"].to_list() == [TOPICS] * 8
    tops = found.means.filter("best").select("system", "measure").rows()
    assert tops == [("bm25+rm3", "AP"), ("qld+rm3", "P@5")]
    assert [found.best(measure) for measure in MEASURES] == ["bm25+rm3", "qld+rm3"]
    near = replace(systems[2], frame=systems[2].frame.with_columns(pl.col("value") * (1 - 1e-15)))
    twin = compare([*systems, near.renamed("twin")])
    assert set(twin.means.filter("best", measure="AP")["system"]) == {"bm25+rm3", "twin"}
    assert twin.best("AP") == "bm25+rm3"


def test_all_pairs_are_tested_once_and_seen_from_both_sides(
    systems: list[Scores], values: np.ndarray
) -> None:
    found = compare(systems, comparisons="all-pairs", correction="bonferroni")
    assert found.tests.height == 12
    both = found.both_ways()
    assert both.height == 24
    for one in NAMES:
        for other in NAMES:
            if one == other:
                continue
            there = both.row(by_predicate=_pair(one, other, "P@5"), named=True)
            back = both.row(by_predicate=_pair(other, one, "P@5"), named=True)
            p = stats.ttest_rel(column(values, one, "P@5"), column(values, other, "P@5")).pvalue
            assert there["p"] == pytest.approx(p, rel=1e-12)
            assert there["p_corrected"] == back["p_corrected"] == pytest.approx(min(1, 6 * p))
            assert there["difference"] == -back["difference"]
            assert (there["low"], there["high"]) == (-back["high"], -back["low"])
            assert (there["wins"], there["effect"]) == (back["losses"], -back["effect"])
            assert {there["verdict"], back["verdict"]} in ({None}, {"better", "worse"})


def _pair(system: str, reference: str, measure: str) -> pl.Expr:
    is_pair = (pl.col("system") == system) & (pl.col("reference") == reference)
    return is_pair & (pl.col("measure") == measure)


def test_equivalence_is_tested_with_the_best_of_each_measure(
    systems: list[Scores], values: np.ndarray
) -> None:
    found = compare(systems, equivalence=0.1).tests
    for measure, best in (("AP", "bm25+rm3"), ("P@5", "qld+rm3")):
        part = found.filter(measure=measure)
        assert part["system"].to_list() == [name for name in NAMES if name != best]
        assert set(part["reference"]) == {best}
        rows = [column(values, name, measure)[None] for name in part["system"]]
        p = [float(tost(row, column(values, best, measure)[None], 0.1).p[0]) for row in rows]
        assert part["p"].to_list() == pytest.approx(p, rel=1e-12)
        assert part["p_corrected"].to_list() == pytest.approx(list(holm(p)), rel=1e-12)
        verdicts = ["equivalent" if one <= 0.05 else None for one in holm(p)]
        assert part["verdict"].to_list() == verdicts
    assert set(found["verdict"]) == {"equivalent", None}


def test_identical_systems_never_bring_nan_into_a_family(systems: list[Scores]) -> None:
    twins = [*systems, systems[0].renamed("twin")]
    for test in TESTS.kinds():
        draws = {"permutations": 500} if test == "randomisation" else {}
        found = compare(twins, baseline="bm25", test=test, equivalence=0.1, **draws)
        one = row_of(found, "twin", "AP")
        assert (one["p"], one["p_corrected"], one["verdict"]) == (1.0, 1.0, None)
        assert (one["ties"], one["effect"], one["constant"]) == (TOPICS, 0.0, False)
        assert np.isfinite(found.tests["p_corrected"].to_numpy()).all()
        alone = compare(systems, baseline="bm25", test=test, **draws)
        assert row_of(found, "qld", "AP")["p"] == row_of(alone, "qld", "AP")["p"]
    refused = compare(twins[:1] + twins[-1:], equivalence=0.1).tests
    assert (refused["method"][0], refused["verdict"][0]) == ("refused", None)


def test_a_constant_difference_is_flagged(values: np.ndarray) -> None:
    found = compared(np.stack([values[0], values[0] + 0.05, values[1]]), baseline="s0").tests
    assert found.filter("constant").select("system", "effect").rows() == [("s1", None)] * 2


def test_less_can_be_better(values: np.ndarray) -> None:
    falling = NamedMeasure("lag", lower_is_better=True)
    qids = [str(q) for q in range(TOPICS)]
    scores = [
        Scores.of(name, qids, [falling], one[:, :1])
        for name, one in zip(NAMES, values, strict=True)
    ]
    found = compare(scores, baseline="bm25", equivalence=0.1, against="bm25", non_inferiority=True)
    verdicts = {name: row_of(found, name, "lag")["verdict"] for name in NAMES[1:]}
    assert verdicts == {"qld": None, "bm25+rm3": "worse", "qld+rm3": "better"}
    assert found.best("lag") == "qld+rm3"
    wins = row_of(found, "qld+rm3", "lag")
    assert wins["wins"] > wins["losses"]
    side = row_of(found, "bm25+rm3", "lag", claim="non-inferiority")["p"]
    expected = tost(values[2][None, :, 0], values[0][None, :, 0], 0.1, side="upper").p[0]
    assert side == pytest.approx(expected, rel=1e-12)


def test_descriptive_measures_are_shown_and_not_tested(values: np.ndarray) -> None:
    found = compared(values, "AP Judged@5", baseline="s0", equivalence=0.1, family="table")
    assert set(found.tests["measure"]) == {"AP"}
    shown = found.means.filter(measure="Judged@5")
    assert not shown["best"].any()
    assert shown["mean"].to_list() == pytest.approx(list(values[:, :, 1].mean(axis=1)))


def test_intervals_are_of_the_kind_and_level_asked_for(values: np.ndarray) -> None:
    d = values[1, :, 0] - values[0, :, 0]
    usual = row_of(compared(values, baseline="s0", alpha=0.01), "s1", "AP")
    ends = tuple(stats.ttest_1samp(d, 0).confidence_interval(0.99))
    assert (usual["low"], usual["high"]) == pytest.approx(ends, rel=1e-10)
    drawn = {"confidence": 0.9, "interval": "bootstrap", "samples": 999, "seed": 4}
    found = row_of(compared(values, baseline="s0", **drawn), "s1", "AP")
    rng = np.random.default_rng(4)
    theirs = stats.bootstrap((d,), np.mean, confidence_level=0.9, n_resamples=999, rng=rng)
    ends = tuple(theirs.confidence_interval)
    assert (found["low"], found["high"]) == pytest.approx(ends, rel=1e-12)


def test_sets_of_topics_are_tested_by_themselves(values: np.ndarray) -> None:
    first, second = scores_of(values[:3]), scores_of(values[1:, :40], names=("s1", "s2", "s3"))
    both = [one.in_set("a") for one in first] + [one.in_set("b") for one in second]
    found = compare(both, baseline="s1", family="table")
    for name, alone in (("a", first), ("b", second)):
        expected = compare(alone, baseline="s1", family="table")
        assert found.tests.filter(set=name).drop("set").equals(expected.tests.drop("set"))
        assert found.means.filter(set=name).drop("set").equals(expected.means.drop("set"))
    assert found.topics == {"a": 60, "b": 40}


def test_systems_that_do_not_fit_together_are_refused(
    systems: list[Scores], values: np.ndarray
) -> None:
    others = Scores.of("x", [str(q + 1) for q in range(TOPICS)], MEASURES, values[1])
    alone = systems[1].frame.filter(measure="AP")
    for wrong, what in (
        ([systems[0], others], "unlike another system"),
        ([systems[0], replace(systems[1], frame=alone)], "qld lacks P@5"),
        ([systems[0], systems[0]], "several runs are called bm25"),
        ([], "no systems"),
    ):
        with pytest.raises(UsageError, match=what):
            compare(wrong)
    broken = values.copy()
    broken[1, 7, 1] = np.nan
    with pytest.raises(UsageError, match="s1 has nan for P@5 on topic 7"):
        compared(broken)
    with pytest.raises(UsageError, match="shape"):
        Scores.of("x", ["1"], MEASURES, values[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"baseline": "bm52"}, "Did you mean bm25"),
        ({"baseline": ["bm25", "x"]}, "'x' is not among"),
        ({"against": "bst", "equivalence": 0.1}, "against`: 'bst'"),
        ({"test": "anova"}, "anova"),
        ({"correction": "scheffe"}, "scheffe"),
        ({"family": "all"}, "family"),
        ({"interval": "normal"}, "interval"),
        ({"alpha": 5.0}, "alpha"),
        ({"confidence": 95.0}, "confidence"),
        ({"equivalence": 0.0}, "equivalence"),
        ({"permutations": 99}, "no effect"),
        ({"seed": 1}, "no effect"),
        ({"non_inferiority": True}, "no effect"),
        ({"baseline": None, "test": "sign"}, "no effect"),
    ],
)
def test_what_makes_no_sense_is_refused(
    systems: list[Scores], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        compare(systems, **{"baseline": "bm25", **arguments})
