"""Topics and runs: by hand, against the t-test, a mixed model of statsmodels, and simulation."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.evaluation.seeds import pool_seeds, system_of
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.comparison.statements import statements
from adducir.statistics.two_level import two_level


def drawn(rng: np.random.Generator, runs: int, topics: int, sd: float, gap: float = 0.0):
    """Scores (R, T) of two systems that share the topics, with runs that differ by ``sd``."""
    topic = rng.normal(0.4, 0.2, topics)
    return [
        shift
        + topic
        + rng.normal(0, 0.05, topics)
        + rng.normal(0, sd, (runs, 1))
        + rng.normal(0, 0.05, (runs, topics))
        for shift in (gap, 0.0)
    ]


def test_of_one_run_each_it_is_the_paired_t_test() -> None:
    a, b = np.random.default_rng(1).random((2, 20))
    found, theirs = two_level(a, b), stats.ttest_rel(a, b)
    assert (found.t, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-12)
    assert found.interval(0.9) == pytest.approx(tuple(theirs.confidence_interval(0.9)), rel=1e-9)
    assert found.topics == pytest.approx(1.0)


def test_the_balanced_case_by_hand() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((3, 6)), rng.random((5, 6)) + 0.5
    found = two_level(a, b)
    gap = a.mean(axis=0) - b.mean(axis=0)
    terms = [gap.var(ddof=1) / 6, a.mean(axis=1).var(ddof=1) / 3, b.mean(axis=1).var(ddof=1) / 5]
    assert found.difference == pytest.approx(gap.mean())
    assert found.error == pytest.approx(np.sqrt(sum(terms)))
    assert found.topics == pytest.approx(terms[0] / sum(terms))
    weights = np.array(terms) / sum(terms)
    reach = weights @ stats.t.ppf(0.95, [5, 2, 4]) * found.error
    ends = found.difference - reach, found.difference + reach
    assert found.interval(0.9) == pytest.approx(ends)
    # p is where the critical value is the statistic, on either side.
    assert weights @ stats.t.isf(found.p / 2, [5, 2, 4]) == pytest.approx(abs(found.t))
    assert found.below(-found.t) == pytest.approx(1 - found.below(found.t))


def test_two_runs_are_refused() -> None:
    a, b = np.random.default_rng(2).random((2, 3, 6))
    assert (two_level(a[:2], b + 9).p, two_level(a[:2], b + 9).refused) == (1.0, True)
    assert two_level(a, b + 9).p < 0.001


@pytest.mark.slow
def test_the_error_is_that_of_a_mixed_model() -> None:
    a, b = drawn(np.random.default_rng(3), runs=6, topics=15, sd=0.08)
    rows = [
        (s, f"{s}{r}", str(t), f"{s}.{t}", y[r, t])
        for s, y in enumerate((a, b))
        for r in range(6)
        for t in range(15)
    ]
    frame = pd.DataFrame(rows, columns=["system", "run", "topic", "both", "y"])
    model = MixedLM.from_formula(
        "y ~ system",
        frame,
        groups=np.ones(len(frame)),
        re_formula="0",
        vc_formula={"run": "0 + C(run)", "topic": "0 + C(topic)", "both": "0 + C(both)"},
    ).fit()
    found = two_level(a, b)
    assert found.difference == pytest.approx(-model.params["system"], abs=1e-6)
    # The model has one variance of runs and of errors for both systems, where ours has two, and
    # counts what runs and topics do together once.
    twice = sum(y.var(axis=0, ddof=1).mean() - y.mean(axis=1).var(ddof=1) for y in (a, b)) / 90
    assert found.error == pytest.approx(np.sqrt(model.bse["system"] ** 2 + twice), rel=0.03)


def test_seeds_that_decide_are_not_taken_for_methods() -> None:
    rng = np.random.default_rng(4)
    false = {"runs": 0, "topics": 0}
    for _ in range(300):
        a, b = drawn(rng, runs=5, topics=50, sd=0.05)
        false["runs"] += two_level(a, b).p < 0.05
        false["topics"] += stats.ttest_rel(a.mean(axis=0), b.mean(axis=0)).pvalue < 0.05
    assert false["runs"] / 300 < 0.09
    assert false["topics"] / 300 > 0.2  # as if the seeds' means were the methods'


def test_without_variance() -> None:
    same = two_level([[0.1, 0.2], [0.1, 0.2]], [[0.1, 0.2]])
    assert (same.t, same.p) == (0.0, 1.0)
    assert two_level([[0.3, 0.4]], [[0.1, 0.2]]).p == 0.5
    for wrong in (([[0.1, 0.2]], [[0.1, 0.2, 0.3]]), ([[0.1]], [[0.2]]), ([[np.nan, 1]], [[1, 2]])):
        with pytest.raises(UsageError):
            two_level(*wrong)


def test_runs_of_a_system_in_a_comparison() -> None:
    a, b = drawn(np.random.default_rng(5), runs=3, topics=30, sd=0.05, gap=0.1)
    measures, qids = tuple(parse_measures("AP")), tuple(map(str, range(30)))
    scores = [
        Scores(f"{name}.seed{k}", qids, measures, run[:, None])
        for name, runs in (("new", a), ("old", b))
        for k, run in enumerate(runs)
    ]
    pooled = pool_seeds(scores)
    assert [one.system for one in pooled] == ["new", "old"]
    assert pooled[0].values[:, 0] == pytest.approx(a.mean(axis=0))
    found = compare(pooled, baseline="old", confidence=0.9)
    cell, expected = found.cell("new", measures[0]), two_level(a, b)
    assert cell.test.p == pytest.approx(expected.p, rel=1e-12)
    assert cell.test.interval == pytest.approx(expected.interval(0.9), rel=1e-12)
    assert cell.test.result.method == "two-level"
    assert "Runs of a system: new 3, old 3." in " ".join(statements(found))
    with pytest.raises(UsageError, match=r"more than one run is called new\.seed0"):
        pool_seeds([scores[0], *scores])
    with pytest.raises(UsageError, match="seed only"):
        pool_seeds(scores[:1])
    turned = replace(scores[1], qids=qids[::-1], values=scores[1].values[::-1])
    (again,) = pool_seeds([scores[0], turned, scores[2]])
    assert again.values.tolist() == pooled[0].values.tolist()
    with pytest.raises(UsageError, match=r"new\.seed0 and new.seed1 have different topics"):
        pool_seeds([scores[0], replace(scores[1], qids=("other", *qids[1:]))])


def test_names_of_seeds() -> None:
    names = ("DeepCT.seed1", "DeepCT-seed=22", "DeepCT seed_3", "DeepCT_Seed4")
    assert {system_of(name) for name in names} == {"DeepCT"}
    assert system_of("seeded") == "seeded"
    assert system_of("seed1") == "seed1"
