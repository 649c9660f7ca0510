"""Corrections, equivalence, effect sizes, intervals and power against statsmodels and scipy."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from adducir.core.errors import UsageError
from adducir.statistics.corrections import correct
from adducir.statistics.effects import effect, effect_rows, hedges_factor
from adducir.statistics.equivalence import tost

ps = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0])), max_size=30)


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
    for ours, theirs in (("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")):
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


@given(ps)
def test_holm_dominates_bonferroni_and_never_lowers_p(family: list[float]) -> None:
    holm = correct(family, "holm")
    assert (holm <= correct(family, "bonferroni")).all()
    assert (holm >= np.array(family)).all()


@pytest.mark.parametrize("wrong", [[0.1, np.nan], [1.1], [-0.1], [[0.1]]])
def test_what_is_no_p_is_refused(wrong) -> None:
    with pytest.raises(UsageError):
        correct(wrong, "holm")


def test_unknown_correction_is_refused_and_no_test_is_fine() -> None:
    with pytest.raises(UsageError, match="Choose one of holm"):
        correct([0.1], "sidak")  # type: ignore[arg-type]
    assert correct([], "holm").size == 0


@pytest.mark.parametrize("seed", range(10))
def test_tost_is_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random(40), rng.random(40)
    ours = tost(a, b, 0.1, test="t")
    p, lower, upper = ttost_paired(a, b, -0.1, 0.1)
    assert ours.p == pytest.approx(p, rel=1e-12)
    assert (ours.p_lower, ours.p_upper) == pytest.approx((lower[1], upper[1]), rel=1e-12)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=60),
    st.floats(0.01, 0.5),
    st.sampled_from([0.01, 0.05, 0.1]),
)
def test_equivalent_exactly_where_the_narrow_interval_lies_in_the_band(d, delta, alpha) -> None:
    zero = np.zeros(len(d))
    interval = effect(d, zero, level=1 - 2 * alpha)
    edge = min(delta - interval.high, interval.low + delta)
    assume(abs(edge) > 1e-9)
    assume(np.ptp(d) > 1e-9)
    assert (tost(d, zero, delta, test="t").p < alpha) == (edge > 0)


def test_tost_without_variance() -> None:
    a = np.linspace(0.1, 0.8, 9)
    assert tost(a, a, 0.1).degenerate
    for test in ("t", "hall"):
        for shift in (0.0, 0.05, 0.2):
            found = tost(a + shift, a, 0.1, test=test)
            assert (found.p, found.method) == (1.0, "refused")


def test_significant_and_equivalent_can_both_hold_and_neither() -> None:
    rng = np.random.default_rng(1)
    a = rng.random(400)
    small = a + 0.02 + rng.normal(0, 0.01, 400)
    assert stats.ttest_rel(small, a).pvalue < 1e-10
    assert tost(small, a, 0.1).p < 1e-10
    few, others = rng.random((2, 6))
    assert stats.ttest_rel(few, others).pvalue > 0.05
    assert tost(few, others, 0.1).p > 0.05


@pytest.mark.parametrize("delta", [0.0, -0.1, np.nan, np.inf])
def test_a_band_without_width_is_refused(delta: float) -> None:
    with pytest.raises(UsageError, match="above 0"):
        tost([0.1, 0.2], [0.2, 0.3], delta)


def test_effect_is_what_the_definitions_say() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.random((2, 30))
    b[:5] = a[:5]
    found, d = effect(a, b, level=0.9), a - b
    low, high = stats.ttest_rel(a, b).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)
    assert found.d_z == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-12)
    assert found.hedges / found.d_z == pytest.approx(1 - 3 / (4 * 29 - 1), abs=1e-4)
    assert found.relative == pytest.approx(a.mean() / b.mean() - 1, rel=1e-12)
    assert (found.wins, found.ties, found.losses) == ((d > 0).sum(), 5, (d < 0).sum())
    assert effect(a, b, tie=0.2).ties == (np.abs(d) <= 0.2).sum()
    assert found.mirrored(float(a.mean())) == effect(b, a, level=0.9)


def test_hedges_correction_takes_the_bias_away() -> None:
    assert hedges_factor(2) == pytest.approx(np.pi**-0.5)
    d = np.random.default_rng(2).normal(0.5, 1.0, (40_000, 6))
    found = effect_rows(d, np.zeros_like(d))
    corrected = np.array([one.hedges for one in found])
    assert corrected.mean() == pytest.approx(0.5, abs=5 * corrected.std() / 200)
    assert np.mean([one.d_z for one in found]) > 0.55


def test_effect_without_variance() -> None:
    same = effect([0.2, 0.4], [0.2, 0.4])
    assert (same.d_z, same.hedges, same.low, same.high, same.ties) == (0.0, 0.0, 0.0, 0.0, 2)
    constant = effect([0.3, 0.5], [0.2, 0.4])
    assert (constant.d_z, constant.hedges, constant.sd, constant.wins) == (None, None, 0.0, 2)
    assert constant.low == constant.high == pytest.approx(0.1)
    assert effect([0.3, 0.5], [0.0, 0.0]).relative is None
    assert effect([0.1 + 0.2, 0.5], [0.3, 0.4]).ties == 1


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="confidence"):
        effect([0.1, 0.2], [0.3, 0.3], level=95)
    with pytest.raises(UsageError, match="tie"):
        effect([0.1, 0.2], [0.3, 0.3], tie=-1)
