"""Dense indexes: flat is exact, recall is measured, docnos and vectors stay together."""

import shutil
import tracemalloc

import faiss
import numpy as np
import pandas as pd
import pytest
from memory_corpus import ListCorpus, build_index
from tiny import tiny_bert

from adducir.cli.app import main
from adducir.core.errors import ArtifactError, UsageError
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.settings import EncodingSettings
from adducir.indexes.dense import DenseIndex, nearest, put_together, recall_of, threads_of_faiss
from adducir.indexes.dense_settings import DenseSettings
from adducir.indexes.engines import open_index
from adducir.indexes.feedback import RM3
from adducir.indexes.models import BM25
from adducir.indexes.retriever import DenseRetriever

SET = {"pooling": "mean", "similarity": "dot"}
MEAN = EncodingSettings(**SET)

WORDS = ["cat", "dog", "nuclear", "energy", "school", "uniforms", "runs", "fast", "clean"]
TEXTS = {f"d{n}": f"{WORDS[n % 9]} {WORDS[n // 9 % 9]} and {WORDS[(n * n) % 9]}" for n in range(90)}
QUERIES = ["cat energy", "school uniforms because of dogs", "", "nuclear nuclear"]


@pytest.fixture(scope="module")
def flat(tiny, tmp_path_factory):
    path = tmp_path_factory.mktemp("dense") / "flat"
    build_index(ListCorpus(TEXTS), path, DenseSettings(encoder=str(tiny), **SET))
    return path


def test_flat_equals_brute_force(flat, tiny):
    encoder = DualEncoder.load(encoder_source(str(tiny), encoding=MEAN))
    scores = encoder.encode_queries(QUERIES) @ encoder.encode_documents(list(TEXTS.values())).T
    hits = DenseIndex(flat).search(QUERIES, depth=7)
    assert hits.counts.tolist() == [7] * 4
    names = list(TEXTS)
    for query in range(4):
        found = hits.docnos[query * 7 : query * 7 + 7].to_list()
        values = hits.scores[query * 7 : query * 7 + 7]
        own = [scores[query, names.index(docno)] for docno in found]
        np.testing.assert_allclose(values, own, atol=1e-4)
        assert (np.diff(values) <= 0).all()
        bound = np.sort(scores[query])[-7]
        assert min(own) >= bound - 1e-4
        for place in range(6):
            if values[place] == values[place + 1]:
                assert found[place] < found[place + 1]


def test_equal_scores_at_the_cut_are_by_docno(tiny, tmp_path):
    same = {f"d{n}": "cats run" for n in range(9, -1, -1)}
    build_index(ListCorpus(same), tmp_path / "i", DenseSettings(encoder=str(tiny), **SET))
    assert DenseIndex(tmp_path / "i").search(["cat"], depth=2).docnos.to_list() == ["d0", "d1"]


def test_all_documents_and_none(flat):
    index = DenseIndex(flat)
    assert len(index) == 90
    hits = index.search(["cat"], depth=None)
    assert sorted(hits.docnos) == sorted(TEXTS)
    assert index.search(["cat"], depth=1000).counts.tolist() == [90]
    assert index.search([], depth=5).counts.tolist() == []
    assert index.documents.get("d7").fields["text"] == TEXTS["d7"]
    with pytest.raises(UsageError, match="of 3"):
        index._rank([np.zeros(3)], None, 5, 1)


def test_it_opens_as_any_index_but_has_no_terms(flat):
    index = open_index(flat)
    assert isinstance(index, DenseIndex)
    rm3 = RM3()
    for refused in (
        lambda: index.search(["cat"], BM25(), feedback=rm3),
        lambda: index.search([{"cat": 1.0}], BM25()),
        lambda: index.expand(["cat"], BM25(), rm3),
        lambda: index.expand(["cat"], feedback=rm3, documents=[[("d1", 1.0)]]),
    ):
        with pytest.raises(UsageError):
            refused()
    found = index.search(["cat"], BM25(), depth=4)
    assert found.docnos.to_list() == index.search(["cat"], depth=4).docnos.to_list()


