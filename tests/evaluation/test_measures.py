"""Every measure of ours against trec_eval's code, as pytrec_eval runs it."""

import math

import ir_measures
import numpy as np
import pytest
from evaluation_cases import (
    QrelsDict,
    RunDict,
    by_ir_measures,
    named,
    qrels,
    qrels_of,
    ranked,
    run_of,
    runs,
    table_of,
    without_ties,
)
from hypothesis import assume, example, given
from ir_measures import Measure

from adducir import evaluate
from adducir.core.errors import UsageError
from adducir.evaluation.measures import kind_of

TOLERANCE = 1e-9

_SWITCHES = ["", "judged_only=True", "rel=2", "rel=3,judged_only=True"]
_GRADED = ["", "judged_only=True", "gains={0:0,1:3,2:1,3:7}", "gains={0:1,1:0},judged_only=True"]


def _variants(name: str, switches: list[str], cuts: list[str]) -> list[Measure]:
    return [
        named(name + (f"({switch})" if switch else "") + cut) for switch in switches for cut in cuts
    ]


BY_PYTREC_EVAL = [
    *_variants("AP", _SWITCHES, ["", "@1", "@4", "@20"]),
    *_variants("P", _SWITCHES, ["@1", "@3", "@20"]),
    *_variants("R", _SWITCHES, ["@1", "@3", "@20"]),
    *_variants("Success", _SWITCHES, ["@1", "@3"]),
    *_variants("RR", _SWITCHES, [""]),
    *_variants("Rprec", _SWITCHES, [""]),
    *_variants("nDCG", _GRADED, ["", "@1", "@3", "@20"]),
    *_variants("IPrec", _SWITCHES, [f"@{tenth / 10}" for tenth in range(11)]),
    *_variants("Bpref", ["", "rel=2", "rel=3", "rel=5"], [""]),
    *_variants("SetP", [*_SWITCHES, "relative=True", "relative=True,judged_only=True"], [""]),
    *_variants("SetR", ["", "rel=2"], [""]),
    *_variants("SetAP", _SWITCHES, [""]),
    *_variants("SetF", [*_SWITCHES, "beta=2.0", "beta=0.5,judged_only=True"], [""]),
    *_variants("NumRet", ["", "rel=1", "rel=2"], [""]),
]


def _compare(
    measures: list[Measure], run: RunDict, judged: QrelsDict, expected: dict, negative: str
) -> None:
    scores = evaluate(run_of(run), qrels_of(judged), measures, negative_grades=negative)
    assert scores.qids == tuple(judged)
    wanted = np.array([[expected[qid, measure] for measure in measures] for qid in scores.qids])
    # IPrec of an empty condensed list is 0 / 0 in trec_eval, and 0 here.
    undefined = [
        measure.NAME == "IPrec" and "judged_only" in measure.params for measure in measures
    ]
    wanted[:, undefined] = np.nan_to_num(wanted[:, undefined])
    values = table_of(scores)
    apart = np.argwhere(~(np.abs(values - wanted) <= TOLERANCE))
    assert not len(apart), [
        (scores.qids[row], measures[column], values[row, column], wanted[row, column])
        for row, column in apart
    ]


def _share_a_topic(run: RunDict, judged: QrelsDict) -> bool:
    return not run or bool(run.keys() & judged.keys())


@given(run=runs, judged=qrels(lowest=-2))
def test_negative_grades_are_left_to_trec_eval_or_count_as_zero(
    run: RunDict, judged: QrelsDict
) -> None:
    assume(_share_a_topic(run, judged))
    # trec_eval's C code reads beyond its table where a topic has negative grades only
    if all(max(grades.values()) >= 0 for grades in judged.values()):
        expected = by_ir_measures("pytrec_eval", BY_PYTREC_EVAL, judged, run)
        _compare(BY_PYTREC_EVAL, run, judged, expected, "trec_eval")
    zeroed = {
        qid: {docno: max(grade, 0) for docno, grade in grades.items()}
        for qid, grades in judged.items()
    }
    expected = by_ir_measures("pytrec_eval", BY_PYTREC_EVAL, zeroed, run)
    _compare(BY_PYTREC_EVAL, run, judged, expected, "zero")


BY_OTHERS = {
    "judged": _variants("Judged", [""], ["", "@1", "@3", "@20"]),
    "msmarco": _variants("RR", ["", "rel=2"], ["@1", "@3", "@20"]),
}


@pytest.mark.parametrize("provider", BY_OTHERS)
@given(run=runs, judged=qrels(lowest=-2))
def test_judged_and_rr_at_k_agree_with_ir_measures(
    provider: str, run: RunDict, judged: QrelsDict
) -> None:
    assume(_share_a_topic(run, judged))
    measures = BY_OTHERS[provider]
    expected = by_ir_measures(provider, measures, judged, without_ties(run))
    for negative in ("zero", "trec_eval"):
        _compare(measures, run, judged, expected, negative)


