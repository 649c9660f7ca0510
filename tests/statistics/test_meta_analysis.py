"""Meta-analysis against statsmodels, and REML against its likelihood."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from adducir.core.errors import UsageError
from adducir.statistics.effects import effect, effect_rows
from adducir.statistics.meta_analysis import effects_of, meta_analysis

EFFECTS = np.array([0.095, 0.277, 0.367, 0.664, 0.462, 0.185])
VARIANCES = np.array([0.033, 0.031, 0.050, 0.011, 0.043, 0.023])


@pytest.mark.parametrize("seed", range(4))
def test_moments_and_hartung_knapp_are_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, v = rng.normal(0.05, 0.05, 5 + seed), rng.uniform(2e-4, 2e-3, 5 + seed)
    theirs = combine_effects(y, v, method_re="dl", use_t=True)
    found = meta_analysis(y, v, method="dl")
    assert found.tau2 == pytest.approx(max(0.0, theirs.tau2), rel=1e-9)
    assert found.q == pytest.approx(theirs.q, rel=1e-9)
    if theirs.tau2 > 0:
        assert found.mean == pytest.approx(theirs.mean_effect_re, rel=1e-9)
        assert found.weights == pytest.approx(theirs.weights_rel_re, rel=1e-9)
        half = stats.t.ppf(0.975, len(y) - 1) * np.sqrt(theirs.var_hksj_re)
        assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_reml_maximises_the_restricted_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, v = rng.normal(0, 0.3, 8), rng.uniform(0.01, 0.05, 8)

    def likelihood(tau2: float) -> float:
        w = 1 / (v + tau2)
        mean = (w * y).sum() / w.sum()
        return -0.5 * (np.log(v + tau2).sum() + np.log(w.sum()) + (w * (y - mean) ** 2).sum())

    found = meta_analysis(y, v)
    grid = np.linspace(0, 1, 20_001)
    best = grid[np.argmax([likelihood(one) for one in grid])]
    assert found.tau2 == pytest.approx(best, abs=1e-4)


def test_without_heterogeneity_it_is_the_fixed_mean() -> None:
    y, v = np.array([0.1, 0.11, 0.09]), np.array([0.1, 0.2, 0.3])
    for method in ("reml", "dl"):
        found = meta_analysis(y, v, method=method)
        assert found.tau2 == pytest.approx(0.0, abs=1e-9)
        assert found.mean == pytest.approx((y / v).sum() / (1 / v).sum(), rel=1e-6)
    assert found.predicted is not None
    assert meta_analysis(y[:2], v[:2]).predicted is None
    assert found.predicted[0] < found.low < found.mean < found.high < found.predicted[1]


def test_effects_of_collections() -> None:
    rng = np.random.default_rng(1)
    collections = [effect(rng.random(n), rng.random(n)) for n in (20, 50)]
    y, v = effects_of(collections)
    assert y.tolist() == [one.difference for one in collections]
    assert v == pytest.approx([one.sd**2 / one.n for one in collections])
    g, variances = effects_of(collections, "g")
    assert g.tolist() == [one.hedges for one in collections]
    drawn = rng.normal(0.4, 1.0, (40_000, 20))
    simulated = [one.hedges for one in effect_rows(drawn, np.zeros_like(drawn))]
    of_truth = replace(effect(drawn[0], np.zeros(20)), hedges=0.4)
    _, (variance, _) = effects_of([of_truth, collections[1]], "g")
    assert variance == pytest.approx(np.var(simulated), rel=0.05)
    assert (variances > 0).all()


def test_what_makes_no_meta_analysis_is_refused() -> None:
    for y, v in (([0.1], [0.1]), ([0.1, 0.2], [0.1, 0.0]), ([0.1, 0.2], [0.1])):
        with pytest.raises(UsageError, match="two or more effects"):
            meta_analysis(y, v)
    with pytest.raises(UsageError, match="'reml' or 'dl'"):
        meta_analysis(EFFECTS, VARIANCES, method="ml")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no variance"):
        effects_of([effect([0.1, 0.2], [0.1, 0.2])])
