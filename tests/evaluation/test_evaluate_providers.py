"""What ir_measures' providers compute for us, and what they cannot."""

import ir_measures
import numpy as np
import pytest
from evaluation_cases import by_ir_measures, named, qrels_of, run_of, without_ties

from adducir.core.errors import InputError, MachineError, UsageError
from adducir.evaluation.evaluator import evaluate
from adducir.evaluation.providers import provider_of

RUN = {
    "7": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0},
    "8": {"d": 9.0, "a": 1.0},
    "extra": {"a": 1.0},
}
QRELS = {"7": {"b": 2, "c": 0, "d": 1, "e": 1}, "8": {"a": 4, "d": 0}, "9": {"a": 1}}


@pytest.mark.parametrize(
    ("provider", "text"),
    [
        ("pytrec_eval", "infAP"),
        ("pytrec_eval", "infAP(rel=2)"),
        ("compat", "Compat"),
        ("compat", "Compat(p=0.8,normalize=False)"),
        ("gdeval", "ERR@3"),
    ],
)
def test_values_are_the_providers(provider: str, text: str) -> None:
    measure = named(text)
    run = {qid: scores for qid, scores in RUN.items() if qid != "extra"}
    expected = by_ir_measures(provider, [measure], QRELS, without_ties(run))
    scores = evaluate(run_of(RUN), qrels_of(QRELS), [measure, "AP"])
    np.testing.assert_allclose(scores.values(measure), [expected[qid, measure] for qid in QRELS])
    assert scores.values(measure)[:2].all()
    assert scores.values(measure)[2] == 0.0


def test_several_measures_of_several_providers_keep_their_columns() -> None:
    text = "ERR@3 AP infAP ERR@1 Compat P@1 infAP(rel=2)"
    together = evaluate(run_of(RUN), qrels_of(QRELS), text)
    for measure in text.split():
        alone = evaluate(run_of(RUN), qrels_of(QRELS), measure)
        np.testing.assert_array_equal(together.values(measure), alone.values(measure))


def test_gdeval_gets_numbers_for_qids_of_any_shape() -> None:
    """Itself, it takes what follows the last hyphen for the topic, and digits only."""
    run = {"2020-1": {"a": 1.0}, "2021-1": {"b": 1.0}, "zwölf": {"a": 1.0}}
    qrels = {"2020-1": {"a": 4}, "2021-1": {"a": 4}, "zwölf": {"a": 1}}
    scores = evaluate(run_of(run), qrels_of(qrels), "ERR@1")
    np.testing.assert_allclose(scores.values("ERR@1"), [15 / 16, 0, 1 / 16], atol=1e-5)


def test_gdeval_takes_no_grade_above_four() -> None:
    with pytest.raises(InputError, match="ERR takes grades up to 4, but the qrels have 5"):
        evaluate(run_of(RUN), qrels_of({"7": {"a": 5}}), "ERR@5")


def test_compat_is_not_misled_by_negative_scores() -> None:
    """It gives documents that were not retrieved the score 0, above log-likelihoods."""
    negative = {"7": {docno: score - 100 for docno, score in RUN["7"].items()}}
    positive = {"7": RUN["7"]}
    qrels = qrels_of({"7": QRELS["7"]})
    values = [evaluate(run_of(run), qrels, "Compat").mean("Compat") for run in (negative, positive)]
    assert values[0] == values[1]


def test_measures_that_users_define_see_qids_and_scores() -> None:
    def top_score(qrels, run):  # type: ignore[no-untyped-def]
        for qid, rows in run.groupby("query_id"):
            assert set(qrels["query_id"]) == set(QRELS)
            yield qid, rows["score"].max()

    measure = ir_measures.define(top_score, "TopScore")
    scores = evaluate(run_of(RUN), qrels_of(QRELS), [measure, "P@1"])
    np.testing.assert_array_equal(scores.values(measure), [3.0, 9.0, 0.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("RBP", "RBP(rel=1,p=0.8)"),
        ("Accuracy", "averaged over different topics"),
        ("alpha_nDCG@5", "judgements by subtopic"),
        ("ERR_IA@5", "judgements by subtopic"),
        ("ERR", "Try ERR@10"),
    ],
)
def test_what_cannot_be_computed_is_reported_before_anything_runs(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        provider_of(named(text))
    assert message in str(caught.value)


def test_what_is_not_installed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = ir_measures.providers.registry["cwl_eval"]
    monkeypatch.setattr(provider, "_is_available", False)
    with pytest.raises(MachineError, match=r"pip install ir-measures\[cwl_eval\]"):
        provider_of(named("INST(max_rel=2)"))


def test_every_measure_of_ir_measures_is_decided() -> None:
    """One that a later ir_measures adds must be refused with a reason, not crash."""
    for name, measure in ir_measures.measures.registry.items():
        values = {"cutoff": 5, "max_rel": 2, "rel": 1, "recall": 0.5}
        wanted = {
            key: values[key]
            for key, info in measure.SUPPORTED_PARAMS.items()
            if info.required or key in ("cutoff", "rel")
        }
        try:
            scores = evaluate(run_of(RUN), qrels_of(QRELS), [measure(**wanted)])
        except (UsageError, MachineError) as error:
            assert name not in ("AP", "nDCG", "infAP"), error
        else:
            assert scores.frame["value"].is_finite().all(), name
