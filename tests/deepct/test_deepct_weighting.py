"""Weights of a corpus: shards, kills, and the corpus that they make."""

import numpy as np
import pytest

from adducir.core.artifacts import read_manifest
from adducir.core.errors import ArtifactError
from adducir.core.progress import Progress
from adducir.corpora.sources import open_corpus
from adducir.deepct import weighting
from adducir.deepct.expanded import ExpandedCorpus
from adducir.deepct.model import TermWeighter
from adducir.deepct.rendering import Rendering
from adducir.deepct.settings import PassageRecipe, Settings
from adducir.deepct.weighting import TermWeights, predict_corpus_weights, predict_weights
from adducir.models.sources import model_source

READ = Settings(text=("conclusion", "premise"))


@pytest.fixture
def model(study, tiny):
    read = Settings(text=("conclusion", "premise"), passages=PassageRecipe(length=20))
    folder = study / "deepct" / "model"
    folder.mkdir()
    TermWeighter.untrained(model_source(str(tiny)), read, seed=3).save(folder)
    return folder


@pytest.fixture
def corpus(study):
    return open_corpus(study / "corpus.jsonl")


def expanded(corpus, weights, **rendering):
    return ExpandedCorpus(corpus, weights, "f", READ, Rendering(**rendering))


def values(folder, corpus):
    stored = TermWeights(folder, READ)
    return np.concatenate([t.weights for _, found in stored.of(corpus) for t in found])


def test_every_word_of_every_document_has_its_weight(study, model, corpus):
    manifest = predict_corpus_weights(model, corpus, study / "w", shard=5)
    assert manifest.counts["documents"] == 12
    assert manifest.counts["texts"] == 24
    assert manifest.counts["shards"] == 3
    weighter = TermWeighter.load(model)
    stored = TermWeights(study / "w", READ)
    for document, found in stored.of(corpus):
        for name, text in zip(("conclusion", "premise"), found, strict=True):
            (alone,) = predict_weights(weighter, [document.fields[name]])
            np.testing.assert_allclose(text.weights, alone.weights, atol=1e-5)
            assert text.owned == alone.owned


def test_shards_change_nothing(study, model, corpus):
    predict_corpus_weights(model, corpus, study / "a", shard=1)
    predict_corpus_weights(model, corpus, study / "b", shard=100, tokens=10)
    np.testing.assert_allclose(values(study / "a", corpus), values(study / "b", corpus), atol=1e-5)
    assert read_manifest(study / "a").fingerprint == read_manifest(study / "b").fingerprint


def test_killed_work_goes_on_behind_its_last_shard(study, model, corpus, monkeypatch):
    class Killed(Progress):
        done = 0

        def start(self, what, total, unit):
            self.done = -1000 if what == "planning" else 0

        def advance(self, count):
            self.done += count
            if self.done >= 6:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Killed():
        predict_corpus_weights(model, corpus, study / "w", shard=3)
    assert not (study / "w").exists()
    weighted_text = []

    def counting(weighter, texts, **options):
        weighted_text.append(len(texts))
        return predict_weights(weighter, texts, **options)

    monkeypatch.setattr(weighting, "predict_weights", counting)
    predict_corpus_weights(model, corpus, study / "w", shard=3)
    assert weighted_text == [6, 6]  # two shards of three documents with two texts are left
    monkeypatch.undo()
    predict_corpus_weights(model, corpus, study / "whole", shard=3)
    np.testing.assert_array_equal(values(study / "w", corpus), values(study / "whole", corpus))


def test_the_expanded_corpus_keeps_every_document_and_field(study, model, corpus):
    predict_corpus_weights(model, corpus, study / "w")
    found = list(expanded(corpus, study / "w", scale=10))
    assert [document.docno for document in found] == [document.docno for document in corpus]
    for document, plain in zip(found, corpus, strict=True):
        assert {k: v for k, v in document.fields.items() if k != "weighted"} == plain.fields
        assert document.fields["weighted"]
        lower = f"{plain.fields['conclusion']} {plain.fields['premise']}".lower()
        assert {word.rstrip("'") in lower for word in document.fields["weighted"].split()} == {True}
    assert expanded(corpus, study / "w").default_fields == ("weighted",)


def test_the_identity_follows_the_rendering(study, model, corpus):
    one, other = expanded(corpus, study / "w"), expanded(corpus, study / "w", transform="sqrt")
    assert one.identity() != other.identity()


def test_weights_of_another_corpus_are_refused(study, model, corpus):
    predict_corpus_weights(model, corpus, study / "w")
    (study / "other.jsonl").write_text('{"docno": "d0", "conclusion": "cat", "premise": "a b"}\n')
    with pytest.raises(ArtifactError, match=r"differ from 'd0' on"):
        list(expanded(open_corpus(study / "other.jsonl"), study / "w"))


def test_weights_are_current_until_corpus_or_model_change(study, model, corpus):
    first = predict_corpus_weights(model, corpus, study / "w")
    assert predict_corpus_weights(model, corpus, study / "w") == first
    text = (study / "corpus.jsonl").read_text().replace("clean", "slow")
    (study / "corpus.jsonl").write_text(text)
    changed = predict_corpus_weights(model, open_corpus(study / "corpus.jsonl"), study / "w")
    assert changed.fingerprint != first.fingerprint


def test_words_that_nothing_was_learned_about_have_weight_zero(study, model, corpus):
    predict_corpus_weights(model, corpus, study / "w")
    silent = READ.model_copy(update={"stop_words": ("cats", "should")})
    stored = TermWeights(study / "w", silent)
    for _, found in stored.of(corpus):
        for text in found:
            for word, weight in zip(text.words, text.weights, strict=True):
                assert (weight == 0) == (word.text.lower() in ("cats", "cats'", "should"))
