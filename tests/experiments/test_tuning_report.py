"""The files of a tuning say what happened."""

import csv
import json
import re
from itertools import product
from statistics import fmean
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
from tuning_cases import Toy, pool_of, topic_set

from adducir.evaluation.evaluator import evaluate
from adducir.experiments.tuning.folds import Pool, by_topic_set, from_file, k_fold
from adducir.experiments.tuning.heatmap import draw
from adducir.experiments.tuning.report import write_report
from adducir.experiments.tuning.tune import tune
from adducir.runs.metadata import read_metadata
from adducir.runs.read import read_run

NDCG = "nDCG(judged_only=True)@5"
GRID = {"x": [1, 2.5, 3], "y": [0.5, 1]}


def two_years(shared=False):
    other = ["1", "2", "3"] if shared else ["51", "52", "53"]
    return Pool.of([topic_set("2020", ["1", "2", "3", "4"]), topic_set("year 2021", other)])


@pytest.fixture
def tuned(tmp_path):
    pool = two_years()
    tuning = tune(Toy(), GRID, pool, by_topic_set(pool), NDCG, tag="toy-tuned")
    return tuning, write_report(tuning, tmp_path / "new" / "tuned")


def rows(path):
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_the_whole_grid_is_written(tuned):
    tuning, files = tuned
    lines = rows(files["grid.csv"])
    assert len(lines) == 6 * 2 * 2
    assert {(line["x"], line["y"]) for line in lines} == set(
        product(("1", "2.5", "3"), ("0.5", "1"))
    )
    values = {
        (line["x"], line["y"], line["fold"], line["part"]): float(line[f"mean {NDCG}"])
        for line in lines
    }
    assert len(values) == len(lines)
    # What one fold is trained on is what the other is tested on.
    for x, y in product(("1", "2.5", "3"), ("0.5", "1")):
        assert values[x, y, "2020", "train"] == values[x, y, "year 2021", "test"]
        assert values[x, y, "2020", "test"] == values[x, y, "year 2021", "train"]
    assert {line["topics"] for line in lines if line["topic set"] == "2020"} == {"4"}
    for fold, name in enumerate(tuning.folds.names):
        own = [line for line in lines if line["fold"] == name and line["chosen"] == "1"]
        assert {line["part"] for line in own} == {"train", "test"}
        setting = {key: float(own[0][key]) for key in GRID}
        assert setting == tuning.setting(fold)
        best = max(v for (_, _, f, part), v in values.items() if (f, part) == (name, "train"))
        assert values[own[0]["x"], own[0]["y"], name, "train"] == best


def test_topic_sets_have_lines_of_their_own(tmp_path):
    pool = two_years()
    tuning = tune(Toy(), {"x": [1, 2]}, pool, k_fold(pool, 2), NDCG)
    lines = rows(write_report(tuning, tmp_path)["grid.csv"])
    for fold in ("1", "2"):
        own = [
            line
            for line in lines
            if (line["x"], line["fold"], line["part"]) == ("1", fold, "train")
        ]
        assert [line["topic set"] for line in own] == ["all", "2020", "year 2021"]
        total = sum(int(line["topics"]) * float(line[f"mean {NDCG}"]) for line in own[1:])
        assert total / int(own[0]["topics"]) == pytest.approx(float(own[0][f"mean {NDCG}"]))


def test_every_topic_has_its_held_out_value(tuned):
    tuning, files = tuned
    lines = rows(files["held-out.csv"])
    assert [line["qid"] for line in lines] == list(tuning.pool.qids)
    assert fmean(float(line[NDCG]) for line in lines) == pytest.approx(tuning.result)
    for line in lines:
        fold = tuning.folds.names.index(line["fold"])
        assert line["fold"] == line["topic set"]
        assert {key: float(line[key]) for key in GRID} == tuning.setting(fold)


def test_the_facts(tuned):
    tuning, files = tuned
    facts = json.loads(files["tuning.json"].read_text(encoding="utf-8"))
    assert facts["grid"] == GRID
    assert (facts["settings"], facts["topics"]) == (6, 7)
    assert facts["objective"] == NDCG
    assert facts["rule of folds"] == "each topic set is a fold"
    assert "first setting in the grid" in facts["ties"]
    assert [fold["chosen"] for fold in facts["folds"]] == [tuning.setting(0), tuning.setting(1)]
    assert [fold["training topics"] for fold in facts["folds"]] == [3, 4]
    assert facts["held-out mean"] == tuning.result
    assert facts["warnings"] == tuning.warnings()


def test_the_pooled_run_is_a_run_like_any_other(tuned):
    tuning, files = tuned
    run = read_run(files["held-out.trec.gz"])
    assert run.tag == "toy-tuned"
    values = evaluate(run, tuning.pool.qrels, NDCG).of(NDCG)
    np.testing.assert_allclose(values, tuning.held_out, rtol=0, atol=1e-12)
    about = read_metadata(files["held-out.trec.gz"])
    assert [fold["chosen"] for fold in about["method"]["tuning"]["folds"]] == [
        tuning.setting(0),
        tuning.setting(1),
    ]


