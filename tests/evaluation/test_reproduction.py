"""Reproduction measures against repro_eval."""

from dataclasses import replace
from math import isnan

import numpy as np
import polars as pl
import pytest
from evaluation_cases import table_of
from repro_eval.measure.document_order import RBO
from repro_eval.measure.effectiveness import RMSE
from repro_eval.measure.overall_effects import DRI, ER

from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.evaluation.reproduction import compare_effects, overlap_of_runs
from adducir.evaluation.scores import Scores
from adducir.runs.run import Run

TOPICS = [str(topic) for topic in range(1, 8)]


def rankings(seed: int, noise: float) -> dict[str, dict[str, float]]:
    """Distinct scores around shared ones, the best first; 30 of 40 documents a topic."""
    shared, own = np.random.default_rng(0), np.random.default_rng(seed)
    found = {}
    for qid in TOPICS:
        scores = shared.normal(0, 1, 40) + own.normal(0, noise, 40)
        best = np.argsort(-scores)[:30]
        found[qid] = {f"d{document:02}": float(scores[document]) for document in best}
    return found


RUNS = {
    name: rankings(seed, noise)
    for name, seed, noise in (
        ("original", 1, 0.1),
        ("reproduced", 2, 0.5),
        ("base", 3, 2.0),
        ("base again", 4, 2.5),
    )
}


def evaluated() -> list[Scores]:
    rng = np.random.default_rng(5)
    qrels = {q: {f"d{d:02}": int(g) for d, g in enumerate(rng.integers(0, 2, 40))} for q in TOPICS}
    evaluator = Evaluator(Qrels.of(qrels), "AP nDCG@10")
    return [evaluator.score(Run.of(run, tag=name)) for name, run in RUNS.items()]


def theirs(one: Scores) -> dict[str, dict[str, float]]:
    names, rows = ("map", "ndcg_cut_10"), zip(one.qids, table_of(one), strict=True)
    return {qid: dict(zip(names, row, strict=True)) for qid, row in rows}


@pytest.mark.parametrize("depth", [10, 1000])
def test_orders_are_repro_eval(depth: int) -> None:
    first, second = RUNS["original"], RUNS["reproduced"]
    found = overlap_of_runs(Run.of(first, tag="a"), Run.of(second, tag="b"), depth=depth)
    copies = [{q: dict(row) for q, row in run.items()} for run in (first, second)]
    assert found == (pytest.approx(RBO(*copies, 0.8, depth, False, False), rel=1e-9), 7)
    same = overlap_of_runs(Run.of(first, tag="a"), Run.of(first, tag="b"), depth=depth)
    assert same[0] == pytest.approx(1.0, abs=1e-3)


def test_effects_are_repro_eval() -> None:
    original, reproduced, base, again = evaluated()
    found = compare_effects(original, reproduced, (base, again))
    arguments = [theirs(one) for one in (original, base, reproduced, again)]
    rmse = RMSE(arguments[0], arguments[2])
    ratio, delta = ER(*arguments), DRI(*arguments)
    for ours, name in (("AP", "map"), ("nDCG@10", "ndcg_cut_10")):
        assert found[ours].rmse == pytest.approx(rmse[name], rel=1e-9)
        assert found[ours].effect_ratio == pytest.approx(ratio[name], rel=1e-9)
        assert found[ours].delta_improvement == pytest.approx(delta[name], rel=1e-9)
    assert compare_effects(original, original)["AP"].rmse == 0.0
    elsewhere = replace(reproduced, frame=reproduced.frame.filter(pl.col("qid") != "1"))
    assert isnan(compare_effects(original, elsewhere)["AP"].rmse)
