"""Vectors as an artifact, never apart from their docnos; learned sparse weights to a run."""

import json

import numpy as np
import pytest
from some_spans import some_spans
from tiny import as_encoder, tiny_bert

from adducir.cli.app import main
from adducir.core.errors import ArtifactError, InputError
from adducir.core.manifests import read_manifest
from adducir.corpora.sources import open_corpus
from adducir.corpora.spans import write_spans
from adducir.encoders import encoding
from adducir.encoders.encoding import Vectors, encode, items_of_corpus, items_of_spans
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.settings import EncodingSettings

MEAN = EncodingSettings(pooling="mean", similarity="dot")


@pytest.fixture
def corpus(tmp_path):
    lines = [f'{{"docno": "d{n}", "text": "{span.text}"}}' for n, span in enumerate(some_spans(11))]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    return open_corpus(tmp_path / "corpus.jsonl")


def test_a_corpus_in_chunks(corpus, tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 4)
    source = encoder_source(str(tiny), encoding=MEAN)
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
    source = encoder_source(str(tiny), encoding=MEAN)
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
    source = encoder_source(str(tiny), encoding=MEAN)
    with pytest.raises(InputError, match="items to encode are missing"):
        encode(source, items_of_spans(tmp_path / "s.jsonl", "span"), tmp_path / "out")
    line = '{{"id": "{}", "group": "g", "left": [], "span": ["{}"], "right": [], "candidate": "c"}}'
    (tmp_path / "s.jsonl").write_text(line.format(1, "a") + "\n" + line.format(2, "b") + "\n")
    with pytest.raises(InputError, match="two texts"):
        encode(source, items_of_spans(tmp_path / "s.jsonl", "span"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_not_a_sparse_encoder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.jsonl").write_text('{"docno": "d", "text": "a cat"}\n')
    encode = ["encode", "--sparse", "--corpus", "corpus.jsonl", "-o", "weights"]
    tiny_bert(tmp_path / "tiny")
    assert main([*encode, "--model", "tiny"]) == 3
    assert main([*encode, "--model", "tiny", "--spans", "spans.jsonl"]) == 2


def test_texts_cut_at_the_maximum_are_counted(tiny, tmp_path, capsys):
    """Exactly: a text of just as many tokens is not cut; from the left the same."""
    texts = ["cats " * 61, "cats " * 62, "cats " * 63, "dogs " * 200]  # and two special tokens
    lines = [json.dumps({"docno": f"d{n}", "text": text}) + "\n" for n, text in enumerate(texts)]
    (tmp_path / "c.jsonl").write_text("".join(lines))
    folder = as_encoder(tiny, tmp_path / "encoder")
    for side in ("right", "left"):
        line = ["encode", "-m", str(folder), "-c", str(tmp_path / "c.jsonl")]
        line += ["--set", f"truncation_side={side}", "-o", str(tmp_path / side)]
        assert main(line) == 0
        assert "2 of 4 documents were cut" in capsys.readouterr().err
        assert read_manifest(tmp_path / side).counts["cut"] == 2
    line = ["index", str(tmp_path / "c.jsonl"), "--engine", "dense", "--encoder", str(folder)]
    assert main([*line, "-o", str(tmp_path / "index")]) == 0
    assert read_manifest(tmp_path / "index").counts["cut"] == 2
