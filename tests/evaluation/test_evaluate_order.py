"""One order for all measures of a call, whatever the ties."""

from pathlib import Path

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from evaluation_cases import by_ir_measures, qrels_of, run_of
from ir_measures import P

from adducir.evaluation.evaluator import evaluate
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run

TIED = {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}
A_IS_RELEVANT = {"1": {"a": 1}}
EARLY = "P@1 RR RR@10 RR(judged_only=True)@10 Judged@1 Success@1 AP nDCG nDCG@1"


def test_all_measures_see_trec_evals_order_of_a_foreign_run() -> None:
    """c, b, a: by ir_measures alone, RR is 1/3 here, and RR@10 and Judged@1 are 1."""
    scores = evaluate(run_of(TIED), qrels_of(A_IS_RELEVANT), EARLY + " Compat RBP(rel=1,p=0.5)")
    assert scores.mean("P@1") == scores.mean("Judged@1") == scores.mean("Success@1") == 0.0
    assert scores.mean("RR") == scores.mean("RR@10") == scores.mean("AP") == pytest.approx(1 / 3)
    assert scores.mean("RR(judged_only=True)@10") == 1.0
    assert scores.mean("nDCG") == pytest.approx(0.5)
    assert scores.mean("RBP(rel=1,p=0.5)") == pytest.approx(0.125)
    assert scores.mean("Compat") < 1.0


def test_the_same_call_of_ir_measures_contradicts_itself() -> None:
    """Why the order is fixed first: this is what a later ir_measures may correct."""
    found = ir_measures.calc_aggregate(
        [P @ 1, ir_measures.RR, ir_measures.RR @ 10], A_IS_RELEVANT, TIED
    )
    assert found[ir_measures.RR] == pytest.approx(1 / 3)
    assert found[ir_measures.RR @ 10] == 1.0


def test_all_measures_see_the_other_order_of_our_own_runs() -> None:
    """A run that ranks a, b, c, with equal scores: docnos ascending, as Anserini writes them."""
    run = Run.ranked(run_of(TIED).frame, "ours", ties="ascending")
    scores = evaluate(run, qrels_of(A_IS_RELEVANT), EARLY + " Compat infAP")
    assert scores.values.tolist() == [[1.0] * len(scores.measures)]


def test_providers_get_the_same_order() -> None:
    """infAP, of trec_eval's code, would put c, b, a on top of each other itself."""
    judged = {"1": {"a": 1, "b": 0, "c": 0}}
    ascending = Run.ranked(run_of(TIED).frame, "ours", ties="ascending")
    assert evaluate(ascending, qrels_of(judged), "infAP").mean("infAP") == pytest.approx(1.0)
    descending = evaluate(run_of(TIED), qrels_of(judged), "infAP").mean("infAP")
    assert descending == pytest.approx(
        by_ir_measures("pytrec_eval", [ir_measures.infAP], judged, TIED)["1", ir_measures.infAP]
    )
    assert descending < 0.5


def test_scores_that_single_precision_cannot_tell_apart_are_ties(tmp_path: Path) -> None:
    """As for pytrec_eval and trec_eval up to 9.0.7, to the last digit; and in one order only."""
    draw = np.random.default_rng(5)
    run, judged = {}, {}
    for qid in map(str, range(20)):
        docnos = [f"d{n:02}" for n in draw.permutation(60)]
        scores = 12.0 + draw.integers(0, 12, 60) / 4 + draw.random(60) * 4e-7
        run[qid] = dict(zip(docnos, scores.tolist(), strict=True))
        judged[qid] = {docno: int(draw.integers(0, 3)) for docno in sorted(docnos)[::2]}
    path = tmp_path / "run.trec"
    rows = ((qid, docno, score) for qid, own in run.items() for docno, score in own.items())
    path.write_text("".join(f"{qid} Q0 {docno} 0 {score!r} t\n" for qid, docno, score in rows))
    measures = {"AP": "map", "P@5": "P_5", "nDCG@10": "ndcg_cut_10", "RR": "recip_rank"}
    theirs = pytrec_eval.RelevanceEvaluator(judged, {*measures.values()}).evaluate(run)
    wanted = [[theirs[qid][name] for name in measures.values()] for qid in judged]
    read = read_run(path)
    found = evaluate(read, qrels_of(judged), list(measures)).values
    assert np.abs(found - wanted).max() < 1e-12
    # In double precision the figures are others: the test can fail.
    apart = Run.ranked(read_run(path, ties="anserini").frame, "t", ties="descending")
    assert np.abs(evaluate(apart, qrels_of(judged), list(measures)).values - wanted).max() > 0.01
    write_run(read, tmp_path / "again.trec")
    again = read_run(tmp_path / "again.trec")
    assert again.frame["docno"].to_list() == read.frame["docno"].to_list()