def test_a_transformer_ranks_as_the_index_does(flat):
    retriever = DenseRetriever(flat, depth=3)
    topics = pd.DataFrame({"qid": ["1", "2"], "query": QUERIES[:2], "kind": ["a", "b"]})
    found = retriever(topics)
    hits = DenseIndex(flat).search(QUERIES[:2], depth=3)
    assert found["docno"].tolist() == hits.docnos.to_list()
    assert found["rank"].tolist() == [0, 1, 2, 0, 1, 2]
    assert found["kind"].tolist() == ["a"] * 3 + ["b"] * 3
    assert (retriever % 1)(topics)["docno"].tolist() == hits.docnos.to_list()[::3]
    assert repr(retriever) == f"DenseRetriever({str(retriever.index.path)!r}, depth=3)"
    with pytest.raises(UsageError, match="terms"):
        retriever(topics.assign(query_0=QUERIES[:2], query_toks=[{"cat": 1.0}] * 2))


HNSW = ("HNSW8", "efConstruction=50")
KINDS = [("Flat", ""), HNSW, ("IVF3,PQ4x4", "nprobe=3")]


@pytest.mark.parametrize(
    ("kind", "parameters", "least"), [(*HNSW, 0.9), ("IVF3,SQ8", "nprobe=2", 0.3)]
)
def test_recall_against_flat_is_in_the_manifest(flat, tiny, tmp_path, kind, parameters, least):
    own = DenseSettings(encoder=str(tiny), kind=kind, parameters=parameters, sample=30, **SET)
    recall = build_index(ListCorpus(TEXTS), tmp_path / "i", own).counts["recall"]
    assert (recall["at"], recall["queries"]) == (10, 30)
    assert least <= recall["recall"] <= 1
    hits = DenseIndex(tmp_path / "i").search(QUERIES, depth=10)
    assert hits.counts.tolist() == [10] * 4
    exact = DenseIndex(flat).search(QUERIES, depth=10)
    assert len(set(hits.docnos[:10]) & set(exact.docnos[:10])) >= 3


