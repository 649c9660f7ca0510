"""Fusion weights and rerank depth can be tuned like a search."""

import random

import polars as pl
import pytest
from tuning_cases import DOCUMENTS, Toy, pool_of

from adducir.core.errors import UsageError
from adducir.experiments.tuning.folds import k_fold
from adducir.experiments.tuning.systems import Fusion, RerankDepth
from adducir.experiments.tuning.tune import tune
from adducir.runs.fusion import fuse
from adducir.runs.run import Run

POOL = pool_of(8)
TOPICS = POOL.topics(POOL.ids)
ONE, TWO, THREE = (Toy().run({"x": x}, TOPICS) for x in (1, 2, 3))


def tag(run, name):
    return Run(run.frame, name)


@pytest.mark.parametrize("method", ["rrf", "combsum", "combmnz"])
def test_a_fusion_is_that_of_the_runs_package(method):
    system = Fusion({"a": ONE, "b": TWO, "c": THREE}, method, depth=7)
    weights = {"weights.a": 0.25, "weights.c": 2.0}
    k = {"k": 10.0} if method == "rrf" else {}
    run = system.run({**weights, **k}, TOPICS)
    other = fuse([ONE, TWO, THREE], method, weights=[0.25, 1, 2], depth=7, **k)
    assert run.frame.equals(other.frame)
    assert list(system.hyperparameters) == [*k, "weights.a", "weights.b", "weights.c"]


def test_a_good_run_gets_its_weight():
    good = Run.ranked(POOL.qrels.frame.rename({"grade": "score"}), "good")
    system = Fusion({"bad": ONE, "good": good}, "combsum")
    tuning = tune(system, {"weights.good": [0, 1, 100]}, POOL, k_fold(POOL, 4), "nDCG@5")
    assert {tuning.setting(fold)["weights.good"] for fold in range(4)} == {100}
    assert tuning.result == pytest.approx(1)


def test_weights_that_are_all_0_are_refused():
    system = Fusion({"a": ONE, "b": TWO})
    with pytest.raises(UsageError, match="all weights are 0"):
        tune(system, {"weights.a": [0, 1], "weights.b": [0]}, POOL, k_fold(POOL, 2), "AP")


def test_fixed_weights():
    system = Fusion({"a": ONE, "b": TWO}, fixed={"weights.a": 0.5, "k": 20})
    assert list(system.hyperparameters) == ["weights.b"]
    run = system.run({"weights.b": 2.0}, TOPICS)
    assert run.frame.equals(fuse([ONE, TWO], weights=[0.5, 2], k=20).frame)


def reranked_by_hand(first, reranked, depth):
    """Per topic: the top of the first run in the reranked order, then the rest."""
    found = {}
    for qid in first.qids:
        docnos = first.frame.filter(pl.col("qid") == qid)["docno"].to_list()
        order = reranked.frame.filter(pl.col("qid") == qid)["docno"].to_list()
        top = docnos[:depth]
        known = sorted((docno for docno in top if docno in order), key=order.index)
        found[qid] = known + [d for d in top if d not in order] + docnos[depth:]
    return found


@pytest.mark.parametrize("depth", [1, 2, 5, 8])
def test_a_rerank_depth_cuts_what_is_reranked(depth):
    draw = random.Random(depth)
    reranked = Run.ranked(
        ONE.top(8).frame.with_columns(score=pl.Series([draw.random() for _ in range(8 * 8)])), "r"
    )
    system = RerankDepth(ONE, reranked)
    run = system.run({"rerank_depth": depth}, TOPICS)
    by_topic = {qid: run.frame.filter(pl.col("qid") == qid)["docno"].to_list() for qid in run.qids}
    assert by_topic == reranked_by_hand(ONE, reranked, depth)
    assert len(run) == 8 * DOCUMENTS
    assert system.run({"rerank_depth": 1}, TOPICS).frame["docno"].equals(ONE.frame["docno"])


def test_the_best_depth_is_found():
    ideal = Run.ranked(POOL.qrels.frame.rename({"grade": "score"}), "ideal")
    tuning = tune(
        RerankDepth(ONE, ideal), {"rerank_depth": [1, 3, 12]}, POOL, k_fold(POOL, 2), "nDCG@5"
    )
    assert [tuning.setting(fold)["rerank_depth"] for fold in range(2)] == [12, 12]
    assert tuning.result == pytest.approx(1)


def test_odd_pairs_are_refused():
    with pytest.raises(UsageError, match="documents that one does not"):
        RerankDepth(tag(ONE.top(3), "one"), tag(ONE, "two"))
    system = RerankDepth(ONE, ONE.top(5))
    with pytest.raises(UsageError, match="5 documents per topic at most"):
        tune(system, {"rerank_depth": [5, 6]}, POOL, k_fold(POOL, 2), "AP")
    with pytest.raises(UsageError, match="whole numbers"):
        tune(system, {"rerank_depth": [1.5]}, POOL, k_fold(POOL, 2), "AP")