def _by_hand(measure: Measure, docnos: list[str], grades: dict[str, int]) -> float:
    """Measures that no installed provider has, topic by topic and rank by rank."""
    if measure.params.get("judged_only"):
        docnos = [docno for docno in docnos if grades.get(docno, -1) >= 0]
    cutoff = measure.params.get("cutoff", len(docnos))
    if measure.NAME == "RBP":
        p = measure["p"]
        hits = [grades.get(docno, 0) >= measure["rel"] for docno in docnos[:cutoff]]
        return (1 - p) * sum(p**rank for rank, hit in enumerate(hits) if hit)
    if measure.NAME == "RR":
        hits = [grades.get(docno, 0) >= measure["rel"] for docno in docnos[:cutoff]]
        return 1 / (hits.index(True) + 1) if True in hits else 0.0
    gains = [2 ** max(grades.get(docno, 0), 0) - 1 for docno in docnos]
    best = sorted((2 ** max(grade, 0) - 1 for grade in grades.values()), reverse=True)
    cut = measure.params.get("cutoff", max(len(gains), len(best)))
    dcg, ideal = (
        sum(gain / math.log2(rank + 2) for rank, gain in enumerate(listed[:cut]))
        for listed in (gains, best)
    )
    return dcg / ideal if ideal else 0.0


BY_HAND = [
    *_variants("nDCG", ["dcg='exp-log2'", "dcg='exp-log2',judged_only=True"], ["", "@1", "@3"]),
    *_variants("RR", ["judged_only=True", "judged_only=True,rel=2"], ["@1", "@3"]),
    *_variants("RBP", ["rel=1", "rel=2,p=0.5"], ["", "@2"]),
]


@given(run=runs, judged=qrels(lowest=-2))
def test_measures_without_a_provider_agree_with_their_definition(
    run: RunDict, judged: QrelsDict
) -> None:
    assume(_share_a_topic(run, judged))
    order = ranked(run)
    expected = {
        (qid, measure): _by_hand(measure, order.get(qid, []), grades)
        for qid, grades in judged.items()
        for measure in BY_HAND
    }
    _compare(BY_HAND, run, judged, expected, "trec_eval")


@given(run=runs, judged=qrels(lowest=-2))
@example(run={}, judged={"1": {"d1": 1, "d2": 0}, "2": {"d1": 0}})
def test_counts_cover_the_topics_that_the_run_lacks(run: RunDict, judged: QrelsDict) -> None:
    """As trec_eval -c prints them; ir_measures has 0 there."""
    assume(_share_a_topic(run, judged))
    scores = evaluate(run_of(run), qrels_of(judged), "NumQ NumRel NumRel(rel=3)")
    assert scores.values("NumQ").sum() == len(judged)
    for rel, name in ((1, "NumRel"), (3, "NumRel(rel=3)")):
        expected = [sum(grade >= rel for grade in grades.values()) for grades in judged.values()]
        np.testing.assert_array_equal(scores.values(name), expected)


def test_what_cannot_be_computed_is_refused() -> None:
    judged = qrels_of({"1": {"a": 5}})
    for text in ("INSQ", "alpha_nDCG@5", "ERR", "ERR@5"):
        with pytest.raises(UsageError):
            evaluate(run_of({"1": {"a": 1.0}}), judged, text)


def test_exponential_gains_agree_with_gdeval() -> None:
    """gdeval prints five decimals, and takes numbered topics and grades up to 4 only."""
    generator = np.random.default_rng(7)
    docnos = [f"d{number}" for number in range(40)]
    run = {
        str(qid): dict(zip(docnos, generator.permutation(40).astype(float), strict=True))
        for qid in (1, 2)
    }
    judged = {
        str(qid): {str(docno): int(generator.integers(0, 5)) for docno in docnos[::2]}
        for qid in (1, 2)
    }
    texts = ("nDCG(dcg='exp-log2')@5", "nDCG(dcg='exp-log2')@20", "ERR@1", "ERR@5", "ERR@40")
    measures = [named(text) for text in texts]
    expected = by_ir_measures("gdeval", measures, judged, run)
    scores = evaluate(run_of(run), qrels_of(judged), measures)
    for measure in measures:
        wanted = [expected[qid, measure] for qid in judged]
        np.testing.assert_allclose(scores.values(measure), wanted, atol=6e-6)


def test_every_measure_of_ours_is_compared_here() -> None:
    others = [measure for measures in BY_OTHERS.values() for measure in measures]
    compared = {measure.NAME for measure in [*BY_PYTREC_EVAL, *BY_HAND, *others]}
    compared |= {"NumQ", "NumRel", "ERR", "SDCG", "infAP"}  # SDCG: with corrected judgements
    compared |= {"Compat", "Accuracy", "ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP"}
    compared |= {"nNRBP", "AP_IA", "P_IA", "StRecall"}  # in test_diversity.py
    every = ir_measures.measures.registry.values()
    assert {one.NAME for one in every if kind_of(one)} == compared
