"""A wrong type anywhere in the public functions is an error that says what was expected."""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

import pandas as pd
import polars as pl
import pytest

import adducir
from adducir.core.checking import checked, described, fits
from adducir.core.errors import UsageError
from adducir.corpora import Qrels, Topics, load_qrels, open_corpus, text_of
from adducir.indexes import CandidateSet, IndexSettings, MemoryIndex
from adducir.indexes import build_memory_index as build
from adducir.indexes.feedback import RM3
from adducir.indexes.models import BM25, QLD
from adducir.runs.check import check_runs
from adducir.runs.read import read_run
from adducir.runs.run import Run
from adducir.runs.write import write_run

PACKAGES = ("corpora", "indexes")
NOT_CALLED = {
    *("Corpus", "Index", "Reranker", "Document", "DocumentStore", "Reranked"),  # made by others
    *("KnownTexts", "StoredTexts", "TrainingPlan", "Context"),
    *("bundled_corpus", "bundled_qrels", "bundled_topics"),  # without parameters
    "render",  # its own check
    "text_of",  # called for every document: by a test of its own below
}
METHODS = {
    "adducir.indexes.lucene": ["LuceneIndex.search", "LuceneIndex.expand"],
    "adducir.indexes.memory.index": ["MemoryIndex.search", "MemoryIndex.expand"],
    "adducir.indexes.candidates.sets": ["CandidateSet.scores", "CandidateSet.rank"],
    "adducir.indexes.documents": ["DocumentStore.__init__", "DocumentStore.texts"],
    "adducir.evaluation.evaluator": ["Evaluator.score"],
    "adducir.corpora.qrels": ["Qrels.restricted"],
}
STATISTICS = {"paired_t": "paired", "tost": "equivalence", "all_pairs": "all_pairs"}
"""They take whatever numpy makes numbers of."""
ELSEWHERE = {
    "fuse": "adducir.runs.fuse",
    "search_topics": "adducir.indexes.search",
    "compare": "adducir.statistics.comparison.comparison",
    "Evaluator": "adducir.evaluation.evaluator",
    "evaluate": "adducir.evaluation.evaluator",
    "parse_measures": "adducir.evaluation.measures",
    "Layout": "adducir.tables.builder",
    "build_table": "adducir.tables.builder",
    "read_run": "adducir.runs.read",
    "write_run": "adducir.runs.write",
    "Run": "adducir.runs.run",
    "check_runs": "adducir.runs.check",
    "check_file": "adducir.runs.check",
    "metadata_for": "adducir.runs.metadata",
    "read_metadata": "adducir.runs.metadata",
    "strictly_decreasing": "adducir.runs.order",
    "open_training": "adducir.training.kinds",
    "train_model": "adducir.training.artifacts",
    "open_reranker": "adducir.rerankers.registry",
    "rerank": "adducir.rerankers.rerank",
    "RerankingTransformer": "adducir.rerankers.retriever",
    "texts_of": "adducir.rerankers.texts",
    "plan_experiment": "adducir.experiments.experiment",
    "run_experiment": "adducir.experiments.experiment",
}


def public():
    """Every public callable by its name, with the function that checks."""
    for package in PACKAGES:
        module = import_module(f"adducir.{package}")
        for name in sorted(module.__all__):
            if name in NOT_CALLED:
                continue
            thing = getattr(module, name)
            makes = isinstance(thing, type) and name != "CandidateSet"
            if name == "CandidateSet":
                thing = thing.of_texts.__func__
            yield f"{package}.{name}", thing.__init__ if makes else thing
    for home, names in METHODS.items():
        for name in names:
            kind, method = name.split(".")
            yield name, getattr(getattr(import_module(home), kind), method)
    for name, home in ELSEWHERE.items():
        thing = getattr(import_module(home), name)
        yield name, thing.__init__ if isinstance(thing, type) else thing
    yield "Run.ranked", Run.ranked.__func__


PUBLIC = dict(public())


class Strange:
    """A value that is nothing that any function takes."""


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_refuses_what_is_strange(name):
    function = PUBLIC[name]
    looked_at = 0
    for key, parameter in inspect.signature(function).parameters.items():
        if key in ("self", "cls") or parameter.kind in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            continue
        looked_at += 1
        with pytest.raises(UsageError, match=rf"\b{key} must be .+, not Strange"):
            function(**{key: Strange()})
    assert looked_at


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("wrong", ["some text", None, Strange(), [["a"], ["b"]]])
def test_statistics_refuse_what_is_no_number(name, wrong):
    module = import_module(f"adducir.statistics.{STATISTICS[name]}")
    more = {"paired_t": (wrong,), "tost": (wrong, 0.1), "all_pairs": ()}[name]
    with pytest.raises(UsageError):
        getattr(module, name)(wrong, *more)


def takes_texts(function, key):
    try:
        hint = get_type_hints(inspect.unwrap(function))[key]
    except (NameError, KeyError):
        return False
    return fits(["x"], hint) and not fits("x", hint) and not fits([3], hint)


@pytest.mark.parametrize("name", PUBLIC)
def test_no_text_passes_for_texts(name):
    function = PUBLIC[name]
    for key in inspect.signature(function).parameters:
        if takes_texts(function, key):
            with pytest.raises(UsageError, match=rf"{key} must be .+, not str .'some text'"):
                function(**{key: "some text"})
            with pytest.raises(UsageError, match=rf"{key} must be .+ not list of int"):
                function(**{key: [3]})


