"""Corrections against statsmodels, scipy, their definitions, and enumeration."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from drawn import compared, similar
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from statsmodels.stats.multitest import multipletests

from adducir.core.errors import UsageError
from adducir.statistics.corrections import error_variance
from adducir.statistics.settings import CORRECTIONS, TESTS, PairFamily

ps = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0])), max_size=30)


def correct(p: list[float], name: str) -> np.ndarray:
    return CORRECTIONS.make(name, {}).adjusted(np.array(p, dtype=float))


def of_pairs(name: str, values: np.ndarray, pairs: object = None, **options: int) -> np.ndarray:
    first, second = np.triu_indices(len(values), 1) if pairs is None else np.array(pairs).T
    family = PairFamily(np.ones(first.size), values, first, second)
    return CORRECTIONS.make(name, options).of_pairs(family)


@pytest.mark.parametrize(
    "family",
    [
        [0.03],
        [0.01, 0.04, 0.03, 0.005, 0.04, 0.0, 1.0, 0.5],
        np.round(np.random.default_rng(1).beta(0.3, 2, 200), 3).tolist(),
    ],
)
def test_corrections_are_statsmodels(family: list[float]) -> None:
    # Few families: each call of multipletests takes a tenth of a second.
    for ours, theirs in (
        ("holm", "holm"),
        ("bonferroni", "bonferroni"),
        ("bh", "fdr_bh"),
        ("by", "fdr_by"),
        ("hommel", "hommel"),
        ("hochberg", "simes-hochberg"),
        ("sidak", "sidak"),
    ):
        expected = multipletests(family, method=theirs)[1]
        assert correct(family, ours) == pytest.approx(expected, rel=1e-12)
    assert correct(family, "none").tolist() == family


@given(ps)
def test_corrections_are_their_definitions(family: list[float]) -> None:
    p, m = sorted(family), len(family)
    holm = [min(1.0, max((m - k) * p[k] for k in range(j + 1))) for j in range(m)]
    bh = [min(1.0, *(m / (k + 1) * p[k] for k in range(j, m))) for j in range(m)]
    assert sorted(correct(family, "holm")) == pytest.approx(holm, rel=1e-12)
    assert sorted(correct(family, "bh")) == pytest.approx(bh, rel=1e-12)
    assert (correct(family, "holm") <= correct(family, "bonferroni")).all()
    assert (correct(family, "holm") >= np.array(family)).all()


def t_values(difference: np.ndarray) -> np.ndarray:
    """|t| of (K, T) differences; infinite where they are constant, and 0 where they are 0."""
    mean, varies = difference.mean(axis=1), np.ptp(difference, axis=1) > 1e-12
    t = np.where(np.abs(mean) > 1e-12, np.inf, 0.0)
    sd = difference[varies].std(axis=1, ddof=1)
    t[varies] = np.abs(mean[varies]) / sd * np.sqrt(difference.shape[1])
    return t


def by_enumeration(difference: np.ndarray) -> np.ndarray:
    """Algorithm 2.8 of Westfall and Young, over all sign vectors and |t| itself."""
    pairs, topics = difference.shape
    observed = t_values(difference)
    order = np.argsort(-observed, kind="stable")
    counts = np.zeros(pairs)
    for signs in product((1.0, -1.0), repeat=topics):
        t = t_values(difference * signs)[order]
        largest = np.maximum.accumulate(t[::-1])[::-1]
        counts += largest >= observed[order] * (1 - 1e-9)
    adjusted = np.empty(pairs)
    adjusted[order] = np.maximum.accumulate(counts / 2.0**topics)
    return adjusted


@pytest.mark.parametrize("seed", range(4))
def test_max_t_is_its_definition_by_full_enumeration(seed: int) -> None:
    values = np.random.default_rng(seed).random((4, 9)) + np.array([[0.0], [0.1], [0.3], [0.3]])
    if seed == 1:
        values = np.round(values, 1)  # ties
    if seed == 2:
        values[1] = values[0]
        values[3] = values[2] + 0.25  # a constant difference: t is infinite
    difference = np.array([values[i] - values[j] for i, j in combinations(range(4), 2)])
    assert of_pairs("maxt", values) == pytest.approx(by_enumeration(difference), abs=1e-12)


def test_drawn_sign_vectors_agree_with_all_of_them() -> None:
    values = np.random.default_rng(5).random((5, 16)) + np.linspace(0, 0.3, 5)[:, None]
    pairs = [(k, 0) for k in range(1, 5)]
    every, drawn = (
        of_pairs("maxt", values, pairs),
        of_pairs("maxt", values, pairs, permutations=60_000),
    )
    assert (every < 0.2).any()
    assert drawn == pytest.approx(every, abs=5 * 0.5 / 60_000**0.5)
    assert (drawn != every).any()


@pytest.mark.parametrize("topics", [12, 40])
def test_max_t_of_one_pair_is_the_randomisation_test(topics: int) -> None:
    values = np.round(np.random.default_rng(6).random((2, topics)), 1)
    values[1] += 0.1
    options = {"permutations": 5_000, "seed": 3}
    alone = TESTS.make("randomisation", options).rows(values[:1], values[1:])[1]
    assert of_pairs("maxt", values, **options) == alone


def test_the_family_of_max_t_may_be_a_table_or_all_pairs() -> None:
    values = np.random.default_rng(3).random((2, 3, 12)) + np.array([0, 0.1, 0.4])[None, :, None]
    by_system, flat = values.transpose(1, 2, 0), values.reshape(6, 12)
    whole = compared(by_system, baseline="s0", correction="maxt", family="table")
    four = np.array([flat[i] - flat[j] for i, j in ((1, 0), (2, 0), (4, 3), (5, 3))])
    assert whole.tests["p_corrected"].to_list() == pytest.approx(list(by_enumeration(four)))
    pairs = compared(by_system, comparisons="all-pairs", correction="maxt")
    three = np.array([flat[i] - flat[j] for i, j in ((1, 0), (2, 0), (2, 1))])
    found = pairs.tests.filter(measure="AP")
    expected = list(by_enumeration(three))
    assert found["p_corrected"].to_list() == pytest.approx(expected)


def test_tukey_of_two_systems_is_the_paired_t_test() -> None:
    values = similar(2, 15)
    expected = stats.ttest_rel(values[0], values[1]).pvalue
    assert of_pairs("tukey", values) == pytest.approx([expected], rel=1e-6)


def test_tukey_is_the_studentised_range_of_the_residuals() -> None:
    values = similar(4, 30)
    residual = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    error = np.sqrt((residual**2).sum() / (3 * 29) / 30)
    for p, (i, j) in zip(of_pairs("tukey", values), combinations(range(4), 2), strict=True):
        gap = abs(values[i].mean() - values[j].mean()) / error
        assert p == pytest.approx(stats.studentized_range.sf(gap, 4, 87), abs=1e-9)


@pytest.mark.parametrize(("systems", "topics"), [(2, 5), (4, 20)])
def test_the_error_variance_is_that_of_statsmodels_anova(systems: int, topics: int) -> None:
    values = similar(systems, topics)
    rows = [(s, t, values[s, t]) for s in range(systems) for t in range(topics)]
    table = anova_lm(ols("y ~ C(s) + C(t)", pd.DataFrame(rows, columns=["s", "t", "y"])).fit())
    assert error_variance(values) == pytest.approx(table.loc["Residual", "mean_sq"], rel=1e-9)
    half = np.var(values[0] - values[1], ddof=1) / 2
    assert error_variance(values[:2]) == pytest.approx(half, rel=1e-9)
    assert error_variance(values[:2] * 1e-9 + 0.5) == pytest.approx(half * 1e-18, rel=1e-5)


def test_tukey_without_error() -> None:
    assert (of_pairs("tukey", np.repeat(similar(1, 10), 3, axis=0)) == 1.0).all()
    assert error_variance(similar(1, 10) + np.array([[0.0], [0.1], [0.3]])) == 0.0
    base = similar(1, 6)[0]
    values = np.array([base, base + 1e-16, base + 0.1])
    assert of_pairs("tukey", values).tolist() == [1.0, 2.0**-5, 2.0**-5]  # the randomisation test's


def test_what_does_not_go_together_is_refused() -> None:
    values = similar(3, 20)
    for wrong in (
        {"correction": "tukey", "family": "table"},
        {"correction": "tukey", "test": "sign"},
        {"correction": "maxt", "test": "wilcoxon"},
    ):
        with pytest.raises(UsageError):
            compared(values, baseline="s0", **wrong)
    with pytest.raises(UsageError, match="needs scores"):
        correct([0.1], "maxt")
    # Equivalence tests are then corrected by Holm's.
    both = compared(values, baseline="s0", correction="maxt", equivalence=0.3, against="s0")
    tests = both.tests.filter(claim="equivalence")
    assert tests["p_corrected"].to_list() == correct(tests["p"].to_list(), "holm").tolist()
