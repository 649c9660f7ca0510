"""Which topics and judgements count, in which order of documents, and what is said of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import pytrec_eval
from evaluation_cases import qrels_of, run_of, table_of

from adducir import evaluate
from adducir.core.errors import InputError, UsageError
from adducir.corpora.qrels import Qrels, load_qrels
from adducir.evaluation.evaluator import Evaluator
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run

TOUCHE_2020 = "touche2020-task1-relevance-args-me-corpus-version-2020-04-01-corrected.qrels"
QRELS = {"b": {"d1": 1, "d2": 0}, "a": {"d1": 0}, "c": {"d1": 2, "d3": 1}}
EVERYTHING = (
    "AP P@1 R@5 RR RR@5 nDCG nDCG@5 nDCG(judged_only=True)@5 Bpref Judged@5 Judged Rprec "
    "Success@1 SetP SetR SetF SetAP IPrec@0.0 IPrec@1.0 ERR@5 RBP(rel=1)"
)


def test_topics_that_the_run_lacks_count_zero_and_are_named() -> None:
    run = run_of({"z": {"d1": 1.0}, "b": {"d1": 2.0, "d2": 1.0}, "y": {"d1": 1.0}})
    scores = evaluate(run, qrels_of(QRELS), EVERYTHING)
    (known,) = scores.evaluations
    assert scores.qids == ("b", "a", "c")
    assert (known.missing, known.extra) == (("a", "c"), ("z", "y"))
    assert scores.missing == {"system": ("a", "c")}
    assert not table_of(scores)[1:].any()
    assert scores.mean("AP") == pytest.approx(1 / 3)
    assert scores.values("Success@1").tolist() == [1.0, 0.0, 0.0]


def test_what_cannot_be_evaluated_is_refused() -> None:
    frame = run_of({"b": {"d1": 3.0}}).frame
    apart = pl.concat([frame, run_of({"a": {"d1": 3.0}}).frame, frame])
    judged = qrels_of(QRELS)
    for run, qrels, what in (
        (run_of({"x": {"d1": 1.0}, "y": {"d1": 1.0}}), judged, "x is the first of 2"),
        (run_of({}), qrels_of({}), "are empty"),
        (Run(apart, "tag"), judged, "not contiguous"),
        (Run(pl.concat([frame, frame]), "tag"), judged, "d1 twice"),
        (Run(frame, "tag"), Qrels(pl.concat([judged.frame] * 2), "qrels"), "d1 twice"),
    ):
        with pytest.raises((InputError, UsageError), match=what):
            evaluate(run, qrels, "AP")


def test_documents_are_matched_within_their_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of({"b": {"d3": 2.0, "d1": 1.0}, "c": {"d2": 2.0, "d3": 1.0}})
    scores = evaluate(run, qrels_of(QRELS), EVERYTHING + " Judged@2")
    assert scores.values("RR").tolist() == scores.values("Judged@2").tolist() == [0.5, 0.0, 0.5]

    def one_key(docnos: pl.Series, topics: np.ndarray) -> np.ndarray:
        return np.zeros(len(topics), dtype=np.uint64)

    # The join by hash is checked: here all pairs share one key.
    monkeypatch.setattr("adducir.evaluation.lists.pair_keys", one_key)
    again = evaluate(run, qrels_of(QRELS), EVERYTHING + " Judged@2")
    assert again.frame.equals(scores.frame)


def test_scores_are_a_long_frame() -> None:
    run = run_of({"b": {"d2": 2.0, "d1": 1.0}})
    scores = Evaluator(qrels_of(QRELS), "RR Judged@5 NumRel").score(run, system="BM25")
    frame = scores.to_polars()
    assert frame.columns == ["set", "system", "run", "qid", "measure", "value"]
    assert frame.row(0) == ("", "BM25", "BM25", "b", "RR", 0.5)
    assert len(frame) == 9
    assert scores.to_pandas().to_dict("list") == frame.to_dict(as_series=False)
    assert "Judged@5" in scores._repr_html_()
    means = {measure: value for _, _, measure, value, _ in scores.means().iter_rows()}
    assert means == {"RR": scores.mean("RR"), "Judged@5": scores.mean("Judged@5"), "NumRel": 3.0}
    with pytest.raises(UsageError, match=r"AP was not computed.*Computed: RR"):
        scores.mean("AP")


# Negative grades, which mark spam in Touché's qrels.

SPAM_FIRST = {"1": {"spam": 4.0, "good": 3.0, "unjudged": 2.0, "bad": 1.0}}
SPAM = {"1": {"spam": -2, "good": 2, "bad": 0}}


@pytest.mark.parametrize(
    ("negative", "condensed", "precision", "bpref"),
    [("zero", 1 / 1.584962500721156, 0.0, 0.0), ("trec_eval", 1.0, 1.0, 1.0)],
)
def test_spam_is_judged_and_not_relevant_or_ignored_as_by_trec_eval(
    negative: str, condensed: float, precision: float, bpref: float
) -> None:
    measures = "nDCG(judged_only=True)@5 nDCG@5 P(judged_only=True)@1 Bpref Judged@4"
    scores = evaluate(run_of(SPAM_FIRST), qrels_of(SPAM), measures, negative_grades=negative)  # type: ignore[arg-type]
    expected = [condensed, 1 / 1.584962500721156, precision, bpref, 0.75]
    assert table_of(scores)[0] == pytest.approx(expected)
    assert (scores.evaluations[0].negative, scores.evaluations[0].negatives) == (negative, 1)


def test_gains_replace_grades_after_spam_became_zero_unless_they_name_it() -> None:
    run, qrels = run_of({"1": {"spam": 1.0}}), qrels_of({"1": {"spam": -2, "good": 1}})
    for gains, expected in (("{0:3}", 3 / 3), ("{0:3,-2:0}", 0.0), ("{-2:1}", 1.0), ("{2:5}", 0.0)):
        measure = f"nDCG(gains={gains})@1"
        assert evaluate(run, qrels, measure).mean(measure) == expected, gains


# One order for all measures of a call, whatever the ties.

TIED = {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}
A_IS_RELEVANT = {"1": {"a": 1}}
EARLY = "P@1 RR RR@10 RR(judged_only=True)@10 Judged@1 Success@1 AP nDCG nDCG@1"


def test_all_measures_see_trec_evals_order_of_a_foreign_run() -> None:
    """c, b, a: by ir_measures alone, RR is 1/3 here, and RR@10 and Judged@1 are 1."""
    scores = evaluate(run_of(TIED), qrels_of(A_IS_RELEVANT), EARLY + " RBP(rel=1,p=0.5)")
    assert scores.mean("P@1") == scores.mean("Judged@1") == scores.mean("Success@1") == 0.0
    assert scores.mean("RR") == scores.mean("RR@10") == scores.mean("AP") == pytest.approx(1 / 3)
    assert scores.mean("RR(judged_only=True)@10") == 1.0
    assert scores.mean("nDCG") == pytest.approx(0.5)
    assert scores.mean("RBP(rel=1,p=0.5)") == pytest.approx(0.125)


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
    evaluator, read = Evaluator(qrels_of(judged), list(measures)), read_run(path)
    assert np.abs(evaluator.values(read) - wanted).max() < 1e-12
    # In double precision the figures are others: the test can fail.
    apart = Run.ranked(read_run(path, ties="anserini").frame, "t", ties="descending")
    assert np.abs(evaluator.values(apart) - wanted).max() > 0.01
    write_run(read, tmp_path / "again.trec")
    again = read_run(tmp_path / "again.trec")
    assert again.frame["docno"].to_list() == read.frame["docno"].to_list()


@pytest.mark.parametrize(
    ("folder", "qrels"),
    [
        ("robust03/input.aplrob03a.gz", "robust03/qrels.txt.gz"),
        ("touche/runs/2020/ElrondSimpleRun.txt.gz", f"touche/qrels/{TOUCHE_2020}"),
    ],
)
def test_an_official_run_has_the_same_figures_through_every_door(
    collections: Path, folder: str, qrels: str
) -> None:
    """pytrec_eval's, whatever the order of rows and the column of ranks."""
    path, judged = collections / folder, load_qrels(collections / qrels)
    names = ["qid", "Q0", "docno", "rank", "score", "tag"]
    rows = pd.read_csv(path, sep=r"\s+", names=names, dtype={"qid": str, "docno": str})
    nested = {
        qid: dict(zip(own["docno"], own["score"], strict=True)) for qid, own in rows.groupby("qid")
    }
    shuffled = rows.sample(frac=1, random_state=7).reset_index(drop=True)
    read = read_run(path)
    doors = (
        read,
        Run.of(nested, "dict"),
        Run.of(shuffled, "pandas"),
        Run.of(pl.from_dict(shuffled.to_dict("list")), "polars"),
        Run.ranked(pl.from_dict(shuffled.to_dict("list")), "ranked"),
        Run.of(read.to_pandas(), "back"),
    )
    evaluator = Evaluator(judged, "nDCG@10 AP P@10")
    grades: dict[str, dict[str, int]] = {}
    for qid, docno, grade in judged.frame.select("qid", "docno", "grade").iter_rows():
        grades.setdefault(qid, {})[docno] = grade
    theirs = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut_10", "map", "P_10"}).evaluate(nested)
    keys = ("ndcg_cut_10", "map", "P_10")
    wanted = [[theirs.get(qid, {}).get(key, 0.0) for key in keys] for qid in evaluator.qids]
    for run in doors:
        assert np.abs(evaluator.values(run) - wanted).max() < 1e-12, run.tag
    ascending = evaluator.values(Run.of(rows, "t", ties="ascending"))
    assert np.abs(ascending - wanted).max() > 1e-4  # order matters here: the test can fail


def test_frames_of_a_run_keep_its_order_in_every_tool() -> None:
    """An engine's ties go to pandas apart, as into a file, so they come back in their order."""
    schema = {"qid": pl.String, "docno": pl.String, "score": pl.Float64}
    rows = [("1", docno, score) for docno, score in zip("abcd", (2.5, 2.5, 2.5, -0.0), strict=True)]
    hits = Run(pl.DataFrame(rows, schema=schema, orient="row"), "engine")
    frame = hits.to_pandas()
    assert frame["docno"].tolist() == list("abcd")
    assert np.diff(frame["score"].astype(np.float32)).max() < 0
    assert frame["score"].tolist() == pytest.approx([2.5, 2.5, 2.5, 0.0], rel=1e-6)
    assert Run.of(frame.iloc[::-1], "back").frame["docno"].to_list() == list("abcd")
    assert pytrec_eval.RelevanceEvaluator({"1": {"a": 1}}, {"recip_rank"}).evaluate(
        {"1": dict(zip(frame["docno"], frame["score"].tolist(), strict=True))}
    ) == {"1": {"recip_rank": 1.0}}
