"""Measures that ir_measures lacks: against pytrec_eval, trec_eval's own output, and formulas."""

import re
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from evaluation_cases import qrels_of, run_of

from adducir import evaluate
from adducir.core.errors import UsageError
from adducir.corpora.qrels import load_qrels
from adducir.evaluation.measures import parse_measures
from adducir.runs.read import read_run

TREC = {
    "gm_map": "gm_map",
    "gm_bpref": "gm_bpref",
    "11pt_avg": "11pt_avg",
    "binG": "binG",
    "utility": "utility",
    "num_nonrel_judged_ret": "num_nonrel_judged_ret",
    "R_cap@5": "relative_P_5",
    "relative_P_20": "relative_P_20",
    "Rprec_mult@0.6": "Rprec_mult_0.60",
    "Rprec_mult.1.4": "Rprec_mult_1.40",
    "infAP": "infAP",
}


@pytest.mark.parametrize("seed", range(5))
def test_values_are_trec_evals(seed: int) -> None:
    """One measure at a time: pytrec_eval crashes on some that are asked for together."""
    rng, docnos = np.random.default_rng(seed), [f"d{n:03}" for n in range(60)]
    judged = {docno: int(rng.integers(-2, 4)) for docno in docnos if rng.random() < 0.5}
    places = rng.permutation(60).tolist()
    ranked = {docno: float(s) for docno, s in zip(docnos, places, strict=True) if s > 18}
    scores = evaluate(
        run_of({"1": ranked}), qrels_of({"1": judged}), " ".join(TREC), negative_grades="trec_eval"
    )
    for measure, name in zip(scores.measures, TREC.values(), strict=True):
        family = re.sub("_[0-9.]+$", "", name)
        theirs = pytrec_eval.RelevanceEvaluator({"1": judged}, {family}).evaluate({"1": ranked})
        assert scores.values(measure)[0] == pytest.approx(theirs["1"][name], abs=1e-9), name


def test_graded_rbp_and_its_residual_are_trec_evals(collections: Path) -> None:
    """Of qrels of grades -1 to 4; a negative grade counts as unjudged."""
    folder = collections / "trec_eval"
    run, qrels = read_run(folder / "results.test"), load_qrels(folder / "qrels.rel_level")
    names = ("rbp", "rbp_resid", "unj_5", "unj_20")
    scores = evaluate(run, qrels, " ".join(names), negative_grades="trec_eval")
    lines = [line.split() for line in (folder / "out.test.aql").read_text().splitlines()]
    for name, measure in zip(names, scores.measures, strict=True):
        wanted = {qid: value for one, qid, value in lines if one == name}
        shown = dict(zip(scores.qids, (f"{v:.4f}" for v in scores.values(measure)), strict=True))
        assert shown | {"all": f"{scores.values(measure).mean():.4f}"} == wanted, name


def test_the_geometric_mean_stands_for_the_system() -> None:
    qrels = qrels_of({"1": {"a": 1}, "2": {"b": 1}, "3": {"c": 1}})
    scores = evaluate(run_of({"1": {"a": 1.0}, "2": {"a": 2.0, "b": 1.0}}), qrels, "gm_map AP")
    assert scores.values("gm_map") == pytest.approx(np.log([1, 0.5, 1e-5]))
    assert scores.mean("gm_map") == pytest.approx((0.5 * 1e-5) ** (1 / 3))
    assert dict(scores.means().select("measure", "value").iter_rows())["gm_map"] == scores.mean(
        "gm_map"
    )


def test_ranxs_hits_and_beirs_capped_recall() -> None:
    """A count, and the share of what the top k could hold."""
    qrels = qrels_of({"1": {"a": 1, "b": 2, "c": 1}, "2": {"x": 1}})
    run = run_of({"1": {"a": 9.0, "z": 8.0, "b": 7.0}, "2": {"y": 1.0}})
    scores = evaluate(run, qrels, "num_rel_ret@3 hits@3 R_cap@2 R_cap@5 num_rel_ret")
    assert [str(one) for one in scores.measures][:2] == ["num_rel_ret@3", "Success@3"]
    assert scores.values("num_rel_ret@3").tolist() == [2.0, 0.0]
    assert scores.values("hits@3").tolist() == [1.0, 0.0]
    assert scores.values("R_cap@2").tolist() == [0.5, 0.0]
    assert scores.values("R_cap@5") == pytest.approx([2 / 3, 0])


def test_names_read_back_and_wrong_parameters_are_refused() -> None:
    for text in (*TREC, "official", "all_trec", "rbp", "rbp_resid", "unj", "RBP(p=0.5)@10"):
        for measure in parse_measures(text):
            assert parse_measures(str(measure)) == [measure], text
    for wrong in ("gm_map.5", "R_cap", "Rprec_mult@0", "unj@0", "RBP_residual(p=1)"):
        with pytest.raises(UsageError):
            parse_measures(wrong)
