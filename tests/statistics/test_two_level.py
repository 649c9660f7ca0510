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
    assert (found.df, found.topics) == (19.0, 1.0)


def test_the_balanced_case_by_hand() -> None:
    a = np.array([[0.5, 0.7, 0.6], [0.3, 0.6, 0.3]])
    b = np.array([[0.2, 0.4, 0.5], [0.2, 0.4, 0.3]])
    found = two_level(a, b)
    gap = a.mean(axis=0) - b.mean(axis=0)  # .2, .25, .05
    parts = [gap.var(ddof=1) / 3]
    for y in (a, b):
        ms_run = 3 * y.mean(axis=1).var(ddof=1)
        residual = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
        ms_error = (residual**2).sum() / 2
        if ms_run > ms_error:
            parts += [ms_run / 6, -ms_error / 6]
    assert found.difference == pytest.approx(1 / 6)
    assert found.error == pytest.approx(np.sqrt(sum(parts)))
    degrees = [2, 1, 2, 1, 2][: len(parts)]
    df = sum(parts) ** 2 / sum(part**2 / one for part, one in zip(parts, degrees, strict=True))
    assert found.df == pytest.approx(df)


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
    # The model has one variance of runs and of errors for both systems, where ours has two.
    assert found.error == pytest.approx(model.bse["system"], rel=0.03)


def test_seeds_that_decide_are_not_taken_for_methods() -> None:
    rng = np.random.default_rng(4)
    false = {"runs": 0, "topics": 0}
    for _ in range(300):
        a, b = drawn(rng, runs=5, topics=50, sd=0.05)
        false["runs"] += two_level(a, b).p < 0.05
        false["topics"] += stats.ttest_rel(a.mean(axis=0), b.mean(axis=0)).pvalue < 0.05
    assert false["runs"] / 300 < 0.09
    assert false["topics"] / 300 > 0.2  # as if the seeds' means were the methods'


@pytest.mark.parametrize(("topics", "runs", "spread"), [(50, 3, 0.3), (50, 5, 0.1), (20, 3, 0.0)])
def test_the_level_is_kept_where_runs_hardly_differ(topics, runs, spread) -> None:
    draw = np.random.default_rng(6)
    found = 0
    for _ in range(4000):
        a, b = (
            draw.normal(0, spread, (runs, 1)) + draw.normal(0, 1, (runs, topics)) for _ in range(2)
        )
        found += two_level(a, b).p < 0.05
    # Net degrees of freedom instead gave .069 in the first setting: 276 of 4,000.
    assert 40 <= found <= 230


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
