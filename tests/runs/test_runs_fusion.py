"""Fusion of runs: by definition, against figures of ranx 0.3.21, and against pyserini."""

import math
from collections import defaultdict
from statistics import mean, median

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir import fuse
from adducir.core.errors import UsageError
from adducir.runs.fusion import FUSION, lacking
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run


def nested(text):
    found = {}
    for qid, *words in map(str.split, text.split(";")):
        found[qid] = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    return found


def run_of(text, tag="t"):
    return Run.of(nested(text), tag)


def as_dict(run):
    result = defaultdict(dict)
    for qid, docno, score in run.frame.rows():
        result[qid][docno] = score
    return dict(result)


EMPTY = Run.of({}, "none")
A = run_of("1 x 9 y 7 z 5 u 1; 2 x 3 v 2", "a")
B = run_of("1 z 0.9 x 0.4 w 0.1; 2 w 1 v 0.75 u 0.5", "b")
C = run_of("2 x 3; 3 w 1 v 1", "c")


@pytest.mark.parametrize(
    ("method", "settings", "weights", "expected"),
    [
        (
            *("combsum", {"normalise": "z-score"}, None),
            "1 z 1.1441674569721707 x 0.9811854477094809 y 0.50709255283711 w -1.111167799007432 "
            "u -1.52127765851133; 2 w 1.224744871391589 x 1 v -1 u -1.224744871391589",
        ),
        (
            *("combsum", {"normalise": "z-score"}, [0.3, 0.7]),
            "1 z 0.8685295602588008 x 0.21354343074866736 y 0.152127765851133 "
            "u -0.45638329755339896 w -0.7778174593052024; "
            "2 w 0.8573214099741122 x 0.3 v -0.3 u -0.8573214099741122",
        ),
    ],
)
def test_figures_are_those_of_ranx(method, settings, weights, expected):
    found = as_dict(fuse([A, B], method, weights=weights, **settings))
    assert found.keys() == nested(expected).keys()
    for qid, documents in nested(expected).items():
        assert found[qid] == pytest.approx(documents, abs=1e-12)


@pytest.mark.parametrize("name", list(FUSION))
def test_every_method_ranks_all_documents_whatever_the_order_of_runs(name):
    first, second = fuse([A, B], name), fuse([B, A], name)
    assert as_dict(first) == as_dict(second)
    assert {q: set(d) for q, d in as_dict(first).items()} == {"1": set("xyzuw"), "2": set("xvwu")}
    assert all(math.isfinite(score) for score in first.frame["score"])
    assert as_dict(fuse([A, EMPTY], name)).keys() == {"1", "2"}
    assert len(fuse([EMPTY, EMPTY], name)) == 0


def test_weights_depth_and_missing_topics():
    assert as_dict(fuse([A, B], weights=[2, 0.5]))["1"]["x"] == pytest.approx(2 / 61 + 0.5 / 62)
    raw = fuse([A, C], "combsum", weights=[1, 2], normalise="none")
    assert as_dict(raw)["2"] == {"x": 9.0, "v": 2.0}
    fused = fuse([A, C], depth=1)
    assert as_dict(fused) == {"1": {"x": 1 / 61}, "2": {"x": 2 / 61}, "3": {"w": 1 / 61}}
    assert (fused.qids, fused.tag) == (["1", "2", "3"], "rrf")
    assert lacking([A, C]) == [["3"], ["1"]]


@pytest.mark.parametrize(
    ("runs", "options"),
    [
        *(([A] * count, {}) for count in (0, 1)),
        *(([A, B], {"weights": weights}) for weights in ([1, -1], [0, 0], [1, math.nan])),
        ([A, run_of("1 x -1")], {"method": "combmnz", "normalise": "none"}),
    ],
)
def test_nonsense_is_refused(runs, options):
    with pytest.raises(UsageError):
        fuse(runs, **options)


RANKING = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.floats(-100, 100) | st.sampled_from([0.1, 0.2, 0.3]),
    min_size=1,
    max_size=8,
)
RUN = st.dictionaries(st.sampled_from("123"), RANKING, max_size=3).map(lambda one: Run.of(one, "t"))


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
    assert as_dict(fuse(runs[::-1], method)) == found
    assert found.keys() == expected.keys()
    for qid, documents in expected.items():
        sums = {
            docno: sum(terms) * (len(terms) if method == "combmnz" else 1)
            for docno, terms in documents.items()
        }
        assert found[qid] == pytest.approx(sums, rel=1e-12, abs=1e-12)


