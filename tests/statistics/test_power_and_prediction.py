"""Topic set size against statsmodels; prediction-powered means against ppi_py, and coverage."""

import numpy as np
import pytest
from drawn import compared
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from statsmodels.stats.power import TTestPower

from adducir.core.errors import UsageError
from adducir.statistics.corrections import error_variance
from adducir.statistics.power import topics_needed
from adducir.statistics.prediction_powered import powered_mean


@pytest.mark.parametrize(("difference", "alpha", "wanted"), [(0.05, 0.05, 0.8), (0.2, 0.01, 0.95)])
def test_topics_of_a_t_test_are_statsmodels(difference: float, alpha: float, wanted: float) -> None:
    theirs = TTestPower().solve_power(difference / 0.15, None, alpha, wanted)
    assert topics_needed(difference, 0.15, alpha, wanted) == int(np.ceil(theirs))


def test_sizes_that_cannot_be_are_refused() -> None:
    for difference, sd in ((0.0, 0.1), (0.1, 0.0), (1e-9, 0.1)):
        with pytest.raises(UsageError):
            topics_needed(difference, sd)


def test_a_comparison_has_the_design_of_each_measure() -> None:
    values = np.random.default_rng(5).random((3, 12, 2))
    found = compared(values, topics_for=0.1).designs
    for column, measure in enumerate(("AP", "P@5")):
        sd = float(np.sqrt(2 * error_variance(values[:, :, column])))
        assert found["", measure] == topics_needed(0.1, sd)
    assert isinstance(compared(values[:1], topics_for=0.1).designs["", "AP"], str)  # the reason
    with pytest.raises(UsageError):
        compared(values, topics_for=0.0)


def drawn(seed: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random(440)
    model = truth + 0.2 + rng.normal(0, noise, 440)
    return truth[:40], model[:40], model[40:]


@pytest.mark.parametrize("seed", [1, 2])
def test_mean_and_interval_are_ppi_py(seed: int) -> None:
    human, model, alone = drawn(seed)
    found = powered_mean(human, model, alone, level=0.9)
    low, high = ppi_mean_ci(human, model, alone, alpha=0.1)
    assert (found.low, found.high) == pytest.approx((float(low[0]), float(high[0])), rel=1e-6)
    point = ppi_mean_pointestimate(human, model, alone)
    assert found.mean == pytest.approx(float(np.ravel(point)[0]), rel=1e-6)


def test_judgements_that_do_not_fit_are_refused() -> None:
    human, model, alone = drawn(1)
    for wrong in (
        (human, model[:3], alone),
        (human[:1], model[:1], alone),
        (human, model, np.full(5, np.nan)),
    ):
        with pytest.raises(UsageError):
            powered_mean(*wrong)
