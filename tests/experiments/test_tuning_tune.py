"""Choices are made without the held-out topics, and equal those of a plain loop."""

import random
from statistics import fmean

import numpy as np
import pytest
from tuning_cases import Toy, pool_of, shuffled, topic_set

from adducir.core.errors import UsageError
from adducir.evaluation.evaluator import evaluate
from adducir.experiments.tuning import tune as module
from adducir.experiments.tuning.folds import Folds, Pool, by_topic_set, k_fold
from adducir.experiments.tuning.grid import Grid
from adducir.experiments.tuning.tune import tune
from adducir.runs.run import Run

GRID = {"x": [1, 2, 3], "y": [0.5, 1]}
NDCG = "nDCG(judged_only=True)@5"


def loop(pool, folds, objective, grid=GRID):
    """For each fold the chosen setting, and the held-out value of each topic, by plain loops."""
    settings = [
        {"x": float(x), "y": float(y)} for x in sorted(grid["x"]) for y in sorted(grid["y"])
    ]
    values = [
        evaluate(Toy().run(setting, pool.topics(pool.ids)), pool.qrels, objective).of(objective)
        for setting in settings
    ]
    chosen, held_out = [], {}
    for fold in range(len(folds)):
        means = [fmean(each[row] for row in folds.train(fold)) for each in values]
        best = means.index(max(means))
        chosen.append(settings[best])
        held_out |= {pool.ids[row]: values[best][row] for row in folds.test(fold)}
    return chosen, held_out


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("objective", [NDCG, "AP", "infAP"])
def test_tuning_equals_a_loop(seed, objective):
    pool = pool_of(11, seed)
    folds = k_fold(pool, 3, seed)
    tuning = tune(Toy(), GRID, pool, folds, objective)
    chosen, held_out = loop(pool, folds, objective)
    assert [tuning.setting(fold) for fold in range(3)] == chosen
    assert dict(zip(pool.ids, tuning.held_out, strict=True)) == pytest.approx(held_out)
    assert tuning.result == pytest.approx(fmean(held_out.values()))
    evaluated = evaluate(tuning.run, pool.qrels, objective)
    np.testing.assert_allclose(evaluated.of(objective), tuning.held_out, rtol=0, atol=1e-12)


@pytest.mark.parametrize("objective", [NDCG, "AP", "infAP"])
def test_labels_of_a_fold_have_no_part_in_its_choice(objective):
    """However a fold's labels are shuffled, it gets the same setting and the same rankings."""
    pool = pool_of(9)
    folds = k_fold(pool, 3)
    tuning = tune(Toy(), GRID, pool, folds, objective)
    moved = 0
    for fold in range(3):
        for seed in range(6):
            other = tune(Toy(), GRID, shuffled(pool, folds.test(fold), seed), folds, objective)
            assert other.chosen[fold] == tuning.chosen[fold]
            own = [pool.ids[row] for row in folds.test(fold)]
            assert rows_of(tuning.run, own) == rows_of(other.run, own)
            # The held-out figures, by the true labels, are those of before.
            rows = folds.test(fold)
            values = evaluate(other.run, pool.qrels, objective).of(objective)
            np.testing.assert_allclose(values[rows], tuning.held_out[rows], atol=1e-12)
            moved += other.chosen != tuning.chosen
    assert moved, "the labels of other folds do matter, or this test shows nothing"


def rows_of(run, qids):
    return [row for row in run.frame.rows() if row[0] in set(qids)]


def test_labels_of_a_year_have_no_part_in_its_choice():
    pool = Pool.of([topic_set("2020", list("12345")), topic_set("2021", list("1234"))])
    folds = by_topic_set(pool)
    tuning = tune(Toy(), GRID, pool, folds, NDCG)
    for fold in range(2):
        for seed in range(8):
            changed = shuffled(pool, folds.test(fold), seed)
            assert tune(Toy(), GRID, changed, folds, NDCG).chosen[fold] == tuning.chosen[fold]


def test_every_setting_is_run_once():
    pool, toy = pool_of(10), Toy()
    found = tune(toy, GRID, pool, k_fold(pool, 5), NDCG)
    assert len(set(toy.arguments[:6])) == 6
    # What is chosen is searched once more.
    assert len(toy.arguments) == 6 + len(set(found.chosen))
    assert all(topics == pool.ids for _, topics in toy.arguments)


def test_the_order_of_work_changes_nothing():
    pool = pool_of(10)
    folds = k_fold(pool, 5)
    one = tune(Toy(), GRID, pool, folds, NDCG)
    for seed in range(5):
        order = random.Random(seed).sample(range(6), 6)
        two = tune(Toy(order=order), GRID, pool, folds, NDCG)
        assert two.chosen == one.chosen
        assert two.run.frame.equals(one.run.frame)
        np.testing.assert_array_equal(one.values, two.values)