def test_the_functions_of_the_document_are_all_looked_at():
    text = (Path(__file__).parents[1] / "docs" / "python.md").read_text()
    imported = re.findall(r"^from (adducir[\w.]*) import (.+)$", text, re.M)
    names = {one.strip() for _, ones in imported for one in ones.split(",")}
    known = {name.split(".")[-1] for name in PUBLIC} | NOT_CALLED
    models = {"BM25", "QLD", "Okapi", "RM3"}  # by a test of their own below
    assert names - known <= {*models, *STATISTICS}


def test_the_names_of_the_public_api_are_all_looked_at():
    known = {name.split(".")[-1] for name in PUBLIC} | NOT_CALLED
    results = {"Scores", "Comparison", "ResultTable", "AdducirError"}
    kinds = {"BM25", "QLD", "RM3"}  # which check themselves: below
    assert set(adducir.__all__) - known == {*results, *kinds, "__version__"}


@pytest.fixture
def index(tmp_path):
    settings = IndexSettings(fields=("conclusion", "premise"))
    build(open_corpus("bundled:arguments"), tmp_path / "index", settings)
    return MemoryIndex(tmp_path / "index")


def refused(*words):
    return pytest.raises(UsageError, match=".*".join(map(re.escape, words)))


def test_a_query_is_no_list_of_letters(index):
    with refused(
        "MemoryIndex.search: queries must be a sequence of str", "'teacher tenure'", "[...]"
    ):
        index.search("teacher tenure", BM25())
    with refused("not list of int and str"):
        index.search(["teacher tenure", 3], BM25())
    with refused("model must be", "not str ('bm25')"):
        index.search(["teacher tenure"], "bm25")
    with refused("depth must be int or None, not str ('5')"):
        index.search(["teacher tenure"], BM25(), depth="5")
    with refused("feedback must be FeedbackMethod or None, not bool"):
        index.search(["teacher tenure"], BM25(), feedback=True)
    assert len(index.search(("teacher tenure",), BM25(), feedback=RM3(), depth=2).docnos) == 2
    assert len(index.search(pl.Series(["teacher tenure"]), BM25(), depth=2).docnos) == 2


def test_wrong_values_of_settings():
    with refused("BM25: k1 must be float, not str ('0.9')"):
        BM25(k1="0.9")
    with refused("BM25: b must be float, not bool"):
        BM25(b=True)
    with refused("RM3: fb_docs must be int, not float (2.5)"):
        RM3(fb_docs=2.5)
    with refused("QLD: at `mu`: should be at least 0"):
        QLD(mu=-1)
    with refused("IndexSettings: fields must be", "not str ('title')"):
        IndexSettings(fields="title")
    assert BM25(k1=1, b=0).k1 == 1


def test_wrong_sources(tmp_path):
    with refused("open_corpus: source must be str or Path, not None"):
        open_corpus(None)
    with refused("open_corpus: source must be str or Path, not int (3)"):
        open_corpus(3)
    with refused("build_memory_index: corpus must be Corpus, not str ('pets.jsonl')"):
        build("pets.jsonl", tmp_path)
    with refused("load_qrels: source must be", "not list of int"):
        load_qrels([3])
    with refused("read_run: path must be Path or str, not Run"):
        read_run(Run(pl.DataFrame(schema={"qid": str, "docno": str, "score": float}), "x"))
    with refused("text_of: fields must be a sequence of str"):
        text_of(next(iter(open_corpus("bundled:arguments"))), "premise")


def test_wrong_frames(tmp_path):
    whole = pd.DataFrame({"qid": ["1"], "docno": ["d"], "score": [1.0]})
    for column in whole.columns:
        with refused("a run needs a column", column):
            Run.of(whole.drop(columns=column), tag="x")
    with refused("not from list"):
        Run.of([1], tag="x")
    with refused("write_run: run must be Run, not DataFrame"):
        write_run(whole, tmp_path / "x")
    with refused("check_runs: runs must be a sequence of Run, not Run"):
        check_runs(Run.of(whole, tag="x"))
    with refused("Topics: qids must be"):
        Topics("1", ["a"], "x", "title")
    with refused("Qrels: frame must be DataFrame"):
        Qrels({"1": {"d": 1}}, "x")
    with refused("CandidateSet.of_texts: texts must be a sequence of str"):
        CandidateSet.of_texts("Buses should be free")


@checked
def some(texts: Sequence[str], number: int = 1, share: float = 0.5) -> int:
    return len(texts) + number


def test_values_are_neither_converted_nor_copied():
    import numpy as np

    assert some(np.array(["a"]), np.int64(2), np.float32(0.5)) == 3
    assert some(range(0)) == 1
    assert some.__name__ == "some"
    assert str(inspect.signature(some)).startswith("(texts: collections.abc.Sequence[str]")
    with pytest.raises(TypeError, match="missing"):
        some()
    with refused("number must be int, not float (1.0)"):
        some([], 1.0)


def test_hints_are_described_as_people_read_them():
    assert described(Sequence[str | int]) == "a sequence of str or int"
    assert described(dict[str, float] | None) == "a mapping of str to float or None"
    assert get_args(Sequence[str]) == (str,)


def test_packages_stay_light():
    code = (
        "import sys, adducir.indexes, adducir.runs, adducir.corpora, adducir.experiments\n"
        "print(sorted({'numpy', 'pandas', 'polars', 'torch', 'ast'} & set(sys.modules)))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert done.stdout.strip() == "[]"
