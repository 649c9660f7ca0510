"""The term weighter: which piece carries a word's weight, and that nothing else changes it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adducir.core.errors import InputError
from adducir.deepct.model import TermWeighter
from adducir.deepct.settings import PassageRecipe, Settings
from adducir.deepct.task import squared_errors
from adducir.deepct.weighting import predict_weights
from adducir.deepct.words import words
from adducir.models.sources import model_source

TEXTS = [
    "Nuclear energy is clean.",
    "",
    "The cats' e-mail: caf\u00e9s, unbanned dogs \u2014 don't run! " * 3,
    "zebra",
]


@pytest.fixture(scope="module")
def weighter(tiny):
    read = Settings(text=("premise",), passages=PassageRecipe(length=20))
    return TermWeighter.untrained(model_source(str(tiny)), read, seed=3)


def tokens(weighter, text):
    (encoded,) = weighter.encode([text], [words(text)])
    pieces = weighter._tokenizer.convert_ids_to_tokens(encoded.ids.tolist())
    return [pieces[place] for place in encoded.firsts]


def test_a_word_is_weighted_by_its_first_piece(weighter):
    assert tokens(weighter, "Caf\u00e9s don't unbanned e-mail's") == [
        "caf",
        "don",
        "un",
        "e",
        "mail",
    ]


def test_a_word_that_the_tokenizer_drops_has_weight_zero(weighter):
    (encoded,) = weighter.encode(["a"], [[*words("a"), words("xx b")[1]]])
    assert encoded.firsts.tolist() == [1, -1]
    assert weighter.weights([encoded])[0][1] == 0.0


def test_a_long_passage_keeps_its_closing_token(weighter):
    text = "cat " * 100
    (encoded,) = weighter.encode([text], [words(text)])
    assert len(encoded.ids) == 64
    assert encoded.ids[-1] == weighter._tokenizer.sep_token_id
    assert (encoded.firsts[:62] == np.arange(1, 63)).all()
    assert (encoded.firsts[62:] == -1).all()


def test_weights_are_those_of_a_plain_loop(weighter):
    text = "The cats' e-mail: café, dogs don't"
    inputs = weighter._tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    offsets = inputs.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        logits = weighter.model(**inputs).logits[0, :, 0].sigmoid()
    expected = []
    for word in words(text):
        first = next(i for i, (s, e) in enumerate(offsets) if s <= word.start < e)
        expected.append(float(logits[first]))
    (found,) = predict_weights(weighter, [text])
    np.testing.assert_allclose(found.weights, expected, atol=1e-6)


@settings(max_examples=20)
@given(st.integers(1, 400), st.permutations(range(len(TEXTS))))
def test_weights_do_not_depend_on_batches_or_neighbours(weighter, budget, order):
    alone = [predict_weights(weighter, [text])[0].weights for text in TEXTS]
    together = predict_weights(weighter, [TEXTS[i] for i in order], tokens=budget)
    for i, one in zip(order, together, strict=True):
        np.testing.assert_allclose(one.weights, alone[i], atol=1e-5)


def test_half_precision_is_near(weighter):
    for one, other in zip(
        predict_weights(weighter, TEXTS),
        predict_weights(weighter, TEXTS, precision="bfloat16"),
        strict=True,
    ):
        np.testing.assert_allclose(one.weights, other.weights, atol=0.02)
        assert other.weights.dtype == np.float32


def test_passages_own_every_word_once(weighter):
    for found, text in zip(predict_weights(weighter, TEXTS), TEXTS, strict=True):
        assert sum(found.owned) == len(found.words) == len(found.weights)
        assert found.words == words(text)


def test_a_word_of_two_passages_has_the_greater_weight(weighter):
    read = weighter.settings.model_copy(update={"passages": PassageRecipe(length=10, overlap=4)})
    lapping = TermWeighter(weighter.model, weighter._tokenizer, read)
    text = "the cat runs fast and the dog runs slow in the school of nuclear energy plants"
    (found,) = predict_weights(lapping, [text])
    assert len(found.owned) > 1
    assert sum(found.owned) == len(found.words)
    first = text[: found.words[found.owned[0]].start]
    (alone,) = predict_weights(weighter, [first])
    assert (found.weights[: found.owned[0]] >= alone.weights - 1e-5).all()
    assert (found.weights[: found.owned[0]] > alone.weights + 1e-7).any()


def test_the_loss_is_the_sum_of_squares_worked_by_hand(weighter):
    logits = torch.tensor([[0.0, 1.0, -1.0], [2.0, 0.5, 0.0]])
    rows, columns = np.array([0, 0, 1]), np.array([1, 2, 0])
    targets = np.array([1.0, 0.0, 0.5], dtype=np.float32)
    # sigmoid(1) = .7310586, sigmoid(-1) = .2689414, sigmoid(2) = .8807971
    expected = 0.2689414**2 + 0.2689414**2 + 0.3807971**2
    assert float(squared_errors(weighter, logits, rows, columns, targets)) == pytest.approx(
        expected, abs=1e-6
    )
    read = weighter.settings.model_copy(update={"activation": "none"})
    raw = TermWeighter(weighter.model, weighter._tokenizer, read)
    assert float(squared_errors(raw, logits, rows, columns, targets)) == 0 + 1 + 2.25


def test_a_saved_model_gives_the_same_weights(weighter, tmp_path):
    weighter.save(tmp_path)
    assert not list(tmp_path.glob("*.bin"))
    again = TermWeighter.load(tmp_path)
    assert Settings.load(tmp_path) == weighter.settings
    for one, other in zip(
        predict_weights(weighter, TEXTS), predict_weights(again, TEXTS), strict=True
    ):
        np.testing.assert_array_equal(one.weights, other.weights)


def test_transformers_loads_it_too(weighter, tmp_path):
    from transformers import AutoModelForTokenClassification

    weighter.save(tmp_path)
    model = AutoModelForTokenClassification.from_pretrained(tmp_path)
    assert model.config.num_labels == 1
    assert torch.equal(model.classifier.weight, weighter.model.classifier.weight)


def test_another_model_is_refused(tiny):
    with pytest.raises(InputError, match="this is no term weighter"):
        TermWeighter.load(tiny)


def test_heads_follow_the_seed(tiny):
    read = Settings(text=("premise",))
    source = model_source(str(tiny))
    heads = [TermWeighter.untrained(source, read, seed).model.classifier for seed in (1, 1, 2)]
    assert torch.equal(heads[0].weight, heads[1].weight)
    assert not torch.equal(heads[0].weight, heads[2].weight)
    assert heads[0].bias.item() == 0.0
