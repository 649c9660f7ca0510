"""``tune:`` in an experiment file: what it takes and what it refuses."""

import pytest
from tuning_cases import pool_of, topic_set

from adducir.core.config import load, validate
from adducir.core.errors import InputError, UsageError
from adducir.experiments.tuning.folds import Pool
from adducir.experiments.tuning.systems import fusion_hyperparameters, lexical_hyperparameters
from adducir.experiments.tuning.tune import TuneRecipe
from adducir.indexes.feedback import RM3
from adducir.indexes.models import BM25, QLD


def recipe(tmp_path, text):
    path = tmp_path / "tune.yaml"
    path.write_text(text)
    return validate(load(path), TuneRecipe)


def test_values_are_numbers_lists_and_ranges(tmp_path):
    found = recipe(
        tmp_path,
        "grid:\n  k1: [0.6, 1]\n  b: {from: 0.15, to: 0.75, step: 0.2}\n  mu: 500\nfolds: topics\n",
    )
    values = {name: [float(value) for value in given] for name, given in found.values.items()}
    assert values == {"k1": [0.6, 1], "b": [0.15, 0.35, 0.55, 0.75], "mu": [500]}
    assert list(found.values) == ["k1", "b", "mu"]
    assert found.objective == "nDCG(judged_only=True)@5"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("grid: {k1: [0.6, x]}\nfolds: topics", "grid.k1.1"),
        ("grid: {k1: true}\nfolds: topics", "not true"),
        ("grid: {k1: [true]}\nfolds: topics", "not true"),
        ("grid: {k1: {from: 1, to: 2}}\nfolds: topics", "step is missing"),
        ("grid: {k1: {from: 1, to: 3, stp: 1}}\nfolds: topics", "stp"),
        (
            "grid: {k1: {from: 1, to: 3, step: 1.5}}\nfolds: topics",
            "steps of 1.5 from 1 do not end",
        ),
        ("grid: {k1: 1}\nfolds: topic", "folds"),
        ("grid: {k1: 1}\nfolds: {k: 1}", "at least 2"),
        ("grid: {k1: 1}\nfolds: {}", "folds are `topics`"),
        ("grid: {k1: 1}\nfolds: {k: 5, file: x}", "folds are `topics`"),
        ("grid: {k1: 1}\nfolds: {seed: 2, file: x}", "`seed` means nothing"),
        ("grid: {k1: 1}\nfolds: {kk: 5}", "did you mean `k`"),
        ("grid: {k1: 1}", "`folds`: this key is needed"),
    ],
)
def test_slips_are_refused_with_their_line(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        recipe(tmp_path, text + "\n")
    assert message in str(caught.value)
    assert "tune.yaml:" in str(caught.value)


def test_the_grid_must_be_that_of_the_system(tmp_path):
    found = recipe(tmp_path, "grid: {k1: 1, b: [0.2, 2], fb_terms: 2.5}\nfolds: topics\n")
    bm25 = dict(found.errors(lexical_hyperparameters(BM25, RM3)))
    assert set(bm25) == {("grid", "b"), ("grid", "fb_terms")}
    assert "from 0 to 1, not 2" in bm25["grid", "b"]
    qld = dict(found.errors(lexical_hyperparameters(QLD, None)))
    assert set(qld) == {("grid", "k1"), ("grid", "b"), ("grid", "fb_terms")}
    fused = recipe(tmp_path, "grid: {k: 10, weights.a: [1, 2]}\nfolds: topics\n")
    assert not dict(fused.errors(fusion_hyperparameters(["a", "b"], "rrf")))
    assert set(dict(fused.errors(fusion_hyperparameters(["b"], "combsum")))) == {
        ("grid", "k"),
        ("grid", "weights.a"),
    }
    empty = recipe(tmp_path, "grid: {}\nfolds: topics\n")
    assert dict(empty.errors({})) == {("grid",): "there is nothing to tune"}


def test_folds_are_made_as_the_recipe_says(tmp_path):
    two = Pool.of([topic_set("a", ["1", "2"]), topic_set("b", ["3", "4"])])
    by_set = recipe(tmp_path, "grid: {k1: 1}\nfolds: topics\n")
    assert by_set.make_folds(two, str).names == ("a", "b")
    with pytest.raises(UsageError, match="two topic sets"):
        by_set.make_folds(pool_of(4), str)
    cut = recipe(tmp_path, "grid: {k1: 1}\nfolds: {k: 2, seed: 3}\n")
    assert cut.make_folds(two, str).rule == "2 folds over 4 topics, seed 3"
    (tmp_path / "folds.json").write_text('{"x": [1, 3], "y": [2, 4]}')
    read = recipe(tmp_path, "grid: {k1: 1}\nfolds: {file: folds.json}\n")
    assert read.make_folds(two, lambda name: tmp_path / name).names == ("x", "y")
