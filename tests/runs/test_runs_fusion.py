"""Fusion of runs: by definition, against figures of ranx 0.3.21, and against pyserini."""

import itertools
import math
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.runs.fusion import FUSION, fuse, lacking
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run


def run_of(topics, tag="t"):
    return Run.of({qid: dict(ranking) for qid, ranking in topics.items()}, tag)


A = run_of({"1": [("x", 9.0), ("y", 7.0), ("z", 5.0)], "2": [("x", 3.0)]}, "a")
B = run_of({"1": [("z", 0.9), ("x", 0.1)], "3": [("w", 1.0), ("v", 1.0)]}, "b")


def as_dict(run):
    result = defaultdict(dict)
    for qid, docno, score in run.frame.rows():
        result[qid][docno] = score
    return dict(result)


C = run_of({"1": {"x": 9.0, "y": 7.0, "z": 5.0, "u": 1.0}, "2": {"x": 3.0, "v": 2.0}}, "a")
D = run_of({"1": {"z": 0.9, "x": 0.4, "w": 0.1}, "2": {"w": 1.0, "v": 0.75, "u": 0.5}}, "b")

ZSUM = {
    "1": {
        "z": 1.1441674569721707,
        "x": 0.9811854477094809,
        "y": 0.50709255283711,
        "w": -1.111167799007432,
        "u": -1.52127765851133,
    },
    "2": {"w": 1.224744871391589, "x": 1.0, "v": -1.0, "u": -1.224744871391589},
}
RANX = [
    ("combsum", {"normalise": "z-score"}, None, ZSUM),
    (
        "combsum",
        {"normalise": "z-score"},
        [0.3, 0.7],
        {
            "1": {
                "z": 0.8685295602588008,
                "x": 0.21354343074866736,
                "y": 0.152127765851133,
                "u": -0.45638329755339896,
                "w": -0.7778174593052024,
            },
            "2": {"w": 0.8573214099741122, "x": 0.3, "v": -0.3, "u": -0.8573214099741122},
        },
    ),
    (
        "combanz",
        {},
        None,
        {
            "1": {"y": 0.75, "z": 0.75, "x": 0.6875, "u": 0.0, "w": 0.0},
            "2": {"x": 1.0, "w": 1.0, "v": 0.25, "u": 0.0},
        },
    ),
    (
        "isr",
        {},
        None,
        {
            "1": {"x": 2.5, "z": 2.2222222222222223, "y": 0.25, "w": 1 / 9, "u": 0.0625},
            "2": {"x": 1.0, "v": 1.0, "w": 1.0, "u": 1 / 9},
        },
    ),
    (
        "log-isr",
        {"sigma": 0},
        None,
        {
            "1": {"x": 0.8664339756999316, "z": 0.7701635339554948, "y": 0, "u": 0, "w": 0},
            "2": {"v": 0.34657359027997264, "x": 0.0, "w": 0.0, "u": 0.0},
        },
    ),
    (
        "log-isr",
        {},
        None,
        {
            "1": {
                "x": 0.8726684025887304,
                "z": 0.7757052467455381,
                "y": 0.002487582713292023,
                "w": 0.0011055923170186768,
                "u": 0.0006218956783230058,
            },
            "2": {
                "v": 0.34906736103549213,
                "x": 0.009950330853168092,
                "w": 0.009950330853168092,
                "u": 0.0011055923170186768,
            },
        },
    ),
]


def test_what_methods_add():
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
    assert (fused.qids, fused.tag) == (["1", "2", "3"], "rrf")
    sums = as_dict(fuse([A, B], "combsum"))
    assert sums["1"] == {"x": 1.0, "z": 1.0, "y": 0.5}
    assert (sums["2"], sums["3"]) == ({"x": 1.0}, {"v": 1.0, "w": 1.0})  # equal scores count 1
    raw = as_dict(fuse([A, B], "combsum", normalise="none"))
    assert raw["1"] == {"x": 9.1, "z": 5.9, "y": 7.0}


def test_weights_depth_and_missing_topics():
    assert as_dict(fuse([A, B], weights=[2, 0.5]))["1"]["x"] == pytest.approx(2 / 61 + 0.5 / 62)
    alone = fuse([A, B], "combsum", weights=[1, 0])
    assert as_dict(alone)["1"] == {"x": 1.0, "y": 0.5, "z": 0.0}
    first = {"1": {"x": 1 / 61 + 1 / 62}, "2": {"x": 1 / 61}, "3": {"v": 1 / 61}}
    assert as_dict(fuse([A, B], depth=1)) == first
    assert lacking([A, B]) == [["3"], ["2"]]


@pytest.mark.parametrize("name", ["min-max", "z-score"])
def test_scores_at_the_ends_of_the_range_do_not_overflow(name):
    wide = run_of({"1": [("x", 1.7e308), ("y", 0.0), ("z", -1.7e308)], "2": [("x", 2), ("y", 2)]})
    found = as_dict(fuse([wide, wide], "combsum", normalise=name))
    top = 2.0 if name == "min-max" else math.sqrt(6)
    low, middle, flat = (0, 1, 2) if name == "min-max" else (-top, 0, 0)
    assert found["1"] == pytest.approx({"x": top, "y": middle, "z": low})
    assert found["2"] == {"x": flat, "y": flat}


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
        ([A, B], {"method": "combsun"}),
        ([A, B], {"method": "rrf", "sigma": 1}),
        ([A, B], {"method": "combmnz", "normalise": "z-score"}),
        ([A, run_of({"1": [("x", -1.0)]})], {"method": "combmnz", "normalise": "none"}),
    ],
)
def test_nonsense_is_refused(runs, options):
    with pytest.raises(UsageError):
        fuse(runs, **options)


@pytest.mark.parametrize(("method", "settings", "weights", "expected"), RANX)
def test_figures_are_those_of_ranx(method, settings, weights, expected):
    found = as_dict(fuse([C, D], method, weights=weights, **settings))
    assert found.keys() == expected.keys()
    for qid, documents in expected.items():
        assert found[qid] == pytest.approx(documents, abs=1e-12)


@pytest.mark.parametrize("name", list(FUSION))
def test_every_method_ranks_all_documents_whatever_the_order_of_runs(name):
    first, second = fuse([C, D], name), fuse([D, C], name)
    assert as_dict(first) == as_dict(second)
    assert {q: set(d) for q, d in as_dict(first).items()} == {"1": set("xyzuw"), "2": set("xvwu")}
    assert all(math.isfinite(score) for score in first.frame["score"])
    assert as_dict(fuse([C, run_of({})], name)).keys() == {"1", "2"}
    assert len(fuse([run_of({}, "none"), run_of({}, "too")], name)) == 0


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
