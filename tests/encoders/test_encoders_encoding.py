"""Vectors as an artifact: resumable, and never apart from their docnos."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from some_spans import some_spans

from adducir.core.errors import ArtifactError, InputError
from adducir.core.progress import Progress
from adducir.corpora.sources import open_corpus
from adducir.encoders import encoding
from adducir.encoders.encoding import encode
from adducir.encoders.items import items_of_corpus, items_of_spans
from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source
from adducir.encoders.vectors import Vectors


@pytest.fixture
def corpus(tmp_path):
    lines = [f'{{"docno": "d{n}", "text": "{span.text}"}}' for n, span in enumerate(some_spans(11))]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    return open_corpus(tmp_path / "corpus.jsonl")


class Killed(Progress):
    """Stops after some texts are encoded."""

    def __init__(self, after):
        self.after = after
        self.doing = ""

    def start(self, what, total, unit):
        self.doing = what

    def advance(self, count):
        self.after -= count if self.doing == "encoding" else 0
        if self.after < 0:
            raise KeyboardInterrupt


def test_a_corpus_in_shards(corpus, tiny, tmp_path):
    source = encoder_source(str(tiny))
    manifest = encode(source, items_of_corpus(corpus), tmp_path / "v", shard=4)
    assert (manifest.counts["vectors"], manifest.counts["shards"]) == (11, 3)
    vectors = Vectors(tmp_path / "v")
    assert vectors.docnos == [f"d{n}" for n in range(11)]
    wanted = DualEncoder.load(source).encode_documents([s.text for s in some_spans(11)])
    np.testing.assert_allclose(vectors.all(), wanted, atol=1e-5)
    assert [len(docnos) for docnos, _ in vectors.shards()] == [4, 4, 3]
    assert encode(source, items_of_corpus(corpus), tmp_path / "v", shard=4) == manifest


def test_killed_work_goes_on_behind_its_last_shard(corpus, tiny, tmp_path, monkeypatch):
    source, items = encoder_source(str(tiny)), items_of_corpus(corpus)
    encode(source, items, tmp_path / "whole", shard=2)
    with pytest.raises(KeyboardInterrupt), Killed(5):
        encode(source, items, tmp_path / "cut", shard=2)
    made = []
    write = encoding.write_shard
    monkeypatch.setattr(
        encoding, "write_shard", lambda path, *rest: (made.append(path.name), write(path, *rest))
    )
    encode(source, items, tmp_path / "cut", shard=2)
    assert len(made) == 3  # of six; three were there
    np.testing.assert_array_equal(
        Vectors(tmp_path / "whole").all(), Vectors(tmp_path / "cut").all()
    )
    assert not [path for path in tmp_path.iterdir() if "parts" in path.name]


def test_docnos_and_vectors_that_came_apart_are_refused(corpus, tiny, tmp_path):
    encode(encoder_source(str(tiny)), items_of_corpus(corpus), tmp_path / "v", shard=4)
    for number, damage in enumerate(
        (swap_docnos, drop_a_docno, swap_shards, change_values, replace_shard)
    ):
        folder = tmp_path / f"damaged{number}"
        shutil.copytree(tmp_path / "v", folder)
        damage(folder)
        with pytest.raises(ArtifactError):
            Vectors(folder).all()


def swap_docnos(folder):
    lines = (folder / "docnos.txt").read_text().splitlines()
    lines[0], lines[1] = lines[1], lines[0]
    (folder / "docnos.txt").write_text("\n".join(lines) + "\n")


def drop_a_docno(folder):
    lines = (folder / "docnos.txt").read_text().splitlines()
    (folder / "docnos.txt").write_text("\n".join(lines[:-1]) + "\n")


def swap_shards(folder):
    one, two = folder / "vectors-000000.safetensors", folder / "vectors-000001.safetensors"
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)


def change_values(folder):
    path = folder / "vectors-000002.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def replace_shard(folder):
    path = folder / "vectors-000002.safetensors"
    save_file({"vectors": load_file(path)["vectors"]}, path)


def test_contexts_and_spans(tiny, tmp_path):
    from adducir.corpora.spans import write_spans

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
