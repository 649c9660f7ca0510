"""Negative grades, which mark spam in Touché's qrels."""

import pytest
from evaluation_cases import qrels_of, run_of

from adducir.core.errors import UsageError
from adducir.evaluation.evaluator import evaluate

SPAM_FIRST = {"1": {"spam": 4.0, "good": 3.0, "unjudged": 2.0, "bad": 1.0}}
QRELS = {"1": {"spam": -2, "good": 2, "bad": 0}}
MEASURES = "nDCG(judged_only=True)@5 nDCG@5 P(judged_only=True)@1 Bpref Judged@4"


def test_by_default_spam_is_judged_and_not_relevant() -> None:
    scores = evaluate(run_of(SPAM_FIRST), qrels_of(QRELS), MEASURES)
    below_one = pytest.approx(1 / 1.584962500721156)
    assert scores.mean("nDCG(judged_only=True)@5") == below_one
    assert scores.mean("nDCG@5") == below_one
    assert scores.mean("P(judged_only=True)@1") == 0.0
    assert scores.mean("Bpref") == 0.0
    assert scores.mean("Judged@4") == 0.75
    assert (scores.negative, scores.negatives) == ("zero", 1)


def test_on_demand_spam_is_ignored_as_by_trec_eval() -> None:
    scores = evaluate(run_of(SPAM_FIRST), qrels_of(QRELS), MEASURES, negative="trec_eval")
    assert scores.mean("nDCG(judged_only=True)@5") == 1.0
    assert scores.mean("nDCG@5") == pytest.approx(1 / 1.584962500721156)
    assert scores.mean("P(judged_only=True)@1") == 1.0
    assert scores.mean("Bpref") == 1.0
    assert scores.mean("Judged@4") == 0.75
    assert (scores.negative, scores.negatives) == ("trec_eval", 1)


@pytest.mark.parametrize("measure", ["AP", "nDCG@5", "P@2", "R@1", "RR", "Rprec", "Judged@5"])
def test_other_measures_do_not_depend_on_it(measure: str) -> None:
    zero, trec_eval = (
        evaluate(run_of(SPAM_FIRST), qrels_of(QRELS), measure, negative=negative).mean(measure)
        for negative in ("zero", "trec_eval")
    )
    assert zero == trec_eval


def test_a_topic_of_spam_alone_is_zero() -> None:
    for negative in ("zero", "trec_eval"):
        scores = evaluate(
            run_of({"1": {"spam": 1.0}}),
            qrels_of({"1": {"spam": -2}}),
            "nDCG(judged_only=True)@5 nDCG AP Bpref SetP(judged_only=True) infAP NumRel",
            negative=negative,
        )
        assert not scores.values.any()


def test_gains_replace_grades_after_spam_became_zero_unless_they_name_it() -> None:
    run, qrels = run_of({"1": {"spam": 1.0}}), qrels_of({"1": {"spam": -2, "good": 1}})
    for gains, expected in (("{0:3}", 3 / 3), ("{0:3,-2:0}", 0.0), ("{-2:1}", 1.0), ("{2:5}", 0.0)):
        measure = f"nDCG(gains={gains})@1"
        assert evaluate(run, qrels, measure).mean(measure) == expected, gains


def test_infap_keeps_its_own_meaning_of_minus_one() -> None:
    """-1 is "pooled, but not judged" there, whatever is asked for the other measures."""
    run = run_of({"1": {"pooled": 3.0, "good": 2.0, "bad": 1.0}})
    qrels = qrels_of({"1": {"pooled": -1, "good": 1, "bad": 0}})
    zero, trec_eval = (
        evaluate(run, qrels, "infAP", negative=negative).mean("infAP")
        for negative in ("zero", "trec_eval")
    )
    assert zero == trec_eval
    as_zero = evaluate(run, qrels_of({"1": {"pooled": 0, "good": 1, "bad": 0}}), "infAP")
    assert zero != as_zero.mean("infAP")


def test_there_is_no_third_way() -> None:
    with pytest.raises(UsageError, match="not as 'drop'"):
        evaluate(run_of(SPAM_FIRST), qrels_of(QRELS), "AP", negative="drop")  # type: ignore[arg-type]
