"""Randomisation tests, and the tests of all pairs."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from adducir.core.errors import UsageError
from adducir.statistics import signs
from adducir.statistics.all_pairs import all_pairs, all_pairs_randomisation
from adducir.statistics.paired import run_rows
from adducir.statistics.tests.randomisation import randomisation, randomisation_rows


def mean_difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


def permuted(a: np.ndarray, b: np.ndarray, resamples: int) -> float:
    return float(
        stats.permutation_test(
            (a, b),
            mean_difference,
            permutation_type="samples",
            vectorized=True,
            n_resamples=resamples,
            rng=np.random.default_rng(1),
        ).pvalue
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("grid", [None, 5, 3])
def test_few_topics_are_enumerated_as_by_scipy(seed: int, grid: int | None) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random((2, 11))
    if grid:
        a, b = np.round(a * grid) / grid, np.round(b * grid) / grid
    result = randomisation(a, b)
    assert (result.method, result.resamples, result.seed) == ("exact", None, None)
    x, y = (a, b) if grid is None else (np.round(a * grid), np.round(b * grid))
    assert result.p == pytest.approx(permuted(x, y, 10**6), rel=1e-12)
    assert result.statistic == pytest.approx(a.mean() - b.mean(), rel=1e-12)


def test_enumeration_goes_by_the_topics_that_differ() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((2, 200))
    b[8:] = a[8:]
    wide, narrow = randomisation(a, b, permutations=256), randomisation(a[:8], b[:8])
    assert (wide.method, wide.used, wide.n) == ("exact", 8, 200)
    assert wide.p == narrow.p
    assert randomisation(a, b, permutations=255).method == "Monte Carlo"


@pytest.mark.parametrize("seed", range(4))
def test_sampled_p_is_within_monte_carlo_error_of_the_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = np.round(rng.random((2, 17)) * 10) / 10
    exact = randomisation(a, b, permutations=2**17)
    drawn = randomisation(a, b, permutations=100_000, seed=seed)
    assert (exact.method, exact.used) == ("exact", drawn.used)
    if drawn.used == 17:
        assert drawn.method == "Monte Carlo"
    assert abs(drawn.p - exact.p) < 5 * np.sqrt(exact.p * (1 - exact.p) / 100_000) + 2e-5


def test_p_is_never_zero_and_follows_from_the_count() -> None:
    a = np.linspace(0.5, 0.9, 40)
    result = randomisation(a, a - np.linspace(0.1, 0.3, 40), permutations=999)
    assert result.p == 1 / 1000


@pytest.mark.parametrize("blocks", [1, 700, 1 << 15])
def test_ties_count_in_full_and_blocks_do_not_matter(blocks: int, monkeypatch) -> None:
    # Tenths: sums tie all the time, and floating point sees them apart.
    rng = np.random.default_rng(8)
    tenths = rng.integers(0, 11, (3, 60))
    signs_drawn = np.vstack([b * 2 - 1 for b in signs.random_bits(4, 2000, 60, 512)])
    d = tenths[0] - tenths[1]
    count = (np.abs(signs_drawn @ d) >= abs(d.sum())).sum()
    monkeypatch.setattr(signs, "BLOCK_CELLS", blocks * 60)
    result = randomisation(tenths[0] / 10, tenths[1] / 10, permutations=2000, seed=4)
    assert result.p == (count + 1) / 2001
    every = all_pairs_randomisation(tenths / 10, permutations=2000, seed=4)
    assert every.p[0, 1] == result.p


def test_same_seed_same_figures_other_seed_others() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 50))
    assert randomisation(a, b, seed=7) == randomisation(a, b, seed=7)
    assert len({randomisation(a, b, seed=s).p for s in range(4)}) > 1


def test_bits_are_fair_and_independent() -> None:
    bits = np.vstack([block.copy() for block in signs.random_bits(3, 20_000, 70, 999)])
    assert bits.shape == (20_000, 70)
    assert set(np.unique(bits)) == {0.0, 1.0}
    spread = np.abs(np.corrcoef(bits.T) - np.eye(70)).max()
    assert spread < 5 / np.sqrt(20_000)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 2.5 / np.sqrt(20_000)


def test_half_of_all_signs_are_distinct() -> None:
    half = np.vstack(list(signs.every_half(6, 5)))
    assert len({tuple(row) for row in half}) == 32
    assert not half[:, -1].any()


@pytest.fixture(scope="module")
def systems() -> np.ndarray:
    """Nine systems: seven different, one copy, one a constant better than the first."""
    rng = np.random.default_rng(6)
    topic = rng.beta(1, 2, 120)
    values = np.clip(topic + rng.normal(0, 0.1, (7, 120)) + np.arange(7)[:, None] / 100, 0, 1)
    almost = values[1] + rng.normal(0, 1e-7, 120)
    return np.vstack([values, values[2], values[0] + 0.05, almost])


def test_all_pairs_t_is_scipys(systems: np.ndarray) -> None:
    with np.errstate(all="raise"):
        every = all_pairs(systems)
    for i in range(10):
        for j in range(10):
            if i == j or {i, j} == {2, 7}:
                assert (every.statistic[i, j], every.p[i, j]) == (0.0, 1.0)
            elif {i, j} == {0, 8}:
                assert every.degenerate[i, j]
                assert every.p[i, j] == 2.0**-119
            else:
                theirs = stats.ttest_rel(systems[i], systems[j])
                assert every.statistic[i, j] == pytest.approx(theirs.statistic, rel=1e-12)
                assert every.p[i, j] == pytest.approx(theirs.pvalue, rel=1e-12, abs=0)
    assert every.degenerate.sum() == 2


def test_all_pairs_randomisation_is_the_single_test(systems: np.ndarray) -> None:
    every = all_pairs_randomisation(systems, permutations=5000, seed=9)
    for i, j in [(0, 1), (5, 2), (2, 7), (6, 8), (1, 9)]:
        single = randomisation(systems[i], systems[j], permutations=5000, seed=9)
        assert every.p[i, j] == every.p[j, i] == single.p
        assert every.statistic[i, j] == pytest.approx(single.statistic, abs=1e-15)
    rows = randomisation_rows(systems[1:], systems[[0] * 9], permutations=5000, seed=9)
    assert [row.p for row in rows] == every.p[0, 1:].tolist()


@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign", "randomisation"])
@pytest.mark.parametrize("grid", [None, 5])
def test_the_level_is_kept_where_there_is_no_difference(test, grid) -> None:
    rng = np.random.default_rng(12)
    a, b = np.clip(rng.normal(0.4, 0.2, (2, 1500, 30)), 0, 1)
    if grid:
        a, b = np.round(a * grid) / grid, np.round(b * grid) / grid
    p = np.array([r.p for r in run_rows(test, a, b, permutations=1999, seed=1)])
    rate, error = (p <= 0.05).mean(), np.sqrt(0.05 * 0.95 / 1500)
    assert rate < 0.05 + 4 * error
    if grid is None and test != "sign":  # the others are conservative by their discreteness
        assert rate > 0.05 - 4 * error


def test_the_number_of_threads_does_not_matter() -> None:
    script = (
        "import numpy as np;"
        "from adducir.statistics.all_pairs import all_pairs_randomisation as f;"
        "v = np.random.default_rng(1).integers(0, 6, (12, 150)) / 5;"
        "print(f(v, permutations=3000, seed=2).p.tolist())"
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


def test_wrong_numbers_of_draws_are_refused(systems: np.ndarray) -> None:
    with pytest.raises(UsageError, match="permutations"):
        randomisation(systems[0], systems[1], permutations=0)
    with pytest.raises(UsageError, match="seed"):
        randomisation(systems[0], systems[1], seed=-1)
    with pytest.raises(UsageError, match="two systems"):
        all_pairs(systems[:1])
