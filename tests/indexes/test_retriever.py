"""The PyTerrier transformers, without Terrier's Java, and the documents of an index."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyterrier as pt
import pytest

from adducir.cli.app import main
from adducir.core.errors import ArtifactError, InputError, UsageError
from adducir.corpora.documents import Document
from adducir.corpora.topics import Topics
from adducir.indexes import documents
from adducir.indexes.documents import DOCNOS, DocumentStore, DocumentWriter
from adducir.indexes.feedback import RM3
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.models import BM25
from adducir.indexes.retriever import DenseRetriever, LexicalRetriever

TOPICS = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["leash", "noise1 noise2", "the"]})


@pytest.fixture(scope="module")
def index(make_index: Callable[..., LuceneIndex]) -> LuceneIndex:
    rng = np.random.default_rng(3)
    noise = [f"noise{n}" for n in range(100)]
    texts = {f"N{n:03d}": " ".join(rng.choice(noise, 15)) for n in range(150)}
    texts |= {f"P{n}": "leash law park walker" + " fine" * n for n in range(5)}
    texts |= {"R": "law of parks, fine walkers"}
    return make_index(texts)


def test_a_retriever_fits_its_index(tmp_path: Path) -> None:
    (tmp_path / "w.jsonl").write_text('{"id": "a", "vector": {"leash": 2, "law": 1}}')
    assert main(["index", "--weights", str(tmp_path / "w.jsonl"), "-o", f"{tmp_path}/w"]) == 0
    found = LexicalRetriever(tmp_path / "w")(TOPICS.assign(query_toks=[{"leash": 3.0}] * 3))
    assert found["score"].tolist() == [6.0] * 3  # by the index's own model, impact
    with pytest.raises(UsageError, match="Use LexicalRetriever"):
        DenseRetriever(tmp_path / "w")
    with pytest.raises(UsageError, match="must be 0 to 3e"):
        LexicalRetriever(tmp_path / "w")(TOPICS.assign(query_toks=[{"leash": 1e39}] * 3))


def test_texts_follow_the_hits(index: LuceneIndex) -> None:
    best = LexicalRetriever(index, depth=2) % 1
    pipeline = best >> pt.text.get_text(index) >> pt.apply.doc_score(lambda row: len(row["text"]))
    found = pipeline(TOPICS)
    assert found["score"].tolist() == [float(len(text)) for text in found["text"]]
    assert found["text"].str.contains("leash|noise").all()
    with pytest.raises(UsageError, match="the documents lack the field 'title'"):
        (best >> pt.text.get_text(index, "title"))(TOPICS)


def test_a_retriever_with_feedback_searches_twice(index: LuceneIndex) -> None:
    method = RM3(fb_docs=4, fb_terms=6)
    found = LexicalRetriever(index, feedback=method, depth=50)(TOPICS[:1])
    direct = index.search(["leash"], BM25(), feedback=method, depth=50)
    assert found["docno"].tolist() == direct.docnos.to_list()
    assert found["score"].tolist() == direct.scores.tolist()
    assert found["score"].tolist() != LexicalRetriever(index)(TOPICS[:1])["score"].tolist()


QRELS = pd.DataFrame(
    {
        "qid": ["1"] * 6 + ["2"] * 2,
        "docno": [f"P{n}" for n in range(5)] + ["R", "N001", "N002"],
        "label": [1, 1, 1, 0, 0, 1, 1, 0],
    }
)


def test_k_fold_grid_search_sets_the_parameters(index: LuceneIndex) -> None:
    bm25 = LexicalRetriever(index, k1=0.1, b=0.1)
    folds = [TOPICS[:1], TOPICS[1:2]]
    results, settings = pt.KFoldGridSearch(
        bm25, {bm25: {"k1": [0.4, 2.0], "b": [0.0, 1.0]}}, folds, QRELS, "map", verbose=False
    )
    assert len(settings) == 2
    for fold in settings:
        chosen = {name: value for _, name, value in fold}
        assert chosen["k1"] in (0.4, 2.0)
        assert chosen["b"] in (0.0, 1.0)
    assert set(results["qid"]) <= {"1", "2"}


@pytest.mark.slow
def test_terriers_java_is_not_started(index: LuceneIndex) -> None:
    code = f"""
import pandas as pd, pyterrier as pt
from adducir.indexes.retriever import LexicalRetriever
bm25 = LexicalRetriever({str(index.path)!r})
pt.Experiment([bm25], pd.DataFrame({{"qid": ["1"], "query": ["leash"]}}),
              pd.DataFrame({{"qid": ["1"], "docno": ["P1"], "label": [1]}}), ["map"])
print(pt.java.started())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"


SOME = [Document(f"D{n}", {"title": f"t{n}", "text": "x" * n}) for n in range(9)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with DocumentWriter(tmp_path) as writer:
        for one in SOME:
            writer.add(one)
    return tmp_path


def test_documents_are_found(folder):
    store = DocumentStore(folder)
    assert list(store) == SOME
    assert [store.get(one.docno) for one in SOME] == SOME
    assert "D8" in store
    assert "D9" not in store
    assert store.find("D9") is None
    with pytest.raises(InputError, match="document 'D9' is not"):
        store.get("D9")
    assert pickle.loads(pickle.dumps(store)).get("D3") == SOME[3]


def test_docnos_of_one_digest_are_distinguished(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "_digest", len)
    with DocumentWriter(tmp_path) as writer:
        for one in SOME:  # one field of which was once the docno
            writer.add(one._replace(fields={"docno": "D1", **one.fields}))
    store = DocumentStore(tmp_path)
    assert [store.get(one.docno) for one in SOME] == SOME
    assert store.find("D9") is None


@pytest.mark.parametrize(
    "table",
    [np.zeros((2, 3), np.uint64), np.zeros((2, 9), np.int64), None],
    ids=["size", "type", "behind the end"],
)
def test_a_table_that_does_not_fit_is_damaged(folder, table):
    if table is None:
        table = np.load(folder / DOCNOS)
        table[1] = 9
    np.save(folder / DOCNOS, table)
    with pytest.raises(ArtifactError, match=f"{DOCNOS}: the index is damaged"):
        DocumentStore(folder).get("D1")


def test_retrievers_take_topics_polars_frames_and_dicts(pets: LuceneIndex) -> None:
    queries = {"1": "dog owners", "2": "nothing", "3": "cats"}
    topics = Topics.of(queries)
    for feedback in (None, "rm3"):
        retriever = LexicalRetriever(pets, "bm25", feedback=feedback)
        wanted = retriever(topics.to_pandas())
        frame = pl.DataFrame({"qid": list(queries), "query": list(queries.values())})
        for inp in (queries, topics, frame):
            ranked = retriever(inp)
            assert isinstance(ranked, pl.DataFrame)
            assert ranked.to_dict(as_series=False) == wanted[ranked.columns].to_dict("list")
        assert ranked.columns == ["qid", "query", "docno", "score", "rank"]
    with pytest.raises(UsageError):
        retriever({"1": 2})
