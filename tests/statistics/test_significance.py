"""Paired t, Wilcoxon and sign tests against scipy, and their special cases."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from adducir.core.errors import UsageError
from adducir.statistics.paired import (
    TestResult,
    paired_t,
    randomisation,
    run_rows,
    sign,
    wilcoxon,
)
from adducir.statistics.tests import TESTS as FAMILY

TESTS_BY_NAME = FAMILY.kinds()
TESTS = [paired_t, wilcoxon, sign, randomisation]


def pair(seed: int, topics: int, grid: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Two systems' scores; on a grid they tie often, as P@k does."""
    rng = np.random.default_rng(seed)
    a, b = rng.beta(1, 2, topics), rng.beta(1, 1.7, topics)
    return (a, b) if grid is None else (np.round(a * grid) / grid, np.round(b * grid) / grid)


@pytest.mark.parametrize("topics", [2, 3, 10, 50, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_t_is_scipys(topics: int, seed: int) -> None:
    a, b = pair(seed, topics)
    ours, theirs = paired_t(a, b), stats.ttest_rel(a, b)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-12, abs=0)
    assert (ours.n, ours.method, ours.degenerate) == (topics, "Student", False)


@pytest.mark.parametrize("topics", [1 + 1, 7, 25, 50])
@pytest.mark.parametrize("seed", range(5))
def test_wilcoxon_is_scipys_exact_without_ties(topics: int, seed: int) -> None:
    a, b = pair(seed, topics)
    ours, theirs = wilcoxon(a, b), stats.wilcoxon(a, b)
    assert (ours.statistic, ours.method) == (theirs.statistic, "exact")
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-12, abs=0)


@pytest.mark.parametrize("zeros", ["wilcox", "pratt"])
@pytest.mark.parametrize("grid", [5, 20, None])
def test_wilcoxon_is_scipys_normal_approximation_above_fifty(zeros: str, grid: int | None) -> None:
    a, b = pair(3, 300, grid)
    ours = wilcoxon(a, b, zeros=zeros)
    # Integers, because scipy takes the rounding noise of 0.3 - 0.2 for a rank of its own.
    x, y = (a, b) if grid is None else (np.round(a * grid), np.round(b * grid))
    theirs = stats.wilcoxon(x, y, zero_method=zeros, method="asymptotic", correction=False)
    assert (ours.statistic, ours.method) == (theirs.statistic, "normal")
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-12, abs=0)


@pytest.mark.parametrize("zeros", ["wilcox", "pratt"])
@pytest.mark.parametrize("seed", range(8))
def test_wilcoxon_with_ties_is_exact_over_all_signs(zeros: str, seed: int) -> None:
    a, b = pair(seed, 12, grid=5)
    ours = wilcoxon(a, b, zeros=zeros)
    d = np.round((a - b) * 5)
    d = d if zeros == "pratt" else d[d != 0]
    ranks = stats.rankdata(np.abs(d))[d != 0]
    below = min(ranks[d[d != 0] > 0].sum(), ranks[d[d != 0] < 0].sum())
    sums = np.array([np.dot(s, ranks) for s in product((0, 1), repeat=ranks.size)])
    two_sided = np.mean((sums <= below) | (sums >= ranks.sum() - below))
    assert ours.statistic == below
    assert ours.used == ranks.size
    assert ours.p == pytest.approx(two_sided, rel=1e-12)
    if zeros == "wilcox" and d.size > 0:
        assert ours.p == pytest.approx(stats.wilcoxon(d).pvalue, rel=1e-12)


def test_rounding_noise_is_no_rank() -> None:
    # In exact arithmetic all differences are 0.1; in floating point three values occur.
    a = np.array([0.3, 0.2, 0.7, 0.8, 0.4, 0.9])
    b = np.array([0.2, 0.1, 0.6, 0.9, 0.5, 0.8])
    assert len(set(np.abs(a - b))) > 1
    assert wilcoxon(a, b).statistic == 7.0  # two losses, each of rank 3.5
    assert wilcoxon(a + 0.1, 0.1 + a).p == 1.0
    assert sign([0.1 + 0.2, 0.5], [0.3, 0.4]).used == 1


@pytest.mark.parametrize("grid", [4, None])
@pytest.mark.parametrize("topics", [5, 60, 1000])
def test_sign_is_scipys_binomial(grid: int | None, topics: int) -> None:
    a, b = pair(11, topics, grid)
    wins, losses = int((a > b).sum()), int((a < b).sum())
    ours, theirs = sign(a, b), stats.binomtest(wins, wins + losses, 0.5)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-12, abs=0)
    assert (ours.statistic, ours.used, ours.n) == (wins, wins + losses, topics)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("topics", [2, 50, 60])
def test_identical_runs_give_one(test, topics: int) -> None:
    a, _ = pair(0, topics)
    result = test(a, a)
    assert result.p == 1.0
    assert not result.degenerate
    assert np.isfinite(result.statistic)


def test_constant_difference_is_marked_and_claims_no_more_than_the_topics_show() -> None:
    with np.errstate(all="raise"):
        result = paired_t(np.arange(5) / 10 + 0.1, np.arange(5) / 10)
    assert (result.statistic, result.p, result.degenerate) == (np.inf, 2.0**-4, True)
    assert paired_t([0.0, 0.0], [1.0, 1.0]).statistic == -np.inf
    assert result.p == randomisation(np.arange(5) / 10 + 0.1, np.arange(5) / 10).p
    assert result.p == sign(np.arange(5) / 10 + 0.1, np.arange(5) / 10).p


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0.5], [0.4], "two topics"),
        ([], [], "two topics"),
        ([0.1, np.nan], [0.1, 0.2], "nan"),
        ([0.1, 0.2], [0.1, np.inf], "inf"),
        ([0.1, 0.2, 0.3], [0.1, 0.2], "3 topics"),
        (["x", "y"], [0.1, 0.2], "numbers"),
    ],
)
def test_what_cannot_be_paired_is_refused(test, a, b, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        test(a, b)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match="no significance test"):
        run_rows("anova", [0.1, 0.2], [0.2, 0.3])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="zeros"):
        wilcoxon([0.1, 0.2], [0.2, 0.3], zeros="zsplit")


scores = st.lists(
    st.tuples(st.integers(0, 10), st.integers(0, 10)).map(lambda t: (t[0] / 10, t[1] / 10)),
    min_size=2,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(scores)
def test_every_test_gives_a_p_that_does_not_depend_on_the_order_of_systems(rows) -> None:
    a, b = np.array(rows).T
    for test in (paired_t, wilcoxon, sign, randomisation):
        there, back = test(a, b), test(b, a)
        assert 0.0 < there.p <= 1.0
        assert there.p == pytest.approx(back.p, rel=1e-9)
        assert TESTS_BY_NAME[there.test]().mirrored(there).statistic == pytest.approx(
            back.statistic, abs=1e-12
        )


def test_rows_are_the_single_tests() -> None:
    first, second = np.array([pair(s, 40) for s in range(4)]).transpose(1, 0, 2)
    for name, test in zip(("t", "wilcoxon", "sign", "randomisation"), TESTS, strict=1):
        together = run_rows(name, first, second, permutations=3000, seed=5)
        for result, a, b in zip(together, first, second, strict=True):
            options = {
                "randomisation": {"permutations": 3000, "seed": 5},
            }.get(name, {})
            assert isinstance(result, TestResult)
            assert result.p == pytest.approx(test(a, b, **options).p, rel=1e-12)
