"""Topic set size against statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import FTestAnovaPower, TTestPower

from adducir.core.errors import UsageError
from adducir.statistics.power import (
    power,
    score_variance,
    topics_needed,
    topics_needed_anova,
    topics_needed_interval,
)


@pytest.mark.parametrize(("difference", "alpha", "wanted"), [(0.05, 0.05, 0.8), (0.2, 0.01, 0.95)])
def test_topics_of_a_t_test_are_statsmodels(difference: float, alpha: float, wanted: float) -> None:
    n = topics_needed(difference, 0.15, alpha=alpha, power_wanted=wanted)
    theirs = TTestPower().solve_power(difference / 0.15, None, alpha, wanted)
    assert n == int(np.ceil(theirs))
    assert power(difference, 0.15, n, alpha=alpha) >= wanted
    assert power(difference, 0.15, n - 1, alpha=alpha) < wanted


@pytest.mark.parametrize("systems", [2, 5, 20])
def test_topics_of_an_anova_are_statsmodels(systems: int) -> None:
    spread, variance = 0.1, 0.02
    n = topics_needed_anova(systems, spread, variance)
    effect = np.sqrt(spread**2 / (2 * systems * variance))
    theirs = FTestAnovaPower()
    assert theirs.power(effect, n * systems, 0.05, systems) >= 0.8
    assert theirs.power(effect, (n - 1) * systems, 0.05, systems) < 0.8


def test_topics_of_an_interval() -> None:
    n = topics_needed_interval(0.05, 0.15)
    rng = np.random.default_rng(1)
    for topics, fits in ((n, True), (n - 2, False)):
        sd = rng.normal(0, 0.15, (20_000, topics)).std(axis=1, ddof=1)
        half = stats.t.ppf(0.975, topics - 1) * sd.mean() / np.sqrt(topics)
        assert bool(half < 0.0501) is fits


def test_the_variance_comes_from_an_earlier_matrix() -> None:
    rng = np.random.default_rng(2)
    values = rng.random(200) + np.array([[0.0], [0.1], [0.3]]) + rng.normal(0, 0.2, (3, 200))
    assert score_variance(values) == pytest.approx(0.04, rel=0.15)
    pairs = np.var(values[0] - values[1], ddof=1)
    assert 2 * score_variance(values[:2]) == pytest.approx(pairs, rel=1e-9)


def test_sizes_that_cannot_be() -> None:
    for wrong in (
        lambda: topics_needed(0.0, 0.1),
        lambda: topics_needed(1e-9, 0.1),
        lambda: topics_needed_anova(1, 0.1, 0.1),
        lambda: topics_needed_interval(0.0, 0.1),
    ):
        with pytest.raises(UsageError):
            wrong()