@pytest.mark.parametrize("kind", ["HNSW8", "PCA8,HNSW8"])
def test_a_graph_finds_as_many_as_are_asked_for(kind):
    vectors = np.random.default_rng(0).normal(size=(1000, 16)).astype(np.float32)
    index = faiss.index_factory(16, kind, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    _, before = nearest(index, vectors[:20], 10)
    assert (nearest(index, vectors[:20], 500)[1] >= 0).all()
    np.testing.assert_array_equal(nearest(index, vectors[:20], 10)[1], before)


def test_recall_against_a_loop():
    vectors = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32)
    index = faiss.index_factory(4, "IVF4,PQ2x4", faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    good = 0
    for own in range(40):
        scores = vectors @ vectors[own]
        exact = sorted((n for n in range(40) if n != own), key=lambda n, s=scores: -s[n])[:5]
        _, found = index.search(vectors[own : own + 1], 6)
        others = [n for n in found[0] if n not in (own, -1)][:5]
        good += len(set(others) & set(exact))
    assert 0 < good < 200
    expected = {"at": 5, "queries": 40, "recall": round(good / 200, 4)}
    assert recall_of(index, vectors, 40, 0, at=5) == expected
    assert recall_of(index, vectors[:1], 5, 0) == {}


SHARD = 500


@pytest.mark.parametrize(("kind", "parameters"), KINDS)
def test_shards_put_together_are_all_vectors_at_once(kind, parameters, tmp_path):
    vectors = np.random.default_rng(3).normal(size=(3 * SHARD + 7, 16)).astype(np.float32)
    index = faiss.index_factory(16, kind, faiss.METRIC_INNER_PRODUCT)
    faiss.ParameterSpace().set_index_parameters(index, parameters)
    shards = (vectors[first : first + SHARD] for first in range(0, len(vectors), SHARD))
    own = DenseSettings(encoder="minilm", kind=kind, parameters=parameters)
    with threads_of_faiss(1):
        index.train(vectors)
        index.add(vectors)
        put_together(shards, vectors.shape, own, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.faiss"]
    ours = faiss.read_index(str(tmp_path / "index.faiss"))
    for one, other in zip(ours.search(vectors[:9], 10), index.search(vectors[:9], 10), strict=True):
        np.testing.assert_array_equal(one, other)


def test_not_all_vectors_are_held_beside_the_index(tmp_path):
    draw, shape = np.random.default_rng(3), (24 * SHARD, 64)
    shards = (draw.normal(size=(SHARD, 64)).astype(np.float32) for _ in range(24))
    own = DenseSettings(encoder="minilm", kind="IVF3,PQ4x4", parameters="nprobe=3", sample=5)
    tracemalloc.start()
    put_together(shards, shape, own, tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < shape[0] * shape[1] * 4 / 2


def test_settings_that_cannot_be(tmp_path):
    for wrong in ({"kind": "tree"}, {"sample": 0}, {"links": 4}):
        with pytest.raises(UsageError):
            DenseSettings(encoder="minilm", **wrong)
    vectors = np.zeros((100, 32), dtype=np.float32)
    for kind, parameters in (("IVF400,PQ4", ""), ("PQ5", ""), ("HNSW8", "nothing=1")):
        with pytest.raises(UsageError, match="FAISS"):
            own = DenseSettings(encoder="minilm", kind=kind, parameters=parameters)
            put_together(iter([vectors]), (100, 32), own, tmp_path)


def test_files_that_came_apart_are_refused(flat, tmp_path):
    for name in ("docnos.txt", "index.faiss"):
        folder = tmp_path / name
        shutil.copytree(flat, folder)
        data = bytearray((folder / name).read_bytes())
        data[-3] ^= 1
        (folder / name).write_bytes(bytes(data))
        with pytest.raises(ArtifactError, match=f"{name}: this file is damaged"):
            DenseIndex(folder)


def test_another_encoder_under_the_old_name_is_refused(tiny, tmp_path, monkeypatch):
    model = tmp_path / "model"
    shutil.copytree(tiny, model)
    path = tmp_path / "indexes" / "x"
    path.parent.mkdir()
    build_index(ListCorpus(TEXTS), path, DenseSettings(encoder=f"{model},{model}", **SET))
    # The whole study may move: the encoder is found from the index's own place.
    (tmp_path / "moved").mkdir()
    for name in ("model", "indexes"):
        shutil.move(tmp_path / name, tmp_path / "moved" / name)
    index = DenseIndex(tmp_path / "moved" / "indexes" / "x")
    assert index.search(["cat"], depth=3).counts.tolist() == [3]
    # So may the index alone: the encoder is found from the study's folder, or is named.
    copy = tmp_path / "else" / "where"
    shutil.copytree(tmp_path / "moved" / "indexes" / "x", copy)
    with pytest.raises(ArtifactError, match="`encoder`"):
        DenseIndex(copy).search(["cat"])
    with monkeypatch.context() as there:
        there.chdir(tmp_path / "moved")
        assert DenseIndex(copy).search(["cat"], depth=3).counts.tolist() == [3]
    (tmp_path / "topics.tsv").write_text("1\tcat\n")
    words = ["search", "-i", str(copy), "-t", str(tmp_path / "topics.tsv"), "-o"]
    assert main([*words, str(tmp_path / "a.trec")]) == 5
    moved = tmp_path / "moved" / "model"
    named = ["--set", f"encoder={moved},{moved}"]
    assert main([*words, str(tmp_path / "a.trec"), *named]) == 0
    tiny_bert(tmp_path / "moved" / "model", layers=1)
    with pytest.raises(ArtifactError, match="is not the one"):
        DenseIndex(tmp_path / "moved" / "indexes" / "x").search(["cat"])
    named = DenseIndex(tmp_path / "moved" / "indexes" / "x", encoder=f"{tiny},{tiny}")
    assert named.search(["cat"], depth=3).counts.tolist() == [3]


def test_plain_codes_work_and_own_numbers_are_refused(tiny, tmp_path):
    for kind in ("PQ4x4", "PCA16,PQ4x4"):
        path = tmp_path / kind.replace(",", "-")
        build_index(ListCorpus(TEXTS), path, DenseSettings(encoder=str(tiny), kind=kind, **SET))
        assert DenseIndex(path).search(QUERIES, depth=3).counts.tolist() == [3] * 4
    for kind in ("IDMap,Flat", "IDMap2,PQ4x4"):
        with pytest.raises(UsageError, match="IDMap"):
            DenseSettings(encoder="minilm", kind=kind)
