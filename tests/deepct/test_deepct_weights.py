"""Weights of words, of texts and of corpora, and the corpora that they make."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adducir.core.errors import ArtifactError
from adducir.corpora.sources import open_corpus
from adducir.deepct import expansion
from adducir.deepct.expansion import (
    ExpandedCorpus,
    Rendering,
    predict_corpus_weights,
    stored_weights,
)
from adducir.deepct.model import Cut, TermWeighter, Weighted
from adducir.deepct.recipe import PassageRecipe, TermWeighterSettings
from adducir.deepct.terms import words
from adducir.models.running import Running
from adducir.training.trainable import open_training

TEXTS = [
    "Nuclear energy is clean.",
    "",
    "The cats' e-mail: caf\u00e9s, unbanned dogs \u2014 don't run! " * 3,
    "zebra",
]
SETTINGS = TermWeighterSettings(text=("conclusion", "premise"), passages=PassageRecipe(length=20))


@pytest.fixture
def model(study):
    training = open_training(study / "deepct" / "tiny.yaml")
    folder = study / "deepct" / "model"
    folder.mkdir()
    training.save(training.model(), folder)
    SETTINGS.save(folder)
    return folder


@pytest.fixture
def weighter(model):
    return TermWeighter.load(model)


@pytest.fixture
def corpus(study):
    return open_corpus(study / "corpus.jsonl")


def encoded(weighter, text):
    return weighter.reader.encode([Cut(text, words(text))])[0]


def test_a_word_is_weighted_by_its_first_piece(weighter):
    found = encoded(weighter, "Caf\u00e9s don't unbanned e-mail's")
    pieces = weighter.reader.tokenizer.convert_ids_to_tokens(found.ids.tolist())
    assert [pieces[place] for place in found.firsts] == ["caf", "don", "un", "e", "mail"]


def test_a_long_passage_keeps_its_closing_token_and_what_lies_beyond_has_no_weight(weighter):
    found = encoded(weighter, "cat " * 100)
    assert len(found.ids) == 64
    assert found.ids[-1] == weighter.reader.tokenizer.sep_token_id
    assert found.firsts.tolist() == [*range(1, 63), *[-1] * 38]
    assert not weighter.weights([found])[0][62:].any()


def test_weights_are_those_of_a_plain_loop(weighter):
    text = "The cats' e-mail: café, dogs don't"
    inputs = weighter.reader.tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    offsets = inputs.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        logits = weighter.network(**inputs).logits[0, :, 0].sigmoid()
    firsts = [
        next(i for i, (s, e) in enumerate(offsets) if s <= word.start < e) for word in words(text)
    ]
    (found,) = weighter.weigh([text])
    np.testing.assert_allclose(found.weights, logits[firsts], atol=1e-6)


def test_weights_do_not_depend_on_batches_or_neighbours(weighter):
    alone = [weighter.weigh([text])[0].weights for text in TEXTS]

    @settings(max_examples=20)
    @given(st.integers(1, 400), st.permutations(range(len(TEXTS))))
    def check(budget, order):
        together = weighter.weigh([TEXTS[i] for i in order], Running(tokens=budget))
        for i, one in zip(order, together, strict=True):
            np.testing.assert_allclose(one.weights, alone[i], atol=1e-5)
            assert one.words == words(TEXTS[i])
            assert sum(one.owned) == len(one.words)

    check()
    for whole, half in zip(
        alone, weighter.weigh(TEXTS, Running(precision="bfloat16")), strict=True
    ):
        np.testing.assert_allclose(half.weights, whole, atol=0.02)


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        # Halves go to the even number: 0.5 -> 0, 1.5 -> 2, 2.5 -> 2.
        ("linear", [0, 0, 0, 2, 2, 50, 100]),
        ("sqrt", [0, 0, 7, 12, 16, 71, 100]),
    ],
)
def test_counts_are_rounded_as_the_original_does(transform, expected):
    weights = np.array([-0.4, 0.0, 0.005, 0.015, 0.025, 0.5, 1.0], dtype=np.float64)
    assert Rendering(transform=transform).repetitions(weights).tolist() == expected


def weighted(text, weights, owned=None):
    found = words(text)
    return Weighted(found, np.array(weights, dtype=np.float32), owned or [len(found)])


def test_a_word_counts_once_a_passage_with_its_greatest_weight():
    text = weighted("Cats chase cats; dogs chase Cats", [0.01, 0, 0.03, 0.02, 0.01, 0.02], [4, 2])
    found = list(Rendering().counts([text, weighted("cat", [0.02])]))
    assert found == [{"cats": 3, "dogs": 2}, {"chase": 1, "cats": 2}, {"cat": 2}]


def test_a_document_of_which_nothing_is_left_keeps_its_words_once():
    texts = [weighted("The cat, the dog", [0.001] * 4), weighted("", [])]
    assert list(Rendering().counts(texts)) == [{"the": 1, "cat": 1, "dog": 1}]
    assert Rendering().is_lost(texts)
    assert not Rendering().is_lost([weighted("", [])])


def expanded(corpus, weights, **rendering):
    return ExpandedCorpus(corpus, weights, "f", SETTINGS, Rendering(**rendering))


def values(folder, corpus):
    stored = stored_weights(folder, SETTINGS, corpus)
    return np.concatenate([t.weights for _, found in stored for t in found])


def test_every_word_of_every_document_has_its_weight(study, model, weighter, corpus, monkeypatch):
    monkeypatch.setattr(expansion, "CHUNK", 5)
    manifest = predict_corpus_weights(model, corpus, study / "w", Running(tokens=10))
    assert {name: manifest.counts[name] for name in ("documents", "texts", "shards")} == {
        "documents": 12,
        "texts": 24,
        "shards": 3,
    }
    for document, found in stored_weights(study / "w", SETTINGS, corpus):
        alone = weighter.weigh([document.fields[name] for name in SETTINGS.text])
        for text, other in zip(found, alone, strict=True):
            np.testing.assert_allclose(text.weights, other.weights, atol=1e-5)
            assert text.owned == other.owned


def test_weights_of_another_corpus_are_refused_and_made_anew(study, model, corpus):
    first = predict_corpus_weights(model, corpus, study / "w")
    assert predict_corpus_weights(model, corpus, study / "w") == first
    (study / "other.jsonl").write_text('{"docno": "d0", "conclusion": "cat", "premise": "a b"}\n')
    other = open_corpus(study / "other.jsonl")
    with pytest.raises(ArtifactError):
        list(expanded(other, study / "w"))
    assert predict_corpus_weights(model, other, study / "w").fingerprint != first.fingerprint


def test_words_that_nothing_was_learned_about_have_weight_zero(study, model, corpus):
    silent = SETTINGS.model_copy(update={"stop_words": ("cats", "should")})
    silent.save(model)
    predict_corpus_weights(model, corpus, study / "w")
    for _, found in stored_weights(study / "w", silent, corpus):
        for text in found:
            for word, weight in zip(text.words, text.weights, strict=True):
                assert (weight == 0) == (word.text.lower() in ("cats", "cats'", "should"))
