"""One order for all measures of a call, whatever the ties."""

import ir_measures
import pytest
from evaluation_cases import by_ir_measures, qrels_of, run_of
from ir_measures import P

from adducir.evaluation.evaluator import evaluate
from adducir.runs.run import Run

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


def test_scores_that_single_precision_cannot_tell_apart_keep_their_order() -> None:
    """trec_eval since 9.0.8 holds doubles; pytrec_eval and older ones see a tie here."""
    run = {"1": {"a": 1.00000001, "b": 1.0}}
    judged = {"1": {"a": 1, "b": 0}}
    assert evaluate(run_of(run), qrels_of(judged), "P@1 infAP").values.tolist() == [[1.0, 1.0]]
    assert by_ir_measures("pytrec_eval", [P @ 1], judged, run)["1", P @ 1] == 0.0


def test_what_is_installed_does_not_choose_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """With cwl_eval there, ir_measures would ask it for RR@10's kin, P and AP."""

    class Wrong(ir_measures.providers.CwlEvalProvider):
        def supports(self, measure: ir_measures.Measure) -> bool:
            return True

        def is_available(self) -> bool:
            return True

        def _evaluator(self, measures: object, qrels: object) -> object:
            raise AssertionError("the wrong provider was asked")

    monkeypatch.setitem(ir_measures.providers.registry, "cwl_eval", Wrong())
    text = "RR@10 P@1 AP infAP ERR@5 Compat RBP(rel=1)"
    assert len(evaluate(run_of(TIED), qrels_of(A_IS_RELEVANT), text).measures) == 7
