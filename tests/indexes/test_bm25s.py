"""Indexes that bm25s saved are searched as bm25s searches them."""

import bm25s
import numpy as np
import pytest

from adducir.core.errors import ArtifactError, MachineError, UsageError
from adducir.indexes.engines import open_index
from adducir.indexes.models import BM25, Impact

TEXTS = ["the cat purrs at a cat", "dogs chase the cat", "birds are pets", "pets", "A dog's life."]
QUERIES = [
    "the cat or dogs, pets and a cat's life",
    "pets birds pets cat pets",
    "with the",
    "zebra",
]


@pytest.fixture
def save(tmp_path):
    def saved(corpus=None, **settings):
        retriever = bm25s.BM25(**settings)
        retriever.index(bm25s.tokenize(TEXTS, show_progress=False), show_progress=False)
        retriever.save(tmp_path, corpus=corpus, show_progress=False)
        return retriever, open_index(tmp_path)

    return saved


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_are_bm25ss(save, method, dtype):
    theirs, index = save(TEXTS, method=method, dtype=dtype)
    found = index.search(QUERIES, Impact()).to_polars([*"abcd"]).rows_by_key("qid")
    assert {qid: len(hits) for qid, hits in found.items()} == {"a": 5, "b": 4}
    for qid, query in zip("ab", QUERIES, strict=False):
        scores = theirs.get_scores(bm25s.tokenize(query, return_ids=False, show_progress=False)[0])
        assert all(scores[int(docno)] == score for docno, score in found[qid])


def test_docnos_ties_and_what_it_lacks(save):
    index = save([{"docno": name} for name in "edcba"])[1]
    assert index.search(["pets"], Impact(), depth=1).docnos.to_list() == ["b"]
    assert save([["no", "names"]] * 5)[1].docnos.to_list() == list("01234")
    with pytest.raises(UsageError, match="computed by bm25s"):
        index.search(["cat"], BM25())
    with pytest.raises(MachineError, match="PyStemmer"):
        open_index(index.path, stemmer="klingon")


@pytest.mark.parametrize("name", ["data.csc", "indices.csc", "indptr.csc"])
def test_damage(save, name):
    path = save()[1].path / f"{name}.index.npy"
    np.save(path, np.load(path)[:-1])
    with pytest.raises(ArtifactError, match="bm25s"):
        open_index(path.parent)
