"""The model confidence set against arch, and rank intervals against what they mean."""

from dataclasses import replace

import numpy as np
import pytest
from arch.bootstrap import MCS

from adducir.core.errors import UsageError
from adducir.evaluation.measures import parse_measures
from adducir.evaluation.scores import Scores
from adducir.statistics.comparison.comparison import compare
from adducir.statistics.ranking import ranking
from adducir.tables.builder import build_table
from adducir.tables.formats.layout import legend


def scores_of(systems: int, topics: int, seed: int, spread: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shift = np.linspace(0, spread, systems)[:, None]
    return rng.beta(2, 3, topics) + shift + rng.normal(0, 0.1, (systems, topics))


@pytest.mark.parametrize(("systems", "seed"), [(2, 1), (6, 2), (10, 3)])
def test_the_set_is_archs_model_confidence_set(systems: int, seed: int) -> None:
    values = scores_of(systems, 50, seed, 0.06)
    theirs = MCS(1 - values.T, 0.1, reps=8_000, block_size=1, bootstrap="circular", seed=4)
    theirs.compute()
    p = theirs.pvalues["Pvalue"].sort_index().to_numpy()
    found = ranking(values, alpha=0.1, samples=8_000)
    assert found.p_best == pytest.approx(p, abs=0.03)
    assert np.flatnonzero(found.best).tolist() == theirs.included
    assert found.p_best.max() == 1.0


def test_lower_may_be_better() -> None:
    values = scores_of(5, 40, 5, 0.4)
    found, turned = (
        ranking(values, samples=500),
        ranking(-values, lower_is_better=True, samples=500),
    )
    assert found.rank.tolist() == turned.rank.tolist() == [5, 4, 3, 2, 1]
    assert (found.p_best == turned.p_best).all()
    assert (found.high == turned.high).all()


def test_intervals_of_ranks_by_hand() -> None:
    values = scores_of(4, 30, 6, 0.05)
    found = ranking(values, samples=4_000, seed=1)
    rng = np.random.default_rng(9)
    drawn = values[:, rng.integers(0, 30, (4_000, 30))].mean(axis=2)
    ranks = 1 + (drawn[None] > drawn[:, None]).sum(axis=1)
    low, high = np.quantile(ranks, [0.025, 0.975], axis=1, method="inverted_cdf")
    assert np.abs(found.low - low).max() <= 1
    assert np.abs(found.high - high).max() <= 1
    assert (found.low <= found.rank).all()
    assert (found.rank <= found.high).all()
    assert (found.surely_low <= found.rank).all()
    assert (found.rank <= found.surely_high).all()


def test_sure_differences_separate_and_equal_systems_do_not() -> None:
    base = np.random.default_rng(7).random(40)
    wide = np.random.default_rng(8).normal(0, 0.01, (3, 40))
    found = ranking(np.array([base, base + 0.2, base + 0.4]) + wide, samples=999)
    assert found.best.tolist() == [False, False, True]
    for low, high in ((found.low, found.high), (found.surely_low, found.surely_high)):
        assert low.tolist() == high.tolist() == [3, 2, 1]
    same = ranking(np.array([base, base, base - 0.3 + wide[0]]), samples=999)
    assert same.rank.tolist() == [1, 1, 3]
    assert same.best.tolist() == [True, True, False]
    assert same.surely_high.tolist() == [2, 2, 3]


def test_a_constant_difference_separates_without_a_warning() -> None:
    base = np.random.default_rng(7).random(40)
    found = ranking(np.array([base, base + 0.25]), samples=999)
    assert found.best.tolist() == [False, True]


def test_few_topics_eliminate_nothing() -> None:
    base = np.linspace(0.1, 0.5, 5)
    for shift in (0.3, np.linspace(0.3, 0.31, 5)):
        few = ranking(np.array([base, base + shift]), samples=999)
        assert (few.p_best.tolist(), few.best.all()) == ([2.0**-4, 1.0], True)


def test_one_system_is_the_best_and_one_topic_is_refused() -> None:
    alone = ranking([[0.1, 0.2, 0.4]])
    assert (alone.best.tolist(), alone.low.tolist(), alone.high.tolist()) == ([True], [1], [1])
    with pytest.raises(UsageError, match="two topics"):
        ranking([[0.1], [0.2]])
    with pytest.raises(UsageError, match="alpha"):
        ranking([[0.1, 0.2], [0.2, 0.3]], alpha=5)


@pytest.mark.slow
def test_the_set_and_the_intervals_keep_their_level() -> None:
    """All systems equal: 1 - alpha of the sets hold them all, and of the intervals all ranks."""
    rng = np.random.default_rng(10)
    whole = [
        ranking(rng.beta(1, 2, 30) + rng.normal(0, 0.1, (5, 30)), alpha=0.1, samples=500)
        for _ in range(400)
    ]
    assert np.mean([one.best.all() for one in whole]) > 0.84  # .857 with 30 topics
    sure = [(one.surely_low == 1).all() and (one.surely_high == 5).all() for one in whole]
    assert np.mean(sure) > 0.86


def test_a_comparison_marks_the_set_and_says_so() -> None:
    values = scores_of(6, 40, 3, 0.1)
    qids = tuple(map(str, range(40)))
    scores = [
        Scores(f"s{k}", qids, tuple(parse_measures("AP Judged@5")), np.column_stack([row, row]))
        for k, row in enumerate(values)
    ]
    found = compare(scores, best="set", samples=2_000)
    ap, judged = found.measures
    (expected,) = found.rankings.values()
    assert expected.p_best.tolist() == ranking(values, samples=2_000).p_best.tolist()
    assert [found.cell(f"s{k}", ap).best for k in range(6)] == expected.best.tolist()
    assert 1 < expected.best.sum() < 6
    assert found.best(ap) == "s5"
    assert not any(found.cell(f"s{k}", judged).best for k in range(6))
    table = build_table(found, scores)
    assert "may be the best of the column." in [text for _, text in legend(table)]
    assert any("level 95%, 2,000 samples, seed 0" in sentence for sentence in table.footer)
    assert "Warning" not in " ".join(table.footer)
    assert compare(scores).rankings == {}
    assert compare(scores[:1], best="set").rankings == {}
    few = [replace(one, qids=qids[:19], values=one.values[:19]) for one in scores]
    text = " ".join(build_table(compare(few, best="set", samples=99), few).footer)
    assert "Warning: with fewer than 20 topics, it lacks a best system" in text
