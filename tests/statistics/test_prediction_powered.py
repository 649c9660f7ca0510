"""Prediction-powered means against ppi_py, and their coverage."""

import numpy as np
import pytest
from ppi_py import classical_mean_ci, ppi_mean_ci, ppi_mean_pointestimate

from adducir.core.errors import UsageError
from adducir.statistics.prediction_powered import powered_mean


def drawn(seed: int, noise: float = 0.3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random(440)
    model = truth + 0.2 + rng.normal(0, noise, 440)
    return truth[:40], model[:40], model[40:]


@pytest.mark.parametrize("weight", [None, 0.0, 0.4, 1.0])
@pytest.mark.parametrize("seed", [1, 2])
def test_mean_and_interval_are_ppi_py(seed: int, weight: float | None) -> None:
    human, model, alone = drawn(seed)
    found = powered_mean(human, model, alone, judge="m", level=0.9, weight=weight)
    low, high = ppi_mean_ci(human, model, alone, alpha=0.1, lam=weight)
    assert (found.low, found.high) == pytest.approx((float(low[0]), float(high[0])), rel=1e-6)
    point = ppi_mean_pointestimate(human, model, alone, lam=weight)
    assert found.mean == pytest.approx(float(np.ravel(point)[0]), rel=1e-6)
    low, high = classical_mean_ci(human, alpha=0.1)
    assert (found.human_low, found.human_high) == pytest.approx((low, high), rel=1e-9)


def test_a_good_judge_shortens_the_interval_and_a_bad_one_does_no_harm() -> None:
    good, bad = (powered_mean(*drawn(3, noise), judge="m") for noise in (0.05, 50.0))
    assert good.high - good.low < 0.6 * (good.human_high - good.human_low)
    assert bad.weight < 0.05
    assert bad.high - bad.low < 1.05 * (bad.human_high - bad.human_low)
    assert abs(good.mean - 0.5) < 0.1  # the bias of .2 is taken out
    assert good.model > 0.6


def test_the_interval_covers_what_humans_would_say() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(1_000):
        truth = rng.random(460)
        model = truth**2 + rng.normal(0, 0.2, 460)
        found = powered_mean(truth[:60], model[:60], model[60:], judge="m")
        hits += found.low <= 0.5 <= found.high
    assert hits / 1_000 > 0.92


def test_the_judge_is_named_and_nonsense_refused() -> None:
    human, model, alone = drawn(1)
    assert "judged by GPT-x alone" in powered_mean(human, model, alone, judge="GPT-x").statement
    for wrong, what in (
        ((human, model[:3], alone), "same items"),
        ((human[:1], model[:1], alone), "two human"),
        ((human, model, np.full(5, np.nan)), "no number"),
    ):
        with pytest.raises(UsageError, match=what):
            powered_mean(*wrong, judge="m")
    with pytest.raises(UsageError, match="named"):
        powered_mean(human, model, alone, judge=" ")
    with pytest.raises(UsageError, match="weight"):
        powered_mean(human, model, alone, judge="m", weight=2.0)
