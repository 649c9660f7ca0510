"""Topic set size against statsmodels' solver, and by simulation."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from adducir.core.errors import UsageError
from adducir.statistics.anova import two_way_anova
from adducir.statistics.power import topics_needed


@pytest.mark.parametrize(("difference", "alpha", "wanted"), [(0.05, 0.05, 0.8), (0.2, 0.01, 0.95)])
def test_topics_of_a_t_test_are_statsmodels(difference: float, alpha: float, wanted: float) -> None:
    n = topics_needed(difference, 0.15, alpha=alpha, power_wanted=wanted)
    assert n == int(np.ceil(TTestPower().solve_power(difference / 0.15, None, alpha, wanted)))


@pytest.mark.parametrize(("effect", "topics"), [(50.0, 2), (10.0, 3)])
def test_so_many_topics_find_a_large_effect(effect: float, topics: int) -> None:
    assert topics_needed(effect, 1.0) == topics
    draws = np.random.default_rng(1).normal(effect, 1.0, (20_000, topics))
    assert (stats.ttest_1samp(draws, 0.0, axis=1).pvalue < 0.05).mean() > 0.8


def test_the_error_of_scores_is_half_the_variance_of_their_differences() -> None:
    values = np.random.default_rng(3).normal(0.4, 0.2, (5, 60))
    half = two_way_anova(values[:2]).error
    assert 2 * half == pytest.approx(np.var(values[0] - values[1], ddof=1), rel=1e-9)


@pytest.mark.parametrize(
    ("difference", "sd", "alpha"),
    [(0.0, 0.1, 0.05), (0.1, 0.0, 0.05), (1e-9, 0.1, 0.05), (0.1, 0.1, 1.5)],
)
def test_sizes_that_cannot_be_are_refused(difference: float, sd: float, alpha: float) -> None:
    with pytest.raises(UsageError):
        topics_needed(difference, sd, alpha=alpha)
