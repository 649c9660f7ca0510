"""Several systems of several runs: max-T, the set of best systems, ranks, equivalence."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import over_runs
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.statements import statements
from adducir.statistics.equivalence import tost
from adducir.statistics.equivalence_of_runs import tost_of_runs
from adducir.statistics.joint import Joint
from adducir.statistics.ranking_of_runs import ranking_of_runs
from adducir.statistics.two_level import two_level


def drawn(rng, systems=4, runs=5, topics=30, sd=0.3, gaps=(0.0,) * 9):
    """Scores (R, T) of systems that share topics; runs differ by ``sd``."""
    topic = rng.normal(0, 1, topics)
    return [
        gaps[k]
        + topic
        + rng.normal(0, 0.4, topics)
        + rng.normal(0, sd, (runs, 1))
        + rng.normal(0, 0.6, (runs, topics))
        for k in range(systems)
    ]


def test_errors_of_differences_are_those_of_the_two_level_tests() -> None:
    joint = Joint(drawn(np.random.default_rng(1)), draws=200_000, seed=0)
    for i, j in ((0, 1), (3, 2)):
        variance = joint.covariance[i, i] + joint.covariance[j, j] - 2 * joint.covariance[i, j]
        assert variance == pytest.approx(joint.pair(i, j).error ** 2, rel=1e-12)
        gap = joint.drawn[i] - joint.drawn[j]
        assert gap.std() == pytest.approx(joint.pair(i, j).error, rel=0.01)


def test_max_t_is_the_multivariate_t_of_scipy() -> None:
    """With one run each all degrees of freedom are one, and the distribution is known."""
    scores = drawn(np.random.default_rng(2), systems=3, runs=1, gaps=(0.0, 0.25, 0.3))
    joint = Joint(scores, draws=200_000, seed=0)
    pairs = [joint.pair(k, 0) for k in (1, 2)]
    found = joint.step_down([1, 2], [0, 0])
    c, errors = joint.covariance, [one.error for one in pairs]
    between = c[1, 2] - c[1, 0] - c[2, 0] + c[0, 0]
    correlation = between / (errors[0] * errors[1])
    law = stats.multivariate_t(shape=[[1, correlation], [correlation, 1]], df=29, seed=1)
    larger = max(abs(one.t) for one in pairs)
    box = law.cdf([larger] * 2, lower_limit=[-larger] * 2)
    first, second = sorted(found)
    assert first == pytest.approx(1 - box, abs=0.002)
    assert second == pytest.approx(max(one.p for one in pairs), abs=0.004)  # alone
    assert first < 2 * min(one.p for one in pairs)  # Holm's


def test_max_t_with_degrees_of_freedom_of_each_pair_by_plain_draws() -> None:
    runs = drawn(np.random.default_rng(3), systems=3, gaps=(0.0, 0.5, 0.9))
    joint = Joint(runs, draws=100_000, seed=0)
    first, second = [1, 2, 2], [0, 0, 1]
    pairs = [joint.pair(i, j) for i, j in zip(first, second, strict=True)]
    rng = np.random.default_rng(9)
    z = rng.multivariate_normal(np.zeros(3), joint.covariance, 200_000)
    gaps = [
        abs(z[:, i] - z[:, j]) / one.error for i, j, one in zip(first, second, pairs, strict=True)
    ]
    wanted, left, reached = {}, [0, 1, 2], 0.0
    for k in sorted(range(3), key=lambda k: pairs[k].p):
        u = rng.chisquare(pairs[k].df, 200_000) / pairs[k].df
        largest = np.max([gaps[one] for one in left], axis=0)
        reached = max(reached, (largest / np.sqrt(u) >= abs(pairs[k].t)).mean())
        wanted[k] = reached
        left.remove(k)
    assert len({round(one.df) for one in pairs}) > 1
    assert joint.step_down(first, second) == pytest.approx([wanted[k] for k in range(3)], abs=0.004)


def test_pairs_without_variance() -> None:
    base = np.repeat(np.random.default_rng(4).random((1, 8)), 2, axis=0)
    joint = Joint([base, base, base + 0.1], draws=1000, seed=0)
    p = joint.step_down([1, 2], [0, 0])
    assert p.tolist() == [1.0, 2 * 2.0**-7]


def test_the_set_of_best_systems() -> None:
    rng = np.random.default_rng(5)
    two = drawn(rng, systems=2, gaps=(0.0, 0.3))
    found = ranking_of_runs(two, samples=2000)
    alone = two_level(*two)
    loser = 0 if alone.difference < 0 else 1
    assert found.p_best[loser] == pytest.approx(alone.p, abs=1e-3)
    assert found.p_best[1 - loser] == 1.0
    several = drawn(rng, gaps=(0.0, 1.2, 1.3, -0.5), sd=0.05)
    found = ranking_of_runs(several, samples=2000)
    assert found.best.tolist() == [False, True, True, False]
    turned = ranking_of_runs([-one for one in several], samples=2000, lower_is_better=True)
    assert turned.p_best.tolist() == found.p_best.tolist()
    assert turned.low.tolist() == found.low.tolist()
    # p of the first step is that of its pair among all pairs; the steps are monotone.
    joint = Joint(several, draws=2000, seed=0)
    first, second = np.triu_indices(4, 1)
    assert found.p_best.min() == pytest.approx(joint.step_down(first, second).min(), abs=1e-12)
    significant = joint.step_down(first, second) <= 0.05
    better = sum(
        s and joint.means[i] < joint.means[j] if i == 0 else s and j == 0
        for s, i, j in zip(significant, first, second, strict=True)
        if 0 in (i, j)
    )
    assert found.surely_low[0] == 1 + better
    assert (found.surely_low <= found.rank).all()
    assert (found.rank <= found.surely_high).all()
    assert (found.low <= found.high).all()


def test_runs_that_differ_keep_a_system_in_the_set() -> None:
    """On the means alone the difference is clear; runs differ by as much."""
    rng = np.random.default_rng(6)
    runs = drawn(rng, systems=2, runs=3, topics=100, sd=0.0)
    shifts = np.array([0.0, 0.4, 0.8])[:, None]
    runs = [runs[0] + shifts - 0.1, runs[1] + shifts + 0.3]
    assert stats.ttest_rel(runs[0].mean(axis=0), runs[1].mean(axis=0)).pvalue < 1e-4
    assert ranking_of_runs(runs, samples=500).best.all()


@pytest.mark.parametrize("test", ["t", "hall"])
@pytest.mark.parametrize("side", ["both", "lower", "upper"])
def test_equivalence_of_one_run_each_is_that_of_topics(test, side) -> None:
    a, b = np.random.default_rng(7).exponential(1, (2, 40))
    mine, theirs = (one(a, b, 0.4, test=test, side=side) for one in (tost_of_runs, tost))
    assert (mine.p, mine.p_lower) == pytest.approx((theirs.p, theirs.p_lower), rel=1e-9)
    assert (mine.method, mine.differing) == (theirs.method, theirs.differing)


def test_equivalence_goes_by_the_two_level_error() -> None:
    runs = drawn(np.random.default_rng(8), systems=2, runs=3, topics=60, sd=0.2)
    found, alone = two_level(*runs), tost_of_runs(*runs, 0.5, test="t")
    for p, gap in (
        (alone.p_lower, found.difference + 0.5),
        (alone.p_upper, 0.5 - found.difference),
    ):
        assert p == pytest.approx(stats.t.sf(gap / found.error, found.df), rel=1e-9)
    low, high = found.interval(0.9)  # equivalent exactly where it lies within the band
    edge = brentq(lambda d: tost_of_runs(*runs, d, test="t").p - 0.05, 1e-3, 5.0)
    assert edge == pytest.approx(max(-low, high), rel=1e-6)
    assert alone.p > tost(runs[0].mean(axis=0), runs[1].mean(axis=0), 0.5, test="t").p
    assert tost_of_runs(*runs, 0.5).p >= alone.p


def test_equivalence_is_refused_where_topics_are_too_few() -> None:
    a = np.zeros((3, 40))
    b = a.copy()
    b[:, :14] = np.random.default_rng(9).random((3, 14))
    assert (tost_of_runs(a, b, 0.9).method, tost_of_runs(a, b, 0.9).p) == ("refused", 1.0)
    assert tost_of_runs(a, b, 0.9, test="t").questionable
    assert tost_of_runs(a, a, 0.9, test="t").p == 1.0
    with pytest.raises(UsageError, match="no exact test"):
        tost_of_runs(a, b, 0.9, test="exact")
    with pytest.raises(UsageError, match="above 0"):
        tost_of_runs(a, b, 0.0)


def scores_of(runs, measures="AP"):
    names, qids = tuple(parse_measures(measures)), tuple(map(str, range(runs[0].shape[1])))
    return [
        over_runs(
            f"s{k}",
            [
                Scores(f"s{k}.seed{n}", qids, names, np.repeat(run[:, None], len(names), axis=1))
                for n, run in enumerate(one)
            ],
        )
        for k, one in enumerate(runs)
    ]


def test_in_a_comparison() -> None:
    rng = np.random.default_rng(10)
    runs = drawn(rng, runs=3, gaps=(0.0, 0.4, 0.5, 0.1), sd=0.05)
    runs[0] = runs[0][:1]  # a baseline that is not trained
    options = {"correction": "maxt", "equivalence": 0.5, "best": "set", "permutations": 5000}
    found = compare(scores_of(runs), baseline="s0", samples=1500, **options)
    (measure,) = found.measures
    joint = Joint(runs, draws=5000, seed=0)
    wanted = joint.step_down([1, 2, 3], [0, 0, 0])
    cells = [found.cell(f"s{k}", measure) for k in range(4)]
    assert [one.test.p_corrected for one in cells[1:]] == pytest.approx(list(wanted), abs=1e-12)
    ranked = ranking_of_runs(runs, samples=1500)
    assert [one.best for one in cells] == ranked.best.tolist()
    target = int(np.argmax(joint.means))
    by_hand = tost_of_runs(runs[3], runs[target], 0.5)
    assert cells[3].equivalence.tost.p == pytest.approx(by_hand.p, rel=1e-9)
    footer = " ".join(statements(found))
    assert "Two-level t-test, two-sided, against s0; corrected by step-down max-T" in footer
    assert "5,000 draws, seed 0" in footer
    assert "two one-sided two-level t-tests (TOST) adjusted for skewness" in footer
    assert "1,500 draws of the means over topics and runs" in footer
    assert "two runs say little" not in footer
    # Two measures in one family: the same values twice cost next to nothing.
    both = compare(scores_of(runs, "AP nDCG"), baseline="s0", family="table", **options)
    p = [both.cell("s2", one).test.p_corrected for one in both.measures]
    assert p[0] == p[1]
    assert wanted[1] <= p[0] < 2 * wanted[1]


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"test": "sign"}, "sign test for systems with several runs: it resamples or ranks topics"),
        ({"test": "randomisation"}, "randomisation test"),
        ({"correction": "tukey", "family": "pairs"}, "tukey correction"),
        ({"preset": "tukey-randomised"}, "randomisation test"),
        ({"equivalence": 0.1, "equivalence_test": "exact"}, "exact test of equivalence"),
        ({"interval": "bootstrap"}, "bootstrap interval"),
    ],
)
def test_what_there_is_not_is_refused_with_its_reason(wrong, what) -> None:
    runs = scores_of(drawn(np.random.default_rng(11), systems=2))
    with pytest.raises(UsageError, match=f"no {what}.*few runs at hand"):
        compare(runs, baseline="s0", **wrong)


def test_two_runs_are_warned_of() -> None:
    runs = scores_of(drawn(np.random.default_rng(12), systems=2, runs=2))
    warning = "two runs say little"
    assert warning in " ".join(statements(compare(runs, baseline="s0")))
    assert warning not in " ".join(statements(compare(runs)))


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "sd"), [(3, 0.0), (5, 0.1), (5, 0.5)])
def test_the_chance_of_any_false_difference(runs, sd) -> None:
    rng, false, sets = np.random.default_rng(13), 0, 0
    first, second = np.triu_indices(5, 1)
    for _ in range(600):
        systems = drawn(rng, systems=5, runs=runs, topics=50, sd=sd)
        joint = Joint(systems, draws=1000, seed=0)
        false += bool((joint.step_down(first, second) <= 0.05).any())
        sets += bool(ranking_of_runs(systems, samples=500).best.all())
    assert 6 <= false <= 60  # .01 to .10; see docs/statistics.md
    assert sets >= 540


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "sd"), [(3, 0.0), (5, 0.1)])
def test_false_equivalences_at_the_bound(runs, sd) -> None:
    rng, false = np.random.default_rng(14), np.zeros(2)
    for _ in range(1500):
        gap = 0.3 + 0.5 * (rng.exponential(1, 50) - 1)  # skewed so that t-tests err
        a, b = (
            shift + rng.normal(0, sd, (runs, 1)) + rng.normal(0, 0.2, (runs, 50))
            for shift in (gap, 0.0)
        )
        false += [tost_of_runs(a, b, 0.3, test=test).p < 0.05 for test in ("hall", "t")]
    assert false[0] <= false[1]
    assert 0.005 * 1500 <= false[0] <= 0.085 * 1500
