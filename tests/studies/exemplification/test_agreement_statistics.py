"""Kappa and alpha: published examples, plain reference implementations, special cases."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from adducir.core.errors import UsageError
from adducir.statistics.agreement.alpha import alphas, krippendorff_alpha, pairable
from adducir.statistics.agreement.counts import LEVELS
from adducir.statistics.agreement.intervals import bootstrap_interval
from adducir.statistics.agreement.kappa import fleiss_kappa, kappas

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: 4 observers, 12
# units, missing data; its sections C to F give .743, .815, .849 and .797.
OBSERVERS = [
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
]
PUBLISHED = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}

# Fleiss (1971), table 1: 30 patients, 6 psychiatrists each, 5 diagnoses; kappa = .430.
DIAGNOSES = """
0 0 0 6 0  0 3 0 0 3  0 1 4 0 1  0 0 0 0 6  0 3 0 3 0  2 0 4 0 0  0 0 4 0 2  2 0 3 1 0
2 0 0 4 0  0 0 0 0 6  1 0 0 5 0  1 1 0 4 0  0 3 3 0 0  1 0 0 5 0  0 2 0 3 1  0 0 5 0 1
3 0 0 1 2  5 1 0 0 0  0 2 0 4 0  1 0 2 0 3  0 0 0 0 6  0 1 0 5 0  0 2 0 1 3  2 0 0 4 0
1 0 0 4 1  0 5 0 1 0  4 0 0 0 2  0 2 0 4 0  1 0 5 0 0  0 0 0 0 6
"""
# The worked example of Wikipedia's article "Fleiss' kappa": 10 subjects, 14 raters, 5 categories;
# P = .378, P_e = .213, kappa = .210.
WORKED = """
0 0 0 0 14  0 2 6 4 2  0 0 3 5 6  0 3 9 2 0  2 2 8 1 1
7 7 0 0 0  3 2 6 3 0  2 5 3 2 2  6 5 2 1 0  0 2 2 3 7
"""


def table_of(text):
    return np.array(text.split(), dtype=float).reshape(-1, 5)


def counted(units):
    """(U, C) counts and (C,) values of lists of ratings."""
    values = sorted({value for unit in units for value in unit})
    table = [[unit.count(value) for value in values] for unit in units]
    return np.array(table, dtype=float).reshape(len(units), len(values)), np.array(values, float)


def units_of(observers):
    rows = [row.split() for row in observers]
    return [[float(v) for v in unit if v != "."] for unit in zip(*rows, strict=True)]


def plain_alpha(units, level):
    """Alpha by its definition, pair by pair, with no matrix and no trick."""
    units = [unit for unit in units if len(unit) > 1]
    every = sorted(value for unit in units for value in unit)
    number = len(every)

    def apart(c, k):
        if c == k:
            return 0.0
        if level == "nominal":
            return 1.0
        if level == "interval":
            return (c - k) ** 2
        if level == "ratio":
            return ((c - k) / (c + k)) ** 2
        low, high = min(c, k), max(c, k)
        between = sum(low <= value <= high for value in every)
        return (between - (every.count(low) + every.count(high)) / 2) ** 2

    observed = sum(
        2 * apart(a, b) / (len(unit) - 1) for unit in units for a, b in combinations(unit, 2)
    )
    expected = sum(2 * apart(a, b) for a, b in combinations(every, 2)) / (number - 1)
    return 1 - observed / expected


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_of_krippendorffs_own_example(level):
    table, values = counted(units_of(OBSERVERS))
    assert round(krippendorff_alpha(table, values, level), 3) == PUBLISHED[level]


def test_alpha_of_two_observers_and_two_categories():
    # Krippendorff (2011), example A: 10 units, 0 or 1; alpha = .095.
    rows = ["0 1 0 0 0 0 0 0 1 0", "1 1 1 0 0 1 0 0 0 0"]
    table, values = counted(units_of(rows))
    for level in LEVELS:  # of two values the levels make no difference
        assert round(krippendorff_alpha(table, values, level), 3) == 0.095


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0]), max_size=5), min_size=1, max_size=12
    ),
    st.sampled_from(LEVELS),
)
def test_alpha_against_its_definition(units, level):
    pairs = [unit for unit in units if len(unit) > 1]
    table, values = counted(units)
    if not pairs:
        with pytest.raises(UsageError, match="no unit has two ratings"):
            krippendorff_alpha(table, values, level)
    elif len({value for unit in pairs for value in unit}) == 1:
        assert np.isnan(krippendorff_alpha(table, values, level))
    else:
        expected = plain_alpha(units, level)
        assert krippendorff_alpha(table, values, level) == pytest.approx(expected, abs=1e-12)


def test_alpha_far_from_zero_keeps_its_digits():
    units = [[1e8 + 1, 1e8 + 2], [1e8 + 5, 1e8 + 5], [1e8 + 3, 1e8 + 4]]
    near = [[value - 1e8 for value in unit] for unit in units]
    assert krippendorff_alpha(*counted(units), "interval") == pytest.approx(
        krippendorff_alpha(*counted(near), "interval"), rel=1e-12
    )


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_of_samples_is_that_of_the_units_repeated(level):
    rng = np.random.default_rng(3)
    table, values = pairable(*counted(units_of(OBSERVERS)))
    drawn = rng.multinomial(table.shape[0], np.full(table.shape[0], 1 / table.shape[0]), size=20)
    together = alphas(table, values, level, drawn.astype(float))
    for weights, alpha in zip(drawn, together, strict=True):
        assert alpha == pytest.approx(
            krippendorff_alpha(np.repeat(table, weights, axis=0), values, level)
        )


def test_kappa_of_fleiss_own_example():
    found = fleiss_kappa(table_of(DIAGNOSES))
    assert round(found.kappa, 3) == 0.430
    assert (found.units, found.raters, found.categories) == (30, 6, 5)
    assert found.all_agree == 5 / 30
    assert found.none_agree == 0


def test_kappa_of_a_worked_example():
    found = fleiss_kappa(table_of(WORKED))
    assert (round(found.observed, 3), round(found.expected, 3)) == (0.378, 0.213)
    assert round(found.kappa, 3) == 0.210
    assert found.free == pytest.approx((found.observed - 0.2) / 0.8)


@given(
    st.integers(2, 5).flatmap(
        lambda raters: st.lists(
            st.lists(st.integers(0, 3), min_size=raters, max_size=raters), min_size=2, max_size=15
        )
    )
)
def test_kappa_against_statsmodels_and_plain_counts(units):
    table, _ = counted([[float(one) for one in unit] for unit in units])
    found = fleiss_kappa(table)
    if table.shape[1] == 1:
        assert np.isnan(found.kappa)
        assert np.isnan(found.free)
        return
    assert found.kappa == pytest.approx(statsmodels_kappa(table), abs=1e-12)
    assert found.free == pytest.approx(statsmodels_kappa(table, "rand"), abs=1e-12)
    assert found.all_agree == sum(len(set(unit)) == 1 for unit in units) / len(units)
    assert found.none_agree == sum(len(set(unit)) == len(unit) for unit in units) / len(units)
    weights = np.ones((1, len(units)))
    assert kappas(table, weights)[0] == pytest.approx(found.kappa)


def test_random_choices_agree_as_in_the_paper():
    # RELiC, table 4: three annotators who choose among three at random: .00, 11.1%, 22.2%.
    choices = np.stack(np.meshgrid(*[range(3)] * 3), axis=-1).reshape(-1, 3)
    found = fleiss_kappa(np.array([np.bincount(row, minlength=3) for row in choices], float))
    assert found.kappa == pytest.approx(0)
    assert found.all_agree == pytest.approx(3 / 27)
    assert found.none_agree == pytest.approx(6 / 27)


def test_categories_that_nobody_chose_count_for_the_free_kappa():
    table = np.array([[3.0, 0.0], [2.0, 1.0]])
    assert fleiss_kappa(table, categories=3).free == pytest.approx((2 / 3 - 1 / 3) / (2 / 3))
    assert fleiss_kappa(table, categories=3).kappa == fleiss_kappa(table).kappa
    with pytest.raises(UsageError, match="more were used"):
        fleiss_kappa(table, categories=1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((0, 2)), "at least one unit"),
        (np.array([[2.0, 0.0], [3.0, 0.0]]), "not 2 of one and 3 of another"),
        (np.array([[1.0, 0.0]]), "two raters or more"),
    ],
)
def test_what_kappa_is_not_defined_for(table, message):
    with pytest.raises(UsageError, match=message):
        fleiss_kappa(table)


def test_the_bootstrap_is_seeded_and_draws_items_whole():
    values = np.repeat(np.arange(30.0) ** 2, 2)
    items = np.repeat(np.arange(30) * 3 + 4, 2)
    seen = []

    def mean(drawn):
        seen.append(drawn)
        return drawn @ values / drawn.sum(axis=1)

    first = bootstrap_interval(mean, items, samples=500, seed=5)
    assert first == bootstrap_interval(mean, items, samples=500, seed=5)
    assert first != bootstrap_interval(mean, items, samples=500, seed=6)
    drawn = np.concatenate(seen)
    assert (drawn[:, ::2] == drawn[:, 1::2]).all()
    assert (drawn.sum(axis=1) == 60).all()
    assert 150 < first.low < values.mean() < first.high < 450


def test_the_bootstrap_covers_what_a_plain_loop_covers():
    rng = np.random.default_rng(11)
    units = [[float(one) for one in rng.integers(1, 4, size=3)] for _ in range(40)]
    table, values = counted(units)
    interval = bootstrap_interval(
        lambda drawn: alphas(table, values, "ordinal", drawn), np.arange(40), samples=4000
    )
    plain = [
        krippendorff_alpha(table[rng.integers(0, 40, size=40)], values, "ordinal")
        for _ in range(4000)
    ]
    low, high = np.quantile(plain, [0.025, 0.975])
    assert interval.low == pytest.approx(low, abs=0.03)
    assert interval.high == pytest.approx(high, abs=0.03)


def test_samples_without_a_value_are_left_out_and_counted():
    table, values = counted([[1.0, 1.0], [2.0, 2.0]])
    interval = bootstrap_interval(
        lambda drawn: alphas(table, values, "nominal", drawn), np.arange(2), samples=400
    )
    assert 150 < interval.undefined < 250  # half of the samples hold one unit twice
    assert (interval.low, interval.high) == (1.0, 1.0)


def test_wrong_numbers_of_a_bootstrap_are_refused():
    with pytest.raises(UsageError, match="samples"):
        bootstrap_interval(lambda drawn: drawn[:, 0], np.arange(2), samples=0)
    with pytest.raises(UsageError, match="level"):
        bootstrap_interval(lambda drawn: drawn[:, 0], np.arange(2), level=1.0)
