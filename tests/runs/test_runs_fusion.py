"""The methods of fusion, against figures of ranx 0.3.21 and by what every method must keep to."""

import math

import polars as pl
import pytest

from adducir.core.errors import UsageError
from adducir.runs.fuse import fuse
from adducir.runs.fusion import FUSION, FusionMethod
from adducir.runs.run import SCHEMA, Run


def run_of(topics, tag):
    rows = [(qid, docno, s) for qid, ranking in topics.items() for docno, s in ranking.items()]
    return Run.ranked(pl.DataFrame(rows, schema=SCHEMA, orient="row"), tag)


A = run_of({"1": {"x": 9.0, "y": 7.0, "z": 5.0, "u": 1.0}, "2": {"x": 3.0, "v": 2.0}}, "a")
B = run_of({"1": {"z": 0.9, "x": 0.4, "w": 0.1}, "2": {"w": 1.0, "v": 0.75, "u": 0.5}}, "b")

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


def as_dict(run):
    found = {}
    for qid, docno, score in run.frame.rows():
        found.setdefault(qid, {})[docno] = score
    return found


@pytest.mark.parametrize(("method", "settings", "weights", "expected"), RANX)
def test_figures_are_those_of_ranx(method, settings, weights, expected):
    found = as_dict(fuse([A, B], method, weights=weights, **settings))
    assert found.keys() == expected.keys()
    for qid, documents in expected.items():
        assert found[qid] == pytest.approx(documents, abs=1e-12)


@pytest.mark.parametrize("name", list(FUSION))
def test_every_method_is_a_documented_recipe(name):
    kind = FUSION.kind(name)
    assert issubclass(kind, FusionMethod)
    assert kind.__doc__
    method = FUSION.make(name)
    assert kind.model_validate(method.model_dump()) == method
    for key, field in kind.model_fields.items():
        assert field.description, key
        with pytest.raises(UsageError, match=key):
            FUSION.make(name, {key: [None]})


@pytest.mark.parametrize("name", list(FUSION))
def test_every_method_ranks_all_documents_whatever_the_order_of_runs(name):
    first, second = fuse([A, B], name), fuse([B, A], name)
    assert as_dict(first) == as_dict(second)
    assert {q: set(d) for q, d in as_dict(first).items()} == {"1": set("xyzuw"), "2": set("xvwu")}
    assert all(math.isfinite(score) for score in first.frame["score"])
    assert fuse([A, B], name, depth=1).depth == 1
    assert len(fuse([run_of({}, "none"), run_of({}, "too")], name)) == 0


def test_z_scores_of_equal_or_huge_scores_are_finite():
    flat = run_of({"1": {"x": 2.0, "y": 2.0}}, "flat")
    wide = run_of({"1": {"x": 1.7e308, "y": 0.0, "z": -1.7e308}}, "wide")
    found = as_dict(fuse([flat, wide], "combsum", normalise="z-score"))["1"]
    assert found == pytest.approx({"x": math.sqrt(1.5), "y": 0, "z": -math.sqrt(1.5)})


def test_a_number_of_runs_never_multiplies_negative_scores():
    with pytest.raises(UsageError, match="negative"):
        fuse([A, B], "combmnz", normalise="z-score")


def test_unknown_names_are_refused_with_what_there_is():
    with pytest.raises(UsageError, match=r"did you mean `combsum`\?.*rrf"):
        fuse([A, B], "combsun")
    with pytest.raises(UsageError, match="`sigma` is no hyperparameter of rrf, which has `k`"):
        fuse([A, B], "rrf", sigma=1)
