"""Encoding of the bundled collection: whoever makes the chunks, the same bytes."""

import pytest
import torch

from adducir.core.errors import IncompleteError
from adducir.core.executors import Place
from adducir.corpora.sources import open_corpus
from adducir.encoders import encoding
from adducir.encoders.encoding import encode, items_of_corpus
from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source
from adducir.models import machine


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
