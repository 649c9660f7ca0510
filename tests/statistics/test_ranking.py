"""The model confidence set against arch, and rank intervals against what they mean."""

import numpy as np
import pytest
from arch.bootstrap import MCS
from drawn import compared, similar

from adducir.statistics.ranking import confidence_sets, ranking


@pytest.mark.parametrize(("systems", "seed"), [(2, 1), (6, 2), (10, 3)])
def test_the_set_is_archs_model_confidence_set(systems: int, seed: int) -> None:
    values = similar(systems, 50, 0.06, seed)
    theirs = MCS(1 - values.T, 0.1, reps=8_000, block_size=1, bootstrap="circular", seed=4)
    theirs.compute()
    found = ranking(values, alpha=0.1, samples=8_000)
    assert found.p_best == pytest.approx(theirs.pvalues["Pvalue"].sort_index(), abs=0.03)
    assert np.flatnonzero(found.best).tolist() == theirs.included
    assert found.p_best.max() == 1.0


def test_lower_may_be_better_and_measures_share_samples() -> None:
    values = similar(5, 40, 0.4, seed=5)
    found = ranking(values, samples=500)
    turned = ranking(-values, lower_is_better=True, samples=500)
    assert found.rank.tolist() == turned.rank.tolist() == [5, 4, 3, 2, 1]
    assert (found.p_best == turned.p_best).all()
    assert (found.high == turned.high).all()
    several = confidence_sets(np.stack([values, -values]), [False, True], samples=500)
    assert (several == found.p_best).all()


def test_intervals_of_ranks_by_hand() -> None:
    values = similar(4, 30, 0.05, seed=6)
    found = ranking(values, samples=4_000, seed=1)
    drawn = values[:, np.random.default_rng(9).integers(0, 30, (4_000, 30))].mean(axis=2)
    ranks = 1 + (drawn[None] > drawn[:, None]).sum(axis=1)
    low, high = np.quantile(ranks, [0.025, 0.975], axis=1, method="inverted_cdf")
    assert np.abs(found.low - low).max() <= 1
    assert np.abs(found.high - high).max() <= 1
    for low, high in (
        (found.low, found.high),
        (found.simultaneous_low, found.simultaneous_high),
    ):
        assert (low <= found.rank).all()
        assert (found.rank <= high).all()


def test_sure_differences_separate_and_equal_systems_do_not() -> None:
    base = np.random.default_rng(7).random(40)
    wide = np.random.default_rng(8).normal(0, 0.01, (3, 40))
    found = ranking(np.array([base, base + 0.2, base + 0.4]) + wide, samples=999)
    assert found.best.tolist() == [False, False, True]
    for end in (found.low, found.high, found.simultaneous_low, found.simultaneous_high):
        assert end.tolist() == [3, 2, 1]
    same = ranking(np.array([base, base, base - 0.3 + wide[0]]), samples=999)
    assert same.rank.tolist() == [1, 1, 3]
    assert same.best.tolist() == [True, True, False]
    assert same.simultaneous_high.tolist() == [2, 2, 3]
    constant = ranking(np.array([base, base + 0.25]), samples=999)  # without a warning
    assert constant.best.tolist() == [False, True]


def test_few_topics_eliminate_nothing_and_one_system_is_the_best() -> None:
    base = np.linspace(0.1, 0.5, 5)
    for shift in (0.3, np.linspace(0.3, 0.31, 5)):
        few = ranking(np.array([base, base + shift]), samples=999)
        assert (few.p_best.tolist(), few.best.all()) == ([2.0**-4, 1.0], True)
    alone = ranking(np.array([[0.1, 0.2, 0.4]]))
    assert (alone.best.tolist(), alone.low.tolist(), alone.high.tolist()) == ([True], [1], [1])


@pytest.mark.slow
def test_the_set_and_the_intervals_keep_their_level() -> None:
    """All systems equal: 1 - alpha of the sets hold them all, and of the intervals all ranks."""
    rng = np.random.default_rng(10)
    whole = [
        ranking(rng.beta(1, 2, 30) + rng.normal(0, 0.1, (5, 30)), alpha=0.1, samples=500)
        for _ in range(400)
    ]
    assert np.mean([one.best.all() for one in whole]) > 0.84  # .857 with 30 topics
    sure = [(r.simultaneous_low == 1).all() and (r.simultaneous_high == 5).all() for r in whole]
    assert np.mean(sure) > 0.86


@pytest.mark.parametrize(
    "tests", [{}, {"baseline": "s0"}, {"comparisons": "all-pairs"}, {"equivalence": 0.1}]
)
def test_a_comparison_has_the_set_on_request(tests: dict[str, object]) -> None:
    values = similar(6, 40, 0.1, seed=3)
    found = compared(np.stack([values, values], axis=2), "AP Judged@5", **tests, best="set")
    expected = ranking(values).p_best.tolist()
    assert found.means.filter(measure="AP")["p_best"].to_list() == expected
    assert found.means.filter(measure="Judged@5")["p_best"].null_count() == 6
    assert found.undecided == set()
    plain = compared(values, **tests)
    assert plain.means["p_best"].null_count() == 6
    alike = compared(similar(4, 12, 0.0, seed=6), best="set")
    assert alike.undecided == {("", "AP")}
