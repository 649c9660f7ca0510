"""Topics and runs: by hand, against the t-test, a mixed model of statsmodels, and simulation."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from drawn import holm, of_runs
from scipy import stats
from scipy.optimize import brentq

from adducir.core.errors import UsageError
from adducir.evaluation.scores import Scores, system_of
from adducir.statistics.comparison import compare
from adducir.statistics.equivalence import TwoLevel, tost, tost_of_runs, two_level


def drawn(
    rng: np.random.Generator,
    counts: tuple[int, ...],
    topics: int = 30,
    sd: float = 0.3,
    gaps: tuple[float, ...] = (0.0,) * 9,
) -> list[np.ndarray]:
    """The same of systems of so many runs, whose means lie apart by ``gaps``."""
    topic = rng.normal(0, 1, topics)
    return [
        gap
        + topic
        + rng.normal(0, 0.4, topics)
        + rng.normal(0, sd * (count > 1), (count, 1))
        + rng.normal(0, 0.6, (count, topics))
        for count, gap in zip(counts, gaps, strict=False)
    ]


def test_of_one_run_each_it_is_the_paired_t_test() -> None:
    a, b = np.random.default_rng(1).random((2, 1, 20))
    found, theirs = two_level(a, b), stats.ttest_rel(a[0], b[0])
    assert (found.t, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-12)
    assert found.interval(0.9) == pytest.approx(tuple(theirs.confidence_interval(0.9)), rel=1e-9)


def test_shares_and_quantiles_are_inverse_even_where_one_term_has_all_the_variance() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        runs = int(rng.integers(3, 6))
        parts = 10.0 ** rng.uniform(-30, 0, 3) * np.append(rng.random(2) < 0.7, True)
        degrees = (float(rng.integers(1, 300)), runs - 1.0, runs - 1.0)
        terms = tuple(zip(parts.tolist(), degrees, strict=True))
        t = -(10.0 ** rng.uniform(-6, 6))
        share = TwoLevel(0.0, 1.0, t, 1.0, terms).below(t)
        if share > 1e-90:
            quantile = TwoLevel(0.0, 1.0, t, 1.0, terms).quantile(share)
            assert quantile == pytest.approx(t, rel=1e-6, abs=1e-9)


def test_the_balanced_case_by_hand() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((3, 6)), rng.random((5, 6)) + 0.5
    found = two_level(a, b)
    gap = a.mean(axis=0) - b.mean(axis=0)
    terms = [gap.var(ddof=1) / 6, a.mean(axis=1).var(ddof=1) / 3, b.mean(axis=1).var(ddof=1) / 5]
    assert found.difference == pytest.approx(gap.mean())
    assert found.error == pytest.approx(np.sqrt(sum(terms)))
    weights = np.array(terms) / sum(terms)
    reach = weights @ stats.t.ppf(0.95, [5, 2, 4]) * found.error
    ends = found.difference - reach, found.difference + reach
    assert found.interval(0.9) == pytest.approx(ends)
    # p is where the critical value is the statistic, on either side.
    assert weights @ stats.t.isf(found.p / 2, [5, 2, 4]) == pytest.approx(abs(found.t))


def test_without_variance() -> None:
    found = two_level(np.array([[0.1, 0.2], [0.1, 0.2]]), np.array([[0.1, 0.2]]))
    assert (found.t, found.p) == (0.0, 1.0)
    assert two_level(np.array([[0.3, 0.4]]), np.array([[0.1, 0.2]])).p == 0.5


@pytest.mark.parametrize("test", ["t", "hall"])
@pytest.mark.parametrize("side", ["both", "lower", "upper"])
def test_equivalence_of_one_run_each_is_that_of_topics(test: str, side: str) -> None:
    a, b = np.random.default_rng(7).exponential(1, (2, 1, 40))
    mine, theirs = (one(a, b, 0.4, test=test, side=side) for one in (tost_of_runs, tost))  # type: ignore[operator]
    assert mine.p == pytest.approx(theirs.p, rel=1e-9)
    assert mine.refused == theirs.refused


def test_equivalence_goes_by_the_two_level_error() -> None:
    a, b = drawn(np.random.default_rng(8), (3, 3), topics=60, sd=0.2)
    low, high = two_level(a, b).interval(0.9)  # equivalent exactly where it lies within the band
    edge = brentq(lambda d: tost_of_runs(a, b, d, test="t").p[0] - 0.05, 1e-3, 5.0)
    assert edge == pytest.approx(max(-low, high), rel=1e-6)
    alone = tost(a.mean(axis=0)[None], b.mean(axis=0)[None], 0.5, test="t").p
    assert tost_of_runs(a, b, 0.5).p >= tost_of_runs(a, b, 0.5, test="t").p > alone


def test_in_a_comparison() -> None:
    counts, gaps = (1, 3, 3, 3), (0.0, 0.4, 0.5, 0.1)  # a baseline that is not trained
    runs = drawn(np.random.default_rng(10), counts, sd=0.05, gaps=gaps)
    found = compare(of_runs(runs), baseline="s0", equivalence=0.5, confidence=0.9)
    assert found.scores.runs == {"s1": 3, "s2": 3, "s3": 3}
    assert found.means["mean"].to_list() == pytest.approx([one.mean() for one in runs])
    tests = found.tests.filter(claim="difference")
    expected = [two_level(runs[k], runs[0]) for k in (1, 2, 3)]
    assert tests["p"].to_list() == pytest.approx([one.p for one in expected], rel=1e-12)
    ends = list(zip(tests["low"], tests["high"], strict=True))
    assert np.array(ends) == pytest.approx(np.array([one.interval(0.9) for one in expected]))
    adjusted = holm([one.p for one in expected])
    assert tests["p_corrected"].to_list() == pytest.approx(list(adjusted), rel=1e-9)
    assert set(tests["method"]) == {"two-level"}
    target = int(np.argmax([one.mean() for one in runs]))
    by_hand = tost_of_runs(runs[3], runs[target], 0.5).p[0]
    (mine,) = found.tests.filter(claim="equivalence", system="s3")["p"]
    assert mine == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"test": "sign"}, "sign test"),
        ({"test": "randomisation"}, "randomisation test"),
        ({"correction": "tukey"}, "tukey correction"),
        ({"correction": "maxt"}, "maxt correction"),
        ({"interval": "bootstrap"}, "bootstrap interval"),
        ({"best": "set"}, "set of systems that may be the best"),
        ({"topics_for": 0.1}, "topic set size design"),
    ],
)
def test_what_there_is_not_is_refused_with_its_reason(wrong: dict[str, str], what: str) -> None:
    scores = of_runs(drawn(np.random.default_rng(11), (5, 5)))
    with pytest.raises(UsageError, match=f"{what} is not available"):
        compare(scores, baseline="s0", **wrong)


def test_two_runs_are_not_tested_nor_corrected_for() -> None:
    """The gap is enormous; with two runs it is still not tested."""
    gaps = (0.0, 9.0, 9.0, 9.0)
    runs = drawn(np.random.default_rng(12), (1, 2, 3, 3), sd=0.01, gaps=gaps)
    asked = {"equivalence": 20.0, "against": "s0", "equivalence_test": "t"}
    found = compare(of_runs(runs), baseline="s0", **asked).tests
    tests = found.filter(claim="difference").select("system", "method", "verdict", "p").rows()
    expected = [two_level(runs[k], runs[0]).p for k in (2, 3)]
    assert tests[0] == ("s1", "refused", None, None)
    assert tests[1:] == [
        (f"s{k}", "two-level", "better", pytest.approx(p))
        for k, p in zip((2, 3), expected, strict=True)
    ]
    (corrected,) = found.filter(claim="difference", system="s2")["p_corrected"]
    assert corrected == pytest.approx(holm(expected)[0])
    claims = found.filter(claim="equivalence").select("system", "verdict").rows()
    assert claims == [("s2", "equivalent"), ("s3", "equivalent")]


def test_runs_that_differ_in_their_seed_are_one_system() -> None:
    runs = drawn(np.random.default_rng(5), (3, 3))
    alone = Scores.concat(of_runs(runs))
    named = Scores.concat(
        Scores.of(f"s{k}.seed{n}", alone.qids, ["AP"], run[:, None])
        for k, each in enumerate(runs)
        for n, run in enumerate(each)
    )
    pooled = named.pooled()
    assert pooled.systems == ("s0", "s1")
    assert pooled.matrix().values[0] == pytest.approx(np.array([one.mean(axis=0) for one in runs]))
    expected = compare(alone, baseline="s1").tests
    assert compare(pooled, baseline="s1").tests.equals(expected)
    with pytest.raises(UsageError, match="only in the seed"):
        replace(named, frame=named.frame.filter(run="s0.seed0")).pooled()
    names = ("DeepCT.seed1", "DeepCT-seed=22", "DeepCT seed_3", "DeepCT_Seed4")
    assert {system_of(name) for name in names} == {"DeepCT"}
    assert (system_of("seeded"), system_of("seed1")) == ("seeded", "seed1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topics", "runs", "sd"),
    [(20, 3, 0.0), (20, 3, 0.2), (20, 3, 0.5), (50, 3, 0.5), (20, 5, 0.5), (50, 10, 0.5)],
)
def test_the_chance_of_any_false_difference(topics: int, runs: int, sd: float) -> None:
    """Five equal systems, Holm: four against one of one run, and all pairs; docs/statistics.md."""
    rng, times, false = np.random.default_rng(13), 800, np.zeros(2)
    for _ in range(times):
        systems = drawn(rng, (1, *[runs] * 5), topics=topics, sd=sd)
        against = [two_level(one, systems[0]).p for one in systems[1:5]]
        pairs = [two_level(a, b).p for a, b in combinations(systems[1:], 2)]
        false += [holm(p).min() <= 0.05 for p in (against, pairs)]
    assert (false <= 0.075 * times).all()  # .05, and three standard errors
