"""The model confidence set against arch, topic set size against statsmodels, ppi_py's means."""

import numpy as np
import pytest
from drawn import compared, similar
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy import stats
from scipy.stats import ttest_1samp
from statsmodels.stats.power import TTestPower

from adducir.core.errors import UsageError
from adducir.statistics.comparison import topics_needed
from adducir.statistics.corrections import confidence_sets, error_variance
from adducir.statistics.prediction_powered import powered_mean


def p_best(values, *, falls: bool = False, samples: int = 999) -> np.ndarray:
    return confidence_sets(np.asarray(values)[None], [falls], samples=samples)[0]


@pytest.mark.parametrize(("systems", "seed"), [(2, 1), (6, 2), (10, 3)])
def test_the_set_is_archs_model_confidence_set(systems: int, seed: int) -> None:
    from arch.bootstrap import MCS  # which takes seconds to import

    values = similar(systems, 50, 0.06, seed)
    theirs = MCS(1 - values.T, 0.1, reps=8_000, block_size=1, bootstrap="circular", seed=4)
    theirs.compute()
    found = p_best(values, samples=8_000)
    assert found == pytest.approx(theirs.pvalues["Pvalue"].sort_index(), abs=0.03)
    assert np.flatnonzero(found > 0.1).tolist() == theirs.included
    assert found.max() == 1.0


def test_lower_may_be_better_and_measures_share_samples() -> None:
    values = similar(5, 40, 0.4, seed=5)
    assert (p_best(values) == p_best(-values, falls=True)).all()
    several = confidence_sets(np.stack([values, -values]), [False, True], samples=999)
    assert (several == p_best(values)).all()


def test_sure_differences_separate_and_equal_systems_do_not() -> None:
    base = np.random.default_rng(7).random(40)
    wide = np.random.default_rng(8).normal(0, 0.01, (3, 40))
    found = p_best(np.array([base, base + 0.2, base + 0.4]) + wide)
    assert (found > 0.05).tolist() == [False, False, True]
    same = p_best([base, base, base - 0.3 + wide[0]])
    assert (same > 0.05).tolist() == [True, True, False]
    constant = p_best([base, base + 0.25])  # without a warning
    assert (constant > 0.05).tolist() == [False, True]


def test_few_topics_eliminate_nothing_and_one_system_is_the_best() -> None:
    base = np.linspace(0.1, 0.5, 5)
    for shift in (0.3, np.linspace(0.3, 0.31, 5)):
        assert p_best([base, base + shift]).tolist() == [2.0**-4, 1.0]
    assert p_best([[0.1, 0.2, 0.4]]).tolist() == [1.0]


@pytest.mark.parametrize(
    "tests", [{}, {"baseline": "s0"}, {"comparisons": "all-pairs"}, {"equivalence": 0.1}]
)
def test_a_comparison_has_the_set_on_request(tests: dict[str, object]) -> None:
    values = similar(6, 40, 0.1, seed=3)
    found = compared(np.stack([values, values], axis=2), "AP Judged@5", **tests, best="set")
    expected = p_best(values, samples=10_000).tolist()
    assert found.means.filter(measure="AP")["p_best"].to_list() == expected
    assert found.means.filter(measure="Judged@5")["p_best"].null_count() == 6
    assert found.means["p_best"].min() <= found.testing.alpha
    plain = compared(values, **tests)
    assert plain.means["p_best"].null_count() == 6
    alike = compared(similar(4, 12, 0.0, seed=6), best="set")
    assert alike.means["p_best"].min() > alike.testing.alpha  # which says nothing


@pytest.mark.parametrize(("difference", "alpha", "wanted"), [(0.05, 0.05, 0.8), (0.2, 0.01, 0.95)])
def test_topics_of_a_t_test_are_statsmodels(difference: float, alpha: float, wanted: float) -> None:
    theirs = TTestPower().solve_power(difference / 0.15, None, alpha, wanted)
    assert topics_needed(difference, 0.15, alpha, wanted) == int(np.ceil(theirs))


@pytest.mark.parametrize(("effect", "alpha"), [(1.0, 0.001), (5.0, 0.01), (0.2, 0.01), (20, 0.05)])
def test_topics_where_statsmodels_is_undefined(effect: float, alpha: float) -> None:
    """The far tail of the noncentral t is NaN for some sizes; simulated power is not."""
    topics = topics_needed(effect, 1.0, alpha, 0.9)
    draw = np.random.default_rng(8).normal(effect, 1, (4000, topics))
    powers = [ttest_1samp(draw[:, :n], 0, axis=1).pvalue < alpha for n in (topics, topics - 1)]
    assert powers[0].mean() > 0.88
    assert topics == 2 or powers[1].mean() < 0.92


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
def test_the_mean_is_ppi_pys_and_the_interval_students(seed: int) -> None:
    human, model, alone = drawn(seed)
    found = powered_mean(human, model, alone, level=0.9)
    low, high = (float(end[0]) for end in ppi_mean_ci(human, model, alone, alpha=0.1))
    assert (found.low + found.high) / 2 == pytest.approx((low + high) / 2, rel=1e-6)
    errors, guesses = human - found.weight * model, found.weight * alone
    variance = errors.var(ddof=2) / 40 + guesses.var() / 400
    expected = stats.t.ppf(0.95, 38) * variance**0.5
    assert found.high - found.mean == pytest.approx(expected)
    assert expected > (high - low) / 2
    point = ppi_mean_pointestimate(human, model, alone)
    assert found.mean == pytest.approx(float(np.ravel(point)[0]), rel=1e-6)


@pytest.mark.parametrize(("humans", "others"), [(5, 50), (10, 5), (20, 100)])
def test_few_human_judgements_are_covered_as_often_as_claimed(humans: int, others: int) -> None:
    """.816 to .925 with ppi_py's normal intervals (benchmarks/prediction_powered.py)."""
    rng, covered = np.random.default_rng(humans), 0
    for _ in range(2000):
        human = rng.normal(size=humans + others)
        model = 0.9 * human + 0.4 * rng.normal(size=humans + others)
        found = powered_mean(human[:humans], model[:humans], model[humans:])
        covered += found.low <= 0 <= found.high
    assert 0.94 <= covered / 2000 <= 0.98


def test_judgements_that_do_not_fit_are_refused() -> None:
    human, model, alone = drawn(1)
    for wrong in (
        (human, model[:3], alone),
        (human[:2], model[:2], alone),
        (human, model, np.full(5, np.nan)),
    ):
        with pytest.raises(UsageError):
            powered_mean(*wrong)
