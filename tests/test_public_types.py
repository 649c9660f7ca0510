"""Texts given where lists are wanted, frames without a column, and what importing costs."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adducir import Qrels, open_corpus
from adducir.core.errors import UsageError
from adducir.corpora.documents import text_of
from adducir.indexes import CandidateSet, IndexSettings, MemoryIndex
from adducir.indexes import build_memory_index as build
from adducir.indexes.feedback import RM3
from adducir.indexes.models import BM25, QLD
from adducir.rerankers.texts import texts_of
from adducir.runs.run import Run


@pytest.fixture
def index(tmp_path):
    settings = IndexSettings(fields=("conclusion", "premise"))
    build(open_corpus("bundled:arguments"), tmp_path / "index", settings)
    return MemoryIndex(tmp_path / "index")


def test_a_query_is_not_a_list_of_letters(index):
    for ask in (
        lambda: index.search("teacher tenure", BM25()),
        lambda: index.search("teacher tenure", BM25(), feedback=RM3()),
        lambda: index.expand("teacher tenure", BM25(), RM3()),
    ):
        with pytest.raises(UsageError, match="must be a list"):
            ask()
    assert len(index.search(("teacher tenure",), BM25(), feedback=RM3(), depth=2).docnos) == 2
    assert len(index.search(pl.Series(["teacher tenure"]), BM25(), depth=2).docnos) == 2


@pytest.mark.parametrize(
    "ask",
    [
        lambda: IndexSettings(fields="title"),
        lambda: text_of(next(iter(open_corpus("bundled:arguments"))), "premise"),
        lambda: texts_of(open_corpus("bundled:arguments"), "abc", (), Path("x")),
        lambda: texts_of(open_corpus("bundled:arguments"), [], "premise", Path("x")),
        lambda: CandidateSet.of_texts("Buses should be free"),
        lambda: CandidateSet.of_tokens("Buses"),
        lambda: CandidateSet.of_tokens([["buses"]]).scores("buses", BM25()),
        lambda: Qrels.of({"12": {"d": 1}}).restricted("12"),
    ],
)
def test_a_text_is_not_a_list_of_letters(ask):
    with pytest.raises(UsageError, match="must be a list"):
        ask()


def test_values_of_hyperparameters():
    for make in (lambda: BM25(b=True), lambda: RM3(fb_docs=2.5), lambda: QLD(mu=-1)):
        with pytest.raises(UsageError, match=r"at `(b|fb_docs|mu)`: should be"):
            make()
    assert BM25(k1=np.float32(1), b=0).k1 == 1
    assert RM3(fb_docs=np.int64(3)).fb_docs == 3


def test_wrong_frames():
    whole = pd.DataFrame({"qid": ["1"], "docno": ["d"], "score": [1.0]})
    for column in whole.columns:
        with pytest.raises(UsageError, match=f"a run needs a column .*{column}"):
            Run.of(whole.drop(columns=column), tag="x")
    with pytest.raises(UsageError, match="not from list"):
        Run.of([1], tag="x")


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
