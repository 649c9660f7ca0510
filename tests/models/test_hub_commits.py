"""A name on the Hub stands for one commit: what an index was built with is what searches it."""

import shutil

import numpy as np
import pytest
from tiny import as_encoder, sharpened

from adducir.core.errors import ArtifactError, InputError
from adducir.corpora.sources import open_corpus
from adducir.encoders.encoding import EncodingWork, items_of_corpus
from adducir.encoders.kinds import described, encoder_source
from adducir.indexes.dense import DenseIndex
from adducir.indexes.dense_settings import DenseSettings
from adducir.models.sources import ModelSource, model_source
from adducir.rerankers.recipe import open_reranker

FIRST, SECOND = "a" * 40, "b" * 40
NAME = "someone/encoder"


@pytest.fixture
def cache(tiny, tmp_path, monkeypatch):
    """The Hub's cache with two commits of a model; `main` is the first."""
    import huggingface_hub.constants as constants

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    repository = tmp_path / "hub" / "models--someone--encoder"
    (repository / "refs").mkdir(parents=True)
    as_encoder(tiny, repository / "snapshots" / FIRST)
    sharpened(as_encoder(tiny, repository / "snapshots" / SECOND))
    (repository / "refs" / "main").write_text(FIRST)
    lines = [f'{{"docno": "d{n}", "text": "{t}"}}\n' for n, t in enumerate(["cats", "dogs", "a"])]
    (tmp_path / "c.jsonl").write_text("".join(lines))
    return repository


def test_an_index_keeps_the_commit_of_its_encoder(cache):
    corpus = open_corpus("c.jsonl")
    DenseSettings(encoder=NAME).build(corpus, cache.parent / "ix")
    before = DenseIndex(cache.parent / "ix").search(["the cat"])
    first = encoder_source(NAME).identity()
    assert FIRST in first
    (cache / "refs" / "main").write_text(SECOND)
    assert SECOND in encoder_source(NAME).identity() != first
    after = DenseIndex(cache.parent / "ix").search(["the cat"])
    assert before.docnos.to_list() == after.docnos.to_list()
    np.testing.assert_array_equal(before.scores, after.scores)
    assert (
        SECOND in ModelSource(NAME).identity()
        and FIRST in ModelSource(NAME, None, FIRST).identity()
    )
    with pytest.raises(ArtifactError, match="not the one"):
        _ = DenseIndex(cache.parent / "ix", encoder=NAME).source
    shutil.rmtree(cache / "snapshots" / FIRST)
    with pytest.raises(ArtifactError, match="other weights"):
        DenseIndex(cache.parent / "ix").search(["the cat"])


def test_an_encoder_is_described_before_its_weights_are_fetched(cache):
    (cache / "snapshots" / FIRST / "model.safetensors").unlink()
    source = encoder_source(NAME)
    source.check("query", "document")
    assert "64 tokens" in described(source)
    with pytest.raises(InputError, match="lacks weights"):
        EncodingWork(source=source, texts=items_of_corpus(open_corpus("c.jsonl")), size=1).check()


def test_a_source_keeps_the_commit_that_it_read_first(cache):
    source = model_source(NAME)
    assert source.local().name == FIRST
    (cache / "refs" / "main").write_text(SECOND)
    assert source.local().name == FIRST and FIRST in source.identity()
    assert model_source(NAME).local().name == SECOND
    assert SECOND in open_reranker(f"maxsim:{NAME}").identity["weights"]
