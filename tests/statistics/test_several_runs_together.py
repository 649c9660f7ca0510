"""Several systems of several runs: equivalence, refusals, and the chance of a false claim."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import brentq

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import over_runs
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.corrections import correct
from adducir.statistics.equivalence import tost
from adducir.statistics.equivalence_of_runs import tost_of_runs
from adducir.statistics.two_level import two_level
from adducir.tables.builder import build_table


def drawn(rng, systems=4, runs=5, topics=30, sd=0.3, gaps=(0.0,) * 9, untrained=False):
    """Scores (R, T) of systems that share topics; runs differ by ``sd``, the first may have one."""
    topic = rng.normal(0, 1, topics)
    return [
        gaps[k]
        + topic
        + rng.normal(0, 0.4, topics)
        + rng.normal(0, sd * (count > 1), (count, 1))
        + rng.normal(0, 0.6, (count, topics))
        for k, count in enumerate([1 if untrained else runs, *[runs] * (systems - 1)])
    ]


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
        assert found.quantile(1 - p) == pytest.approx(gap / found.error, rel=1e-6)
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
    found = compare(scores_of(runs), baseline="s0", equivalence=0.5)
    (measure,) = found.measures
    cells = [found.cell(f"s{k}", measure) for k in range(4)]
    wanted = correct([two_level(runs[k], runs[0]).p for k in (1, 2, 3)], "holm")
    assert [one.test.p_corrected for one in cells[1:]] == pytest.approx(list(wanted), rel=1e-9)
    target = int(np.argmax([one.mean() for one in runs]))
    by_hand = tost_of_runs(runs[3], runs[target], 0.5)
    assert cells[3].equivalence.tost.p == pytest.approx(by_hand.p, rel=1e-9)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"test": "sign"}, "sign test for systems with several runs: it resamples or ranks topics"),
        ({"test": "randomisation"}, "randomisation test"),
        ({"correction": "tukey", "family": "pairs"}, "tukey correction"),
        ({"preset": "tukey-randomised"}, "randomisation test"),
        ({"interval": "bootstrap"}, "bootstrap interval"),
        ({"correction": "maxt"}, "maxt correction"),
        ({"best": "set"}, "set of systems that may be the best"),
    ],
)
def test_what_there_is_not_is_refused_with_its_reason(wrong, what) -> None:
    runs = scores_of(drawn(np.random.default_rng(11), systems=2))
    with pytest.raises(UsageError, match=f"no {what}.*few runs at hand"):
        compare(runs, baseline="s0", **wrong)


def test_two_runs_bear_no_mark() -> None:
    """The gap is enormous; with two runs it is still not tested, nor corrected for."""
    runs = drawn(np.random.default_rng(12), systems=4, runs=3, gaps=(0.0, 9.0, 9.0, 9.0), sd=0.01)
    runs[0], runs[1] = runs[0][:1], runs[1][:2]
    scores = scores_of(runs)
    found = compare(scores, baseline="s0", equivalence=20.0, against="s0", equivalence_test="t")
    (measure,) = found.measures
    assert [found.cell(f"s{k}", measure).verdict for k in (1, 2, 3)] == [None, "better", "better"]
    assert [found.cell(f"s{k}", measure).equivalent for k in (1, 2, 3)] == [None, True, True]
    assert found.tests_in_family == {measure: 2}
    wanted = correct([two_level(runs[k], runs[0]).p for k in (2, 3)], "holm")
    assert found.cell("s2", measure).test.p_corrected == pytest.approx(wanted[0])
    table = build_table(found, scores)
    (versus,) = table.rows[1].cells[0].versus
    assert (versus.verdict, versus.p, versus.p_corrected, versus.ci) == ("none",) + (None,) * 3
    assert versus.difference == found.cell("s1", measure).test.difference
    assert [one for one in table.footer if one.startswith("Not tested: s1,")]
    pairs = compare(scores, family="pairs")
    assert pairs.tests_in_family == {measure: 3}
    assert not any(one.verdict for one in pairs.cell("s1", measure).tests)


@pytest.mark.slow
@pytest.mark.parametrize("topics", [20, 50])
@pytest.mark.parametrize(("runs", "sd"), [(3, 0.0), (3, 0.2), (3, 0.5), (5, 0.5), (10, 0.5)])
def test_the_chance_of_any_false_difference(topics, runs, sd) -> None:
    """Five equal systems, Holm: four against one of one run, and all pairs; docs/statistics.md."""
    rng, times, false = np.random.default_rng(13), 800, np.zeros(2)
    for _ in range(times):
        systems = drawn(rng, systems=6, runs=runs, topics=topics, sd=sd, untrained=True)
        against = [two_level(one, systems[0]).p for one in systems[1:5]]
        pairs = [two_level(a, b).p for a, b in combinations(systems[1:], 2)]
        false += [correct(p, "holm").min() <= 0.05 for p in (against, pairs)]
    assert (false <= 0.075 * times).all()  # .05, and three standard errors


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