def test_topics_in_portions_change_nothing(monkeypatch):
    pool = pool_of(10)
    folds = k_fold(pool, 5)
    one = tune(Toy(), GRID, pool, folds, NDCG)
    monkeypatch.setattr(module, "MOST_TOPICS", 3)
    two = tune(Toy(), GRID, pool, folds, NDCG)
    assert two.chosen == one.chosen
    assert two.run.frame.equals(one.run.frame)
    np.testing.assert_array_equal(one.values, two.values)


@pytest.mark.parametrize("order", [None, [5, 4, 3, 2, 1, 0]])
def test_of_equal_settings_the_first_in_the_grid_is_chosen(order):
    class Flat(Toy):
        def run(self, setting, topics):
            return super().run({"x": setting["x"]}, topics)  # y changes nothing

    pool = pool_of(8)
    tuning = tune(Flat(order=order), GRID, pool, k_fold(pool, 2), NDCG)
    assert all(tuning.setting(fold)["y"] == 0.5 for fold in range(2))
    assert all(len(tuning.best(fold)) >= 2 for fold in range(2))
    assert any("settings have the best training mean" in line for line in tuning.warnings())
    # y is tied at both of its ends: nothing lies beyond.
    assert not any(edge.name == "y" for edge in tuning.edges)


def test_topics_are_averaged_not_folds():
    """Folds of 1 and 3 topics: each topic counts the same."""
    pool = pool_of(4)
    folds = Folds(("small", "large"), np.array([0, 1, 1, 1]), "uneven")
    tuning = tune(Toy(), GRID, pool, folds, NDCG)
    means = [tuning.test[fold, tuning.chosen[fold]] for fold in range(2)]
    assert tuning.result == pytest.approx((means[0] + 3 * means[1]) / 4)
    assert tuning.result != pytest.approx(fmean(means))


def test_topics_without_query_count_0_and_those_without_judgements_do_not_count():
    qids = [str(qid) for qid in range(1, 13)]
    pool = Pool.of([topic_set("one", qids, searched=[*qids[1:], "99"])])
    tuning = tune(Toy(), GRID, pool, k_fold(pool, 3), NDCG)
    assert tuning.held_out[0] == 0
    assert len(tuning.held_out) == 12
    assert set(tuning.run.qids) == set(qids[1:])
    message = " ".join(tuning.warnings())
    assert "1 topics have no judgements and took no part: 99" in message
    assert "1 topics have judgements and no query, and count 0: 1" in message


def test_nothing_but_unsearchable_topics_in_a_fold():
    pool = Pool.of([topic_set("one", ["1", "2", "3"], searched=["2", "3"])])
    folds = Folds(("a", "b"), np.array([0, 1, 1]), "by hand")
    tuning = tune(Toy(), GRID, pool, folds, "infAP")
    assert tuning.held_out[0] == 0
    # Fold b is tuned on a topic that nothing can find: all tie, the first is taken.
    assert tuning.chosen[1] == 0


def test_edges_are_counted():
    class Peak(Toy):
        def run(self, setting, topics):
            """The ideal ranking for x = 3, by chance else."""
            return best if setting["x"] == 3 else super().run(setting, topics)

    pool = pool_of(12)
    best = ideal(pool)
    tuning = tune(Peak(), GRID, pool, k_fold(pool, 2), NDCG)
    (edge,) = tuning.edges
    assert (edge.name, edge.value, edge.largest, edge.folds) == ("x", 3, True, 2)
    message = (
        "x = 3, the largest value tried, was chosen in 2 of 2 folds: a better one may lie beyond"
    )
    assert message in tuning.warnings()
    assert tuning.result == 1


def ideal(pool):
    """The run that ranks by grade."""
    return Run.ranked(pool.qrels.frame.rename({"grade": "score"}), "ideal")


def test_few_topics_are_reported():
    pool = pool_of(4)
    assert any(
        "chosen on 2 topics only" in line
        for line in tune(Toy(), GRID, pool, k_fold(pool, 2), NDCG).warnings()
    )


def test_slips_are_reported_before_anything_runs():
    pool, toy = pool_of(4), Toy()
    folds = k_fold(pool, 2)
    with pytest.raises(UsageError, match="no parameter `z`"):
        tune(toy, {"z": [1]}, pool, folds, NDCG)
    with pytest.raises(UsageError, match="nDGC"):
        tune(toy, GRID, pool, folds, "nDGC@5")

    class Strict(Toy):
        def check(self, setting):
            if setting["x"] == 3:
                raise UsageError("not 3.")

    strict = Strict()
    with pytest.raises(UsageError, match="not 3"):
        tune(strict, GRID, pool, folds, NDCG)
    assert toy.arguments == strict.arguments == []


def test_a_ready_grid_is_taken():
    pool = pool_of(6)
    folds = k_fold(pool, 2)
    ready = Grid.of(GRID, Toy().hyperparameters)
    assert (
        tune(Toy(), ready, pool, folds, NDCG).chosen == tune(Toy(), GRID, pool, folds, NDCG).chosen
    )
