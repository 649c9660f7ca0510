"""Paired t, Wilcoxon, sign and randomisation tests against scipy, and their special cases."""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from drawn import compared
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from adducir.statistics.settings import TESTS

NAMES = ("t", "wilcoxon", "sign", "randomisation")


def run(name: str, a: object, b: object, **options: int) -> tuple[float, float]:
    rows = (np.array([side], dtype=float) for side in (a, b))
    statistic, p = TESTS.make(name, options).rows(*rows)
    return float(statistic[0]), float(p[0])


def pair(seed: int, topics: int, grid: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Two systems' scores; on a grid they tie often, as P@k does."""
    rng = np.random.default_rng(seed)
    a, b = rng.beta(1, 2, topics), rng.beta(1, 1.7, topics)
    return (a, b) if grid is None else (np.round(a * grid) / grid, np.round(b * grid) / grid)


@pytest.mark.parametrize(
    ("test", "theirs", "topics"),
    [("t", stats.ttest_rel, n) for n in (2, 3, 10, 50, 1000)]
    + [("wilcoxon", stats.wilcoxon, n) for n in (2, 7, 25, 50)],  # exact, without ties
)
def test_t_and_wilcoxon_are_scipys(test: str, theirs: Callable[..., Any], topics: int) -> None:
    for seed in range(5):
        a, b = pair(seed, topics)
        found = theirs(a, b)
        wanted = (found.statistic, found.pvalue)
        assert run(test, a, b) == pytest.approx(wanted, rel=1e-12, abs=0)


@pytest.mark.parametrize("grid", [5, 20, None])
def test_wilcoxon_is_scipys_normal_approximation_above_fifty(grid: int | None) -> None:
    a, b = pair(3, 300, grid)
    # Integers, because scipy takes the rounding noise of 0.3 - 0.2 for a rank of its own.
    x, y = (a, b) if grid is None else (np.round(a * grid), np.round(b * grid))
    theirs = stats.wilcoxon(x, y, method="asymptotic", correction=False)
    expected = (theirs.statistic, theirs.pvalue)
    assert run("wilcoxon", a, b) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("seed", range(8))
def test_wilcoxon_with_ties_is_exact_over_all_signs(seed: int) -> None:
    a, b = pair(seed, 12, grid=5)
    d = np.round((a - b) * 5)
    d = d[d != 0]
    ranks = stats.rankdata(np.abs(d))
    below = min(ranks[d > 0].sum(), ranks[d < 0].sum())
    sums = np.array([np.dot(signs, ranks) for signs in product((0, 1), repeat=ranks.size)])
    two_sided = np.mean((sums <= below) | (sums >= ranks.sum() - below))
    assert run("wilcoxon", a, b) == (below, pytest.approx(two_sided, rel=1e-12))


def test_rounding_noise_is_no_rank() -> None:
    # In exact arithmetic all differences are 0.1; in floating point three values occur.
    a = np.array([0.3, 0.2, 0.7, 0.8, 0.4, 0.9])
    b = np.array([0.2, 0.1, 0.6, 0.9, 0.5, 0.8])
    assert len(set(np.abs(a - b))) > 1
    assert run("wilcoxon", a, b)[0] == 7.0  # two losses, each of rank 3.5
    assert run("wilcoxon", a + 0.1, 0.1 + a)[1] == 1.0
    assert run("sign", [0.1 + 0.2, 0.5], [0.3, 0.4]) == (1.0, 1.0)


@pytest.mark.parametrize("grid", [4, None])
@pytest.mark.parametrize("topics", [5, 60, 1000])
def test_sign_is_scipys_binomial(grid: int | None, topics: int) -> None:
    a, b = pair(11, topics, grid)
    wins, losses = int((a > b).sum()), int((a < b).sum())
    expected = stats.binomtest(wins, wins + losses, 0.5).pvalue
    assert run("sign", a, b) == (wins, pytest.approx(expected, rel=1e-12, abs=0))


@pytest.mark.parametrize("name", NAMES)
def test_equal_scores_have_p_1_and_a_constant_difference_what_its_topics_show(name: str) -> None:
    for topics in (2, 50, 60):
        a, _ = pair(0, topics)
        assert run(name, a, a)[1] == 1.0
    with np.errstate(all="raise"):
        assert run(name, np.arange(5) / 10 + 0.1, np.arange(5) / 10)[1] == 2.0**-4


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=12))
def test_p_does_not_depend_on_the_order_of_systems(rows: list[tuple[int, int]]) -> None:
    a, b = np.array(rows).T / 10
    for name in NAMES:
        there, back = run(name, a, b)[1], run(name, b, a)[1]
        assert 0.0 < there <= 1.0
        assert there == pytest.approx(back, rel=1e-9)