def test_fusion_agrees_with_pyserini(collections, tmp_path):
    pytest.importorskip("pyserini.fusion")
    from pyserini.fusion import normalize, reciprocal_rank_fusion
    from pyserini.trectools import TrecRun

    paths = []
    for name in ("input.aplrob03a.gz", "input.uic0301.gz", "input.pircRBa1.gz"):
        run = read_run(collections / "robust03" / name)
        some = run.frame.filter(pl.col("qid").is_in(run.qids[:10]))
        paths.append(tmp_path / f"{run.tag}.trec")
        write_run(Run(some, run.tag).top(200), paths[-1])
    runs, theirs = [read_run(path) for path in paths], [TrecRun(str(path)) for path in paths]
    for merged, method in ((reciprocal_rank_fusion(theirs), "rrf"), (normalize(theirs), "combsum")):
        data = merged.run_data
        pairs = zip(data["topic"].astype(str), data["docid"].astype(str), strict=True)
        expected = dict(zip(pairs, data["score"], strict=True))
        fused = fuse(runs, method, depth=10_000)
        ours = {(qid, docno): score for qid, docno, score in fused.frame.rows()}
        assert ours.keys() == expected.keys()
        np.testing.assert_allclose([ours[p] for p in expected], list(expected.values()), atol=1e-12)


def ranx(method, norm="min-max"):
    """ranx's definitions (0.3.21), topic by topic, for runs that share their topics."""
    runs = [nested("1 x 9 y 7 z 5 u 1"), nested("1 z 0.9 x 0.4 w 0.1"), nested("1 y 4 w 3 x 2")]
    lists = [list(run["1"].items()) for run in runs]
    pool = {docno for ranking in lists for docno, _ in ranking}

    def normalised(ranking):
        scores, n, c = [score for _, score in ranking], len(ranking), len(pool)
        low, high = min(scores), max(scores)
        found = {}
        for i, (docno, score) in enumerate(ranking):
            found[docno] = {
                "min-max": (score - low) / (high - low),
                "max": score / high,
                "sum": (score - low) / (sum(scores) - low * n),
                "rank": 1 - i / n,
                "borda": 1 - i / c,
                "points": c - i,
                "square": 1 / (i + 1) ** 2,
            }[norm]
        rest = {"borda": 0.5 - (n - 1) / (2 * c), "points": (c - n + 1) / 2}
        return found | (dict.fromkeys(pool - set(found), rest[norm]) if norm in rest else {})

    each = [normalised(ranking) for ranking in lists]
    values = {docno: [one[docno] for one in each if docno in one] for docno in pool}
    return {docno: method(some) for docno, some in values.items()}


def of_ours(method, **more):
    texts = ("1 x 9 y 7 z 5 u 1", "1 z 0.9 x 0.4 w 0.1", "1 y 4 w 3 x 2")
    return as_dict(fuse([run_of(text) for text in texts], method, **more))["1"]


@pytest.mark.parametrize("norm", ["min-max", "max", "sum", "rank", "borda"])
def test_combinations_are_ranxs(norm):
    methods = {"combsum": sum, "combmax": max, "combmin": min, "combmed": median}
    methods |= {"combanz": mean, "combmnz": lambda some: sum(some) * len(some)}
    for name, method in methods.items():
        assert of_ours(name, normalise=norm) == pytest.approx(ranx(method, norm)), name


def test_ranks_and_votes_are_ranxs():
    assert of_ours("borda") == pytest.approx(ranx(sum, "points"))
    assert of_ours("isr") == pytest.approx(ranx(lambda some: sum(some) * len(some), "square"))
    logs = ranx(lambda some: sum(some) * math.log(len(some)), "square")
    assert of_ours("log-isr") == pytest.approx(logs)


def test_rrf_of_the_first_documents_only():
    assert of_ours("rrf", top=1) == pytest.approx(dict.fromkeys("xyz", 1 / 61))
    assert set(of_ours("rrf", top=2)) == set("xyzw")
    assert of_ours("rrf", top=9) == of_ours("rrf")


VOTERS = [
    run_of("1 a 8 b 7 c 6 d 5 e 4 f 3; 2 p 3 q 2 r 1", "x"),
    run_of("1 b 9 a 8 d 7 c 6 f 5 e 4; 2 q 3 p 2 r 1", "y"),
    run_of("1 a 9 c 8 b 7 d 6 g 5 e 3; 2 p 3 r 2 q 1", "z"),
]


@pytest.mark.parametrize("runs", [VOTERS, VOTERS[::-1]])
def test_majorities_are_ranxs(runs):
    """Values of ranx 0.3.21, where no votes are drawn."""
    found = as_dict(fuse(runs, "condorcet"))
    assert found["1"] == {name: 7.0 - at for at, name in enumerate("abcdefg")}
    assert found["2"] == {"p": 3.0, "q": 2.0, "r": 1.0}


def test_majorities_are_weighted_and_circles_have_an_order():
    assert as_dict(fuse(VOTERS, "condorcet", weights=[0, 1, 0]))["1"]["b"] == 7.0
    circle = [run_of(text) for text in ("1 a 3 b 2 c 1", "1 b 3 c 2 a 1", "1 c 3 a 2 b 1")]
    assert fuse(circle, "condorcet").frame.equals(fuse(circle[::-1], "condorcet").frame)
