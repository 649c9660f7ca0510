"""Choices are made without the held-out topics and equal those of a plain loop; files say how."""

import csv
from itertools import product
from statistics import fmean

import numpy as np
import pytest
from tuning_cases import Toy, pool_of, shuffled, topic_set, tuned

from adducir.evaluation.evaluator import evaluate
from adducir.experiments.tuning.folds import Folds, Pool, from_file, k_fold
from adducir.experiments.tuning.report import write_report
from adducir.runs.read import read_run
from adducir.runs.run import Run

GRID = {"x": [1, 2, 3], "y": [0.5, 1]}
NDCG = "nDCG(judged_only=True)@5"


def loop(pool, folds, objective):
    """For each fold the chosen setting, and the held-out value of each topic, by plain loops."""
    settings = [{"x": float(x), "y": float(y)} for x, y in product(GRID["x"], GRID["y"])]
    values = [
        evaluate(Toy().run(setting, pool.topics(pool.ids)), pool.qrels, objective).values(objective)
        for setting in settings
    ]
    chosen, held_out = [], {}
    for fold in range(len(folds)):
        means = [fmean(each[row] for row in folds.train(fold)) for each in values]
        best = means.index(max(means))
        chosen.append(settings[best])
        held_out |= {pool.ids[row]: values[best][row] for row in folds.test(fold)}
    return chosen, held_out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("objective", [NDCG, "AP"])
def test_tuning_equals_a_loop(seed, objective):
    pool = pool_of(11, seed)
    folds = k_fold(pool, 3, seed)
    tuning = tuned(GRID, pool, folds, objective)
    chosen, held_out = loop(pool, folds, objective)
    assert [tuning.setting(fold) for fold in range(3)] == chosen
    assert dict(zip(pool.ids, tuning.held_out, strict=True)) == pytest.approx(held_out)
    assert tuning.result == pytest.approx(fmean(held_out.values()))
    evaluated = evaluate(tuning.run, pool.qrels, objective)
    np.testing.assert_allclose(evaluated.values(objective), tuning.held_out, rtol=0, atol=1e-12)


def test_labels_of_a_fold_have_no_part_in_its_choice():
    """However a fold's labels are shuffled, it gets the same setting and the same rankings."""
    pool = pool_of(9)
    folds = k_fold(pool, 3)
    tuning = tuned(GRID, pool, folds, NDCG)
    moved = 0
    for fold, seed in product(range(3), range(6)):
        rows = folds.test(fold)
        other = tuned(GRID, shuffled(pool, rows, seed), folds, NDCG)
        assert other.chosen[fold] == tuning.chosen[fold]
        own = {pool.ids[row] for row in rows}
        frames = [[row for row in one.run.frame.rows() if row[0] in own] for one in (tuning, other)]
        assert frames[0] == frames[1]
        moved += other.chosen != tuning.chosen
    assert moved, "the labels of other folds do matter, or this test shows nothing"


def test_of_equal_settings_the_first_in_the_grid_is_chosen():
    class Flat(Toy):
        def run(self, setting, topics):
            return super().run({"x": setting["x"]}, topics)  # y changes nothing

    pool = pool_of(8)
    tuning = tuned(GRID, pool, k_fold(pool, 2), NDCG, Flat())
    assert all(tuning.setting(fold)["y"] == 0.5 for fold in range(2))
    assert all(len(tuning.best(fold)) >= 2 for fold in range(2))
    # y is tied at both of its ends: nothing lies beyond.
    assert not any(name == "y" for name, *_ in tuning.edges)


def test_topics_are_averaged_not_folds():
    """Folds of 1 and 3 topics: each topic counts the same."""
    pool = pool_of(4)
    folds = Folds(("small", "large"), np.array([0, 1, 1, 1]), "uneven")
    tuning = tuned(GRID, pool, folds, NDCG)
    means = [tuning.test[fold, tuning.chosen[fold]] for fold in range(2)]
    assert tuning.result == pytest.approx((means[0] + 3 * means[1]) / 4)
    assert any("2 topics" in line or "1 topics" in line for line in tuning.warnings())


def test_topics_without_query_count_0_and_those_without_judgements_do_not_count():
    qids = [str(qid) for qid in range(1, 13)]
    pool = Pool.of([topic_set("one", qids, searched=[*qids[1:], "99"])])
    tuning = tuned(GRID, pool, k_fold(pool, 3), NDCG)
    assert tuning.held_out[0] == 0
    assert len(tuning.held_out) == 12
    assert set(tuning.run.qids) == set(qids[1:])
    assert "99" in " ".join(tuning.warnings())
    # A fold of nothing but such topics.
    folds = Folds(("a", "b"), np.array([0] + [1] * 11), "by hand")
    assert tuned(GRID, pool, folds, "AP").held_out[0] == 0


def test_edges_are_counted():
    class Peak(Toy):
        def run(self, setting, topics):
            """The ideal ranking for x = 3, by chance else."""
            return best if setting["x"] == 3 else super().run(setting, topics)

    pool = pool_of(12)
    best = Run.ranked(pool.qrels.frame.rename({"grade": "score"}), "ideal")
    tuning = tuned(GRID, pool, k_fold(pool, 2), NDCG, Peak())
    assert tuning.edges == {("x", 3, "largest"): 2}
    assert tuning.result == 1


def two_years(shared=False):
    other = ["1", "2", "3"] if shared else ["51", "52", "53"]
    return Pool.of([topic_set("2020", ["1", "2", "3", "4"]), topic_set("year 2021", other)])


def rows(path):
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_topic_sets_that_share_qids_have_a_run_each(tmp_path):
    pool = two_years(shared=True)
    tuning = tuned({"x": [1, 2]}, pool, k_fold(pool, 2), NDCG)
    files = write_report(tuning, tmp_path)
    held_out = []
    for name, each in zip(("2020", "year_2021"), pool.sets, strict=True):
        run = read_run(files[f"held-out.{name}.trec.gz"])
        held_out += evaluate(run, each.qrels, NDCG).values(NDCG).tolist()
    np.testing.assert_allclose(held_out, tuning.held_out, rtol=0, atol=1e-12)
    assert from_file(pool, files["folds.json"]).of.tolist() == tuning.folds.of.tolist()
    train = [
        line
        for line in rows(files["grid.csv"])
        if (line["x"], line["fold"], line["part"]) == ("1", "1", "train")
    ]
    assert [line["topic set"] for line in train] == ["all", "2020", "year 2021"]
    total = sum(int(line["topics"]) * float(line[f"mean {NDCG}"]) for line in train[1:])
    assert total / int(train[0]["topics"]) == pytest.approx(float(train[0][f"mean {NDCG}"]))