def permuted(a: np.ndarray, b: np.ndarray) -> float:
    exact = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10**6,
    )
    return float(exact.pvalue)


@pytest.mark.parametrize("grid", [None, 5, 3])
def test_few_topics_are_enumerated_as_by_scipy(grid: int | None) -> None:
    for seed in range(6):
        a, b = pair(seed, 11, grid)
        statistic, p = run("randomisation", a, b)
        x, y = (a, b) if grid is None else (np.round(a * grid), np.round(b * grid))
        assert p == pytest.approx(permuted(x, y), rel=1e-12)
        assert statistic == pytest.approx(a.mean() - b.mean(), rel=1e-12)


def test_enumeration_goes_by_the_topics_that_differ() -> None:
    a, b = pair(2, 200)
    b[8:] = a[8:]
    narrow = run("randomisation", a[:8], b[:8])[1]
    assert run("randomisation", a, b, permutations=256)[1] == narrow
    assert run("randomisation", a, b, permutations=255)[1] != narrow  # drawn


def test_p_is_never_zero_and_seeds_differ() -> None:
    a = np.linspace(0.5, 0.9, 40)
    assert run("randomisation", a, a - np.linspace(0.1, 0.3, 40), permutations=999)[1] == 1 / 1000
    a, b = pair(0, 50)
    assert len({run("randomisation", a, b, seed=seed)[1] for seed in range(4)}) > 1


def test_pairs_of_systems_are_the_single_tests() -> None:
    rng = np.random.default_rng(6)
    values = np.clip(rng.beta(1, 2, 120) + rng.normal(0, 0.1, (7, 120)), 0, 1)
    values = np.vstack([values, values[2], values[0] + 0.05])  # a copy, and a constant better
    first, second = np.triu_indices(9, 1)
    for name in NAMES:
        options = {"permutations": 5000, "seed": 9} if name == "randomisation" else {}
        statistic, p = TESTS.make(name, options).pairs(values, first, second)
        for row in range(0, first.size, 5):
            expected = run(name, values[first[row]], values[second[row]], **options)
            assert (statistic[row], p[row]) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_the_number_of_threads_does_not_matter() -> None:
    script = (
        "import numpy as np; from adducir.statistics.settings import TESTS;"
        "v = np.random.default_rng(1).integers(0, 6, (12, 150)) / 5;"
        "test = TESTS.make('randomisation', {'permutations': 3000, 'seed': 2});"
        "print(test.pairs(v, *np.triu_indices(12, 1))[1].tolist())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(printed) == 1
    assert len(printed.pop()) > 144


def test_no_p_value_is_zero() -> None:
    """Where a double underflows, p is 1e-300: in many topics, or for the same difference in all."""
    rng = np.random.default_rng(3)
    base = rng.random(5000)
    for other in (base + 1 + rng.normal(0, 1e-4, 5000), base + 0.5):
        tests = compared(np.stack([base, other]), baseline="s0").tests
        assert tests["p"].to_list() == tests["p_corrected"].to_list() == [1e-300]
