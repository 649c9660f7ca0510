"""Learned sparse encoders, from texts to a run: the scores are those of sentence-transformers."""

import json

import pytest
import torch
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling
from tiny import tiny_bert
from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.runs.read import read_run

DOCUMENTS = {"d1": "the cat runs fast", "d2": "nuclear energy is clean", "d3": "dogs and cats ran"}
QUERIES = {"q1": "a fast cat", "q2": "nuclear power plants"}


@pytest.fixture(params=["splade", "inference-free"])
def encoder(tmp_path, request):
    """The folder of a tiny SPLADE, or of one whose queries have fixed weights."""
    folder = tiny_bert(tmp_path / "tiny")
    torch.manual_seed(1)
    network = BertForMaskedLM(BertConfig.from_pretrained(folder))
    network.save_pretrained(tmp_path / "mlm")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.save_pretrained(tmp_path / "mlm")
    if request.param == "splade":
        return tmp_path / "mlm"
    masked = Transformer(str(tmp_path / "mlm"), transformer_task="fill-mask")
    static = SparseStaticEmbedding(tokenizer, torch.rand(len(tokenizer)), frozen=True)
    router = Router.for_query_document([static], [masked, SpladePooling("max")])
    SparseEncoder(modules=[router], device="cpu").save(str(tmp_path / "free"))
    return tmp_path / "free"


def test_from_texts_to_a_run(encoder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = ({"docno": docno, "text": text} for docno, text in DOCUMENTS.items())
    (tmp_path / "corpus.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in corpus))
    (tmp_path / "topics.tsv").write_text("".join(f"{q}\t{text}\n" for q, text in QUERIES.items()))
    encode = ["encode", "--sparse", "--model", str(encoder)]
    assert main([*encode, "--corpus", "corpus.jsonl", "-o", "weights/corpus"]) == 0
    assert main([*encode, "--topics", "topics.tsv", "-o", "weights/queries"]) == 0
    manifest = read_manifest(tmp_path / "weights/corpus")
    assert manifest.counts["texts"] == len(DOCUMENTS)
    assert manifest.counts["weights"] > len(DOCUMENTS)
    weights = "weights/{}/weights.jsonl.gz"
    assert main(["index", "--weights", weights.format("corpus"), "-o", "index"]) == 0
    search = ["search", "--index", "index", "--topics", weights.format("queries")]
    assert main([*search, "--output", "run.trec"]) == 0
    found = {(qid, docno): score for qid, docno, score in read_run("run.trec").frame.iter_rows()}
    model = SparseEncoder(str(encoder), device="cpu")
    scores = model.similarity(
        model.encode_query(list(QUERIES.values())), model.encode_document(list(DOCUMENTS.values()))
    )
    for qid, row in zip(QUERIES, scores.tolist(), strict=True):
        for docno, score in zip(DOCUMENTS, row, strict=True):
            assert found.get((qid, docno), 0.0) == pytest.approx(score, abs=1e-4)


def test_what_is_not_a_sparse_encoder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.jsonl").write_text('{"docno": "d", "text": "a cat"}\n')
    encode = ["encode", "--sparse", "--corpus", "corpus.jsonl", "-o", "weights"]
    tiny_bert(tmp_path / "tiny")
    assert main([*encode, "--model", "tiny"]) == 3
    assert main([*encode, "--model", "tiny", "--spans", "spans.jsonl"]) == 2
