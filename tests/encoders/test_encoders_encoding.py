"""Vectors as an artifact: in chunks, and never apart from their docnos."""

import numpy as np
import pytest
from some_spans import some_spans

from adducir.core.errors import ArtifactError, InputError
from adducir.corpora.sources import open_corpus
from adducir.corpora.spans import write_spans
from adducir.encoders import encoding
from adducir.encoders.encoding import Vectors, encode, items_of_corpus, items_of_spans
from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source


@pytest.fixture
def corpus(tmp_path):
    lines = [f'{{"docno": "d{n}", "text": "{span.text}"}}' for n, span in enumerate(some_spans(11))]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    return open_corpus(tmp_path / "corpus.jsonl")


def test_a_corpus_in_chunks(corpus, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 4)
    source = encoder_source(str(tiny))
    manifest = encode(source, items_of_corpus(corpus), tmp_path / "v")
    assert (manifest.counts["vectors"], manifest.counts["shards"]) == (11, 3)
    vectors = Vectors(tmp_path / "v")
    assert vectors.docnos == [f"d{n}" for n in range(11)]
    wanted = DualEncoder.load(source).encode_documents([s.text for s in some_spans(11)])
    np.testing.assert_allclose(vectors.all(), wanted, atol=1e-5)
    assert encode(source, items_of_corpus(corpus), tmp_path / "v") == manifest
    (tmp_path / "v" / "docnos.txt").write_text("d0\n")
    with pytest.raises(ArtifactError, match="damaged"):
        Vectors(tmp_path / "v")


def test_contexts_and_spans(tiny, tmp_path):
    spans = some_spans(6)
    write_spans(spans, tmp_path / "s.jsonl")
    source = encoder_source(str(tiny))
    encode(source, items_of_spans(tmp_path / "s.jsonl", "context"), tmp_path / "c")
    encode(source, items_of_spans(tmp_path / "s.jsonl", "span"), tmp_path / "s")
    contexts, candidates = Vectors(tmp_path / "c"), Vectors(tmp_path / "s")
    assert contexts.docnos == [span.id for span in spans]
    assert candidates.docnos == [span.candidate for span in spans]
    encoder = DualEncoder.load(source)
    np.testing.assert_allclose(contexts.all(), encoder.encode_contexts(spans), atol=1e-5)
    texts = [span.text for span in spans]
    np.testing.assert_allclose(candidates.all(), encoder.encode_documents(texts), atol=1e-5)


def test_nothing_to_encode_and_a_candidate_of_two_texts(tiny, tmp_path):
    (tmp_path / "s.jsonl").write_text("")
    source = encoder_source(str(tiny))
    with pytest.raises(InputError, match="nothing to encode"):
        encode(source, items_of_spans(tmp_path / "s.jsonl", "span"), tmp_path / "out")
    line = '{{"id": "{}", "group": "g", "left": [], "span": ["{}"], "right": [], "candidate": "c"}}'
    (tmp_path / "s.jsonl").write_text(line.format(1, "a") + "\n" + line.format(2, "b") + "\n")
    with pytest.raises(InputError, match="two texts"):
        encode(source, items_of_spans(tmp_path / "s.jsonl", "span"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
