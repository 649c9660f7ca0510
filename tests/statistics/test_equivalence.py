"""Equivalence against statsmodels; where topics are few or scores sparse: refusals, error rates."""

from collections.abc import Callable

import numpy as np
import pytest
from drawn import compared
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from adducir.core.errors import UsageError
from adducir.statistics.equivalence import Tost, tost


def of_pair(a: object, b: object, delta: float, **options: str) -> tuple[float, bool]:
    rows = (np.array([side], dtype=float) for side in (a, b))
    found: Tost = tost(*rows, delta, **options)  # type: ignore[arg-type]
    return float(found.p[0]), bool(found.refused[0])


@pytest.mark.parametrize("seed", range(10))
def test_tost_is_statsmodels(seed: int) -> None:
    a, b = np.random.default_rng(seed).random((2, 40))
    p, lower, upper = ttost_paired(a, b, -0.1, 0.1)
    for side, expected in (("both", p), ("lower", lower[1]), ("upper", upper[1])):
        found = of_pair(a, b, 0.1, test="t", side=side)
        assert found == (pytest.approx(expected, rel=1e-12), False)


@given(
    st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=60),
    st.floats(0.01, 0.5),
    st.sampled_from([0.01, 0.05, 0.1]),
)
def test_equivalent_exactly_where_the_narrow_interval_lies_in_the_band(
    d: list[float], delta: float, alpha: float
) -> None:
    assume(np.ptp(d) > 1e-9)
    low, high = stats.ttest_1samp(d, 0.0).confidence_interval(1 - 2 * alpha)
    edge = min(delta - high, low + delta)
    assume(abs(edge) > 1e-9)
    assert (of_pair(d, np.zeros(len(d)), delta, test="t")[0] < alpha) == (edge > 0)


def test_halls_transformation_by_hand() -> None:
    d, n, delta = np.random.default_rng(2).exponential(0.1, 20), 20, 0.15
    p = []
    for sign in (-1, 1):
        sample, g = sign * d, sign * stats.skew(d)
        w = (sample.mean() - delta) / d.std()
        t = np.sqrt(n) * (w + g * w**2 / 3 + g**2 * w**3 / 27 + g / (6 * n))
        plain = stats.ttest_1samp(sample, delta, alternative="less").pvalue
        p.append(max(plain, stats.t.cdf(t, n - 1)))
    assert p[1] > plain  # the skewness decides
    for side, expected in (("lower", p[0]), ("upper", p[1]), ("both", max(p))):
        assert of_pair(d, np.zeros(n), delta, side=side)[0] == pytest.approx(expected, rel=1e-12)


def test_tost_without_variance_is_refused() -> None:
    a = np.linspace(0.1, 0.8, 9)
    for test in ("t", "hall"):
        for shift in (0.0, 0.05, 0.2):
            assert of_pair(a + shift, a, 0.1, test=test) == (1.0, True)


@pytest.mark.parametrize("differing", [0, 14, 15])
def test_equivalence_takes_fifteen_topics_that_differ(differing: int) -> None:
    rng = np.random.default_rng(differing)
    first = rng.random(200)
    second = first + np.r_[rng.normal(0, 0.01, differing), np.zeros(200 - differing)]
    p, refused = of_pair(first, second, 0.1)
    assert refused == (differing < 15)
    assert (p < 0.05) == (differing == 15)
    assert p == 1.0 or not refused


def test_non_inferiority_is_one_side_and_knows_what_is_better() -> None:
    rng = np.random.default_rng(4)
    base = rng.random(50) / 2
    better = base + 0.2 + rng.normal(0, 0.1, 50)
    assert of_pair(better, base, 0.1)[0] > 0.9
    assert of_pair(better, base, 0.1, side="lower")[0] < 1e-6
    asked = {"equivalence": 0.1, "against": "s0", "non_inferiority": True}
    found = compared([base, better, better - 0.5], **asked).tests
    assert found["claim"].unique().to_list() == ["non-inferiority"]
    assert found["verdict"].to_list() == ["equivalent", None]
    turned = compared([base, better, better - 0.5], "NumQ", **asked).tests
    assert turned.height == 0  # counts rate nothing


@pytest.mark.parametrize("delta", [0.0, -0.1, np.nan, np.inf])
def test_a_band_without_width_is_refused(delta: float) -> None:
    with pytest.raises(UsageError, match="equivalence"):
        compared(np.random.default_rng(1).random((2, 20)), equivalence=delta)


def sparse(gain: float, loss: float) -> Callable[[np.random.Generator, int, int], np.ndarray]:
    """Differences of measures of 0 and 1 whose mean is gain - loss."""
    return lambda rng, k, n: rng.choice([1.0, -1.0, 0.0], (k, n), p=[gain, loss, 1 - gain - loss])


BOUNDARY = {
    "0/1, 20 topics, bound .05": (sparse(0.05, 0.0), 20, 0.05),
    "0/1, 20 topics, bound .02": (sparse(0.02, 0.0), 20, 0.02),
    "0/1, 100 topics, bound .05": (sparse(0.05, 0.0), 100, 0.05),
    "0/1, 100 topics, bound .05, both ways": (sparse(0.10, 0.05), 100, 0.05),
    "0/1, 300 topics, bound .1": (sparse(0.1, 0.0), 300, 0.1),
    "P@5, 50 topics": (lambda rng, k, n: rng.binomial(5, 0.6, (k, n)) / 5 - 0.5, 50, 0.1),
    "normal, 20 topics": (lambda rng, k, n: rng.normal(0.1, 0.1, (k, n)).clip(-0.5, 0.7), 20, 0.1),
    "exponential, 20 topics": (lambda rng, k, n: rng.exponential(0.1, (k, n)), 20, 0.1),
    "exponential, 50 topics": (lambda rng, k, n: rng.exponential(0.1, (k, n)), 50, 0.1),
    "beta, 20 topics": (lambda rng, k, n: rng.beta(0.3, 2.7, (k, n)), 20, 0.1),
}
"""Draws of differences whose true mean is the bound: all that is found equivalent is false."""


@pytest.mark.parametrize("case", BOUNDARY)
def test_the_rate_of_false_equivalence(case: str) -> None:
    draw, topics, delta = BOUNDARY[case]
    difference = draw(np.random.default_rng(0), 3_000, topics)
    rate = np.mean(tost(difference, np.zeros_like(difference), delta).p < 0.05)
    assert rate < 0.05 + (0.04 if "20 topics" in case else 0.02)
