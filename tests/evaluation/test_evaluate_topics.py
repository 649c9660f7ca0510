"""Which topics count, and what the result says of them."""

import numpy as np
import polars as pl
import pytest
from evaluation_cases import qrels_of, run_of

from adducir.core.errors import InputError, UsageError
from adducir.corpora.qrels import Qrels
from adducir.evaluation.evaluator import Evaluator, evaluate
from adducir.runs.run import Run

QRELS = {"b": {"d1": 1, "d2": 0}, "a": {"d1": 0}, "c": {"d1": 2, "d3": 1}}
EVERYTHING = (
    "AP P@1 R@5 RR RR@5 nDCG nDCG@5 nDCG(judged_only=True)@5 Bpref Judged@5 Judged Rprec "
    "Success@1 SetP SetR SetF SetAP IPrec@0.0 IPrec@1.0 infAP Compat ERR@5 RBP(rel=1)"
)


def test_topics_that_the_run_lacks_count_zero_and_are_named() -> None:
    run = run_of({"z": {"d1": 1.0}, "b": {"d1": 2.0, "d2": 1.0}, "y": {"d1": 1.0}})
    scores = evaluate(run, qrels_of(QRELS), EVERYTHING)
    assert scores.qids == ("b", "a", "c")
    assert scores.missing == ("a", "c")
    assert scores.extra == ("z", "y")
    assert not scores.values[1:].any()
    assert scores.mean("AP") == pytest.approx(1 / 3)
    np.testing.assert_array_equal(scores.of("Success@1"), [1.0, 0.0, 0.0])


def test_topics_without_relevant_documents_count_zero() -> None:
    run = run_of({qid: {"d1": 2.0, "d9": 1.0} for qid in QRELS})
    scores = evaluate(run, qrels_of(QRELS), EVERYTHING)
    assert scores.missing == ()
    judged = [str(measure).startswith("Judged") for measure in scores.measures]
    assert not scores.values[1][~np.array(judged)].any()
    assert scores.of("Judged@5")[1] == 0.5


def test_a_run_without_rows_is_zero_everywhere() -> None:
    scores = evaluate(run_of({}), qrels_of(QRELS), EVERYTHING)
    assert scores.missing == scores.qids
    assert scores.values.shape == (3, len(scores.measures))
    assert not scores.values.any()


def test_a_run_of_other_topics_is_refused() -> None:
    with pytest.raises(InputError, match=r"None of the run's topics \(x is the first of 2\)"):
        evaluate(run_of({"x": {"d1": 1.0}, "y": {"d1": 1.0}}), qrels_of(QRELS), "AP")


def test_empty_qrels_are_refused() -> None:
    with pytest.raises(InputError, match="no judgements"):
        evaluate(run_of({}), qrels_of({}), "AP")


def test_rows_of_a_topic_that_are_apart_are_refused() -> None:
    frame = run_of({"b": {"d1": 3.0}}).frame
    other = run_of({"a": {"d1": 3.0}}).frame
    with pytest.raises(UsageError, match="apart"):
        evaluate(Run(pl.concat([frame, other, frame]), "tag"), qrels_of(QRELS), "AP")


def test_a_document_ranked_or_judged_twice_is_refused() -> None:
    frame = run_of({"b": {"d1": 3.0}}).frame
    with pytest.raises(InputError, match="The run holds d1 twice"):
        evaluate(Run(pl.concat([frame, frame]), "tag"), qrels_of(QRELS), "AP")
    judged = qrels_of(QRELS).frame
    with pytest.raises(InputError, match="The qrels hold d1 twice"):
        evaluate(Run(frame, "tag"), Qrels(pl.concat([judged, judged]), "qrels"), "AP")


def test_judged_divides_by_what_was_retrieved() -> None:
    run = run_of({"b": {"d1": 2.0, "x1": 1.0}, "c": {f"x{n}": -float(n) for n in range(9)}})
    scores = evaluate(run, qrels_of(QRELS), "Judged@1 Judged@5 Judged")
    np.testing.assert_array_equal(scores.values, [[1, 0.5, 0.5], [0, 0, 0], [0, 0, 0]])


def test_documents_with_long_names_are_reported_apart() -> None:
    """Some tools cut docnos at 20 characters; these differ in the 30th."""
    long = "S96f2396e-Aaf079b43-0000000000"
    run = run_of({"b": {long + "1": 2.0, long + "2": 1.0}})
    scores = evaluate(run, qrels_of({"b": {long + "2": 1}}), "RR infAP")
    assert scores.mean("RR") == 0.5
    assert scores.mean("infAP") < 1.0


def test_documents_are_matched_within_their_topic_only() -> None:
    run = run_of({"b": {"d3": 2.0, "d1": 1.0}, "c": {"d2": 2.0, "d3": 1.0}})
    scores = evaluate(run, qrels_of(QRELS), "RR Judged@2")
    np.testing.assert_array_equal(scores.of("RR"), [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(scores.of("Judged@2"), [0.5, 0.0, 0.5])


def test_equal_keys_of_different_pairs_do_not_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """The join by hash is checked: here all pairs share one key."""
    run = run_of({"b": {"d3": 2.0, "d1": 1.0}, "c": {"d2": 2.0, "d3": 1.0}})
    expected = evaluate(run, qrels_of(QRELS), EVERYTHING).values

    def one_key(docnos: pl.Series, topics: np.ndarray) -> np.ndarray:
        return np.zeros(len(topics), dtype=np.uint64)

    monkeypatch.setattr("adducir.evaluation.judgements.pair_keys", one_key)
    monkeypatch.setattr("adducir.evaluation.ranked_topics.pair_keys", one_key)
    np.testing.assert_array_equal(evaluate(run, qrels_of(QRELS), EVERYTHING).values, expected)


def test_one_evaluator_serves_many_runs() -> None:
    evaluator = Evaluator(qrels_of(QRELS), EVERYTHING)
    runs = [
        run_of({"b": {"d2": 2.0, "d1": 1.0}, "c": {"d3": 1.0}}, "one"),
        run_of({"a": {"d1": 2.0, "d4": 1.0}}, "two"),
    ]
    for run in [*runs, *runs]:
        alone = evaluate(run, qrels_of(QRELS), EVERYTHING)
        scores = evaluator.score(run)
        np.testing.assert_array_equal(scores.values, alone.values)
        assert (scores.system, scores.missing) == (run.tag, alone.missing)


def test_scores_as_a_long_frame() -> None:
    run = run_of({"b": {"d2": 2.0, "d1": 1.0}})
    scores = evaluate(run, qrels_of(QRELS), "RR Judged@5", system="BM25")
    frame = scores.to_polars()
    assert frame.columns == ["system", "qid", "measure", "value"]
    assert frame.rows()[:2] == [("BM25", "b", "RR", 0.5), ("BM25", "b", "Judged@5", 1.0)]
    assert len(frame) == 6
    assert scores.to_pandas().to_dict("list") == frame.to_dict(as_series=False)
    means = frame.group_by("measure").agg(pl.col("value").mean())
    assert dict(means.rows()) == {"RR": scores.mean("RR"), "Judged@5": scores.mean("Judged@5")}


def test_scores_name_what_was_not_computed_and_cannot_be_changed() -> None:
    scores = evaluate(run_of({"b": {"d1": 1.0}}), qrels_of(QRELS), "RR NumRet NumRel")
    assert (scores.mean("NumRel"), scores.summary("NumRel")) == (1.0, 3.0)
    assert scores.summary("RR") == scores.mean("RR")
    with pytest.raises(UsageError, match=r"AP was not computed for system.*Computed are RR"):
        scores.mean("AP")
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 1.0
