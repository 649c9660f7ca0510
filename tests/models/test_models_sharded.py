"""Encoding of the bundled collection: whoever makes the chunks, the same bytes."""

import hashlib
import pickle

import pytest
import torch

from adducir.core.errors import IncompleteError, MachineError
from adducir.core.executors import HERE, Execution, Place
from adducir.corpora.sources import open_corpus
from adducir.encoders import encoding
from adducir.encoders.encoding import encode, items_of_corpus
from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source
from adducir.models import machine


def content(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "manifest.json"
    }


def check(make, tmp_path):
    alone = make(tmp_path / "alone", HERE)
    beside = make(tmp_path / "beside", Execution(workers=2))
    assert alone.fingerprint == beside.fingerprint
    assert alone.counts == beside.counts
    assert alone.files == beside.files
    assert content(tmp_path / "alone") == content(tmp_path / "beside")
    assert len(content(tmp_path / "alone")) >= 6


@pytest.mark.slow
def test_vectors_of_the_bundled_collection(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 60)
    corpus = open_corpus("bundled:arguments")

    def make(path, execution):
        source, items = encoder_source("minilm"), items_of_corpus(corpus)
        return encode(source, items, path, execution=execution, threads=1)

    check(make, tmp_path)


def test_memory_that_does_not_suffice_ends_the_work(tmp_path, tiny, monkeypatch):
    (tmp_path / "c.jsonl").write_text('{"docno": "a", "text": "cat"}\n{"docno": "b", "text": "x"}')
    items = items_of_corpus(open_corpus(tmp_path / "c.jsonl"))

    def full(*arguments, **options):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr("adducir.encoders.model.DualEncoder.forward", full)
    with pytest.raises(MachineError, match="the memory does not suffice for a batch of 2 texts"):
        encode(encoder_source(str(tiny)), items, tmp_path / "v")


def test_data_that_cannot_be_encoded_are_named(tmp_path, tiny, monkeypatch):
    lines = [f'{{"docno": "d{n}", "text": "cats {n}"}}\n' for n in range(6)]
    (tmp_path / "c.jsonl").write_text("".join(lines))
    items = items_of_corpus(open_corpus(tmp_path / "c.jsonl"))
    whole = DualEncoder.encode_documents

    def odd(encoder, texts, **options):
        if any("3" in text for text in texts):
            raise ValueError("an odd text")
        return whole(encoder, texts, **options)

    monkeypatch.setattr(DualEncoder, "encode_documents", odd)
    monkeypatch.setattr(encoding, "CHUNK", 2)
    with pytest.raises(IncompleteError, match=r"chunk 1 \(d2, d3\): ValueError: an odd text"):
        encode(encoder_source(str(tiny)), items, tmp_path / "v")


def test_each_worker_takes_the_next_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    places = [Place(number, 3, is_alone=True) for number in range(3)]
    found = [str(machine.device_of_worker("auto", place)) for place in places]
    assert found == ["cuda:0", "cuda:1", "cuda:0"]
    assert str(machine.device_of_worker("cuda:1", places[0])) == "cuda:1"
    assert str(machine.device_of_worker("auto", Place())) == "cuda"


def test_a_data_set_can_be_sent_to_another_process():
    corpus = open_corpus("vaswani")
    again = pickle.loads(pickle.dumps(corpus))
    assert again.identity() == corpus.identity()
