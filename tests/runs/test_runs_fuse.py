"""Fusion of runs."""

import itertools
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.runs.fuse import fuse, lacking
from adducir.runs.read import read_run
from adducir.runs.run import SCHEMA, Run
from adducir.runs.write import write_run


def run_of(topics, tag="t"):
    rows = [(qid, docno, score) for qid, ranking in topics.items() for docno, score in ranking]
    return Run.ranked(pl.DataFrame(rows, schema=SCHEMA, orient="row"), tag)


A = run_of({"1": [("x", 9.0), ("y", 7.0), ("z", 5.0)], "2": [("x", 3.0)]}, "a")
B = run_of({"1": [("z", 0.9), ("x", 0.1)], "3": [("w", 1.0), ("v", 1.0)]}, "b")


def as_dict(run):
    result = defaultdict(dict)
    for qid, docno, score in run.frame.rows():
        result[qid][docno] = score
    return dict(result)


def test_reciprocal_ranks_are_added():
    fused = fuse([A, B])
    assert as_dict(fused) == {
        "1": {
            "x": pytest.approx(1 / 61 + 1 / 62),
            "z": pytest.approx(1 / 63 + 1 / 61),
            "y": 1 / 62,
        },
        "2": {"x": 1 / 61},
        "3": {"v": 1 / 61, "w": 1 / 62},
    }
    assert fused.qids == ["1", "2", "3"]
    assert fused.tag == "rrf"


def test_scores_between_0_and_1_are_added():
    assert as_dict(fuse([A, B], "combsum"))["1"] == {"x": 1.0, "z": 1.0, "y": 0.5}


def test_a_sum_is_multiplied_by_the_runs_that_rank_the_document():
    assert as_dict(fuse([A, B], "combmnz"))["1"] == {"x": 2.0, "z": 2.0, "y": 0.5}


def test_a_ranking_of_equal_scores_counts_1_throughout():
    fused = as_dict(fuse([A, B], "combsum"))
    assert fused["2"] == {"x": 1.0}
    assert fused["3"] == {"v": 1.0, "w": 1.0}


def test_raw_scores_are_added_on_request():
    assert as_dict(fuse([A, B], "combsum", normalise="none"))["1"] == {"x": 9.1, "z": 5.9, "y": 7.0}


def test_weights_scale_what_a_run_adds():
    assert as_dict(fuse([A, B], weights=[2, 0.5]))["1"]["x"] == pytest.approx(2 / 61 + 0.5 / 62)
    alone = fuse([A, B], "combsum", weights=[1, 0])
    assert as_dict(alone)["1"] == {"x": 1.0, "y": 0.5, "z": 0.0}


def test_a_topic_keeps_its_best_documents():
    assert as_dict(fuse([A, B], depth=1)) == {
        "1": {"x": 1 / 61 + 1 / 62},
        "2": {"x": 1 / 61},
        "3": {"v": 1 / 61},
    }


def test_what_runs_lack_is_reported():
    assert lacking([A, B]) == [["3"], ["2"]]


def test_scores_at_the_ends_of_the_range_do_not_overflow():
    wide = run_of({"1": [("x", 1.7e308), ("y", 0.0), ("z", -1.7e308)]})
    assert as_dict(fuse([wide, wide], "combsum"))["1"] == {"x": 2.0, "y": 1.0, "z": 0.0}


@pytest.mark.parametrize(
    ("runs", "options"),
    [
        ([A], {}),
        ([], {}),
        ([A, B], {"method": "borda"}),
        ([A, B], {"normalise": "softmax"}),
        ([A, B], {"weights": [1]}),
        ([A, B], {"weights": [1, -1]}),
        ([A, B], {"weights": [0, 0]}),
        ([A, B], {"weights": [1, float("nan")]}),
        ([A, B], {"k": -1}),
        ([A, B], {"k": float("inf")}),
        ([A, B], {"depth": 0}),
        ([A, run_of({"1": [("x", -1.0)]})], {"method": "combmnz", "normalise": "none"}),
    ],
)
def test_nonsense_is_refused(runs, options):
    with pytest.raises(UsageError):
        fuse(runs, **options)


def test_empty_runs_fuse_to_an_empty_run():
    assert len(fuse([run_of({}), run_of({})], "combsum")) == 0
    assert as_dict(fuse([A, run_of({})], "combsum"))["2"] == {"x": 1.0}


RANKING = st.dictionaries(
    st.sampled_from("abcdefgh"), st.floats(-100, 100) | st.sampled_from([0.1, 0.2, 0.3]), max_size=8
).map(dict.items)
RUN = st.dictionaries(st.sampled_from("123"), RANKING.filter(len), max_size=3).map(run_of)


@settings(max_examples=50)
@given(st.lists(RUN, min_size=2, max_size=4), st.sampled_from(["rrf", "combsum", "combmnz"]))
def test_the_order_of_runs_does_not_matter(runs, method):
    first = as_dict(fuse(runs, method))
    for permuted in itertools.permutations(runs):
        again = as_dict(fuse(permuted, method))
        assert again == first
        assert {q: list(d) for q, d in again.items()} == {q: list(d) for q, d in first.items()}


@settings(max_examples=50)
@given(st.lists(RUN, min_size=2, max_size=4), st.sampled_from(["rrf", "combsum", "combmnz"]))
def test_fusion_agrees_with_its_definition(runs, method):
    expected = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for qid, ranking in as_dict(run).items():
            low, high = min(ranking.values()), max(ranking.values())
            for rank, (docno, score) in enumerate(ranking.items(), 1):
                scaled = (score - low) / (high - low) if high > low else 1.0
                expected[qid][docno].append(1 / (60 + rank) if method == "rrf" else scaled)
    found = as_dict(fuse(runs, method))
    assert found.keys() == expected.keys()
    for qid, documents in expected.items():
        assert found[qid] == pytest.approx(
            {
                docno: sum(terms) * (len(terms) if method == "combmnz" else 1)
                for docno, terms in documents.items()
            },
            rel=1e-12,
            abs=1e-12,
        )


def test_fusion_agrees_with_pyserini(collections, tmp_path):
    pytest.importorskip("pyserini.fusion")
    from pyserini.fusion import normalize, reciprocal_rank_fusion
    from pyserini.trectools import TrecRun

    names = ["input.aplrob03a.gz", "input.uic0301.gz", "input.pircRBa1.gz"]
    runs = []
    for name in names:
        run = read_run(collections / "robust03" / name)
        some = run.frame.filter(pl.col("qid").is_in(run.qids[:10]))
        runs.append(Run(some, run.tag).top(200))
        write_run(runs[-1], tmp_path / f"{run.tag}.trec")
    runs = [read_run(tmp_path / f"{run.tag}.trec") for run in runs]
    theirs = [TrecRun(str(tmp_path / f"{run.tag}.trec")) for run in runs]
    for merged, method in ((reciprocal_rank_fusion(theirs), "rrf"), (normalize(theirs), "combsum")):
        data = merged.run_data
        expected = {
            (str(qid), str(docno)): score
            for qid, docno, score in zip(data["topic"], data["docid"], data["score"], strict=True)
        }
        ours = {
            (qid, docno): score
            for qid, docno, score in fuse(runs, method, depth=10_000).frame.rows()
        }
        assert ours.keys() == expected.keys()
        pairs = list(expected)
        np.testing.assert_allclose(
            [ours[p] for p in pairs], [expected[p] for p in pairs], atol=1e-12
        )