def test_topic_sets_that_share_qids_have_a_run_each(tmp_path):
    pool = two_years(shared=True)
    tuning = tune(Toy(), GRID, pool, by_topic_set(pool), NDCG)
    files = write_report(tuning, tmp_path)
    names = ["held-out.2020.trec.gz", "held-out.year_2021.trec.gz"]
    assert [name for name in files if name.endswith(".gz")] == names
    held_out = []
    for name, each in zip(names, pool.sets, strict=True):
        held_out += evaluate(read_run(files[name]), each.qrels, NDCG).of(NDCG).tolist()
    np.testing.assert_allclose(held_out, tuning.held_out, rtol=0, atol=1e-12)
    again = from_file(pool, files["folds.json"])
    assert again.of.tolist() == tuning.folds.of.tolist()


def test_folds_can_be_used_again(tmp_path):
    pool = pool_of(10)
    tuning = tune(Toy(), {"x": [1, 2]}, pool, k_fold(pool, 3), NDCG)
    again = from_file(pool, write_report(tuning, tmp_path)["folds.json"])
    assert again.names == ("1", "2", "3")
    assert again.of.tolist() == tuning.folds.of.tolist()


def test_equal_tunings_give_equal_files(tmp_path):
    pool = pool_of(8)
    kept = ("grid.csv", "held-out.csv", "folds.json", "grid.svg", "held-out.trec.gz")
    files = [
        write_report(tune(Toy(), GRID, pool, k_fold(pool, 2), NDCG), tmp_path / str(time))
        for time in range(2)
    ]
    for name in kept:
        assert files[0][name].read_bytes() == files[1][name].read_bytes()


def cells(svg):
    """What stands in the map's cells, how many are outlined, and all texts."""
    root = ET.fromstring(svg)
    texts = [text.strip() for text in root.itertext() if text.strip()]
    values = [text for text in texts if re.fullmatch(r"\d\.\d{3}", text)]
    return values, len(re.findall(r"<path[^>]*stroke: #d4380d", svg)), " | ".join(texts)


def test_the_heat_map_shows_every_cell(tuned):
    tuning, files = tuned
    values, outlined, text = cells(files["grid.svg"].read_text(encoding="utf-8"))
    means = [f"{tuning.training[fold, n]:.3f}" for fold in range(2) for n in (0, 2, 4, 1, 3, 5)]
    assert values == means  # across: x, down: y
    assert outlined == 2
    assert "fold 2020 held out: means over the 3 other topics" in text


@pytest.mark.parametrize(
    ("grid", "panels", "message"),
    [
        ({"x": [1, 2, 3]}, 3, "| x |"),
        ({"x": [1]}, 1, "| x |"),
        ({"x": [1, 2], "y": [1, 2, 3], "z": [1, 2]}, 12, "z = 2"),
        ({"x": [1, 2], "y": [1, 2, 3], "z": [1], "w": [1, 2]}, 12, "z = 1"),
        ({"x": [1, 2, 3], "y": [1, 2, 3], "z": [1, 2, 3], "w": [1, 2, 3]}, 9, "best over z, w"),
        ({"x": list(range(10))}, 10, "| x |"),
    ],
)
def test_heat_maps_of_other_grids(grid, panels, message):
    pool = pool_of(6)
    tuning = tune(Toy(tuple("xyzw")), grid, pool, k_fold(pool, 2), NDCG)
    values, outlined, text = cells(draw(tuning))
    assert (len(values), outlined) == (panels * 2, 2)
    assert message in text


def test_best_over_others_is_the_best():
    pool = pool_of(6)
    grid = {name: [1, 2, 3] for name in "xyzw"}
    tuning = tune(Toy(tuple("xyzw")), grid, pool, k_fold(pool, 2), NDCG)
    values, _, _ = cells(draw(tuning))
    best = tuning.training[0].reshape(3, 3, 9).max(2).T
    assert values[:9] == [f"{value:.3f}" for value in best.ravel()]


def test_many_folds_share_a_map():
    pool = pool_of(9)
    tuning = tune(Toy(), GRID, pool, k_fold(pool, 9), NDCG)
    values, outlined, text = cells(draw(tuning))
    assert len(values) == 6
    assert outlined == len(set(tuning.chosen))
    assert "means over all 9 topics" in text
    assert "chosen in some of 9 folds" in text


def test_a_flat_grid_and_odd_names_can_be_drawn():
    class Flat(Toy):
        def run(self, setting, topics):
            return super().run({"x": 0}, topics)

    pool = Pool.of([topic_set("<a> & $b", list("123")), topic_set("c", list("456"))])
    tuning = tune(Flat(), GRID, pool, by_topic_set(pool), NDCG)
    values, outlined, text = cells(draw(tuning))
    assert (len(values), outlined) == (12, 2)
    assert "fold <a> & $b held out" in text


def test_pooled_rows_stand_in_the_order_of_the_topics(tuned):
    tuning, _ = tuned
    assert tuning.run.qids == list(tuning.pool.ids)
    by_topic = tuning.run.frame.group_by("qid", maintain_order=True).agg(pl.col("score"))
    assert all(scores == sorted(scores, reverse=True) for scores in by_topic["score"].to_list())
