"""From weights to counts, worked by hand."""

import numpy as np
import pytest

from adducir.deepct.rendering import (
    Rendering,
    passage_counts,
    repetitions,
    weighted_counts,
    weighted_text,
)
from adducir.deepct.weighting import Weighted
from adducir.deepct.words import words


def weighted(text, weights, owned=None):
    found = words(text)
    return Weighted(found, np.array(weights, dtype=np.float32), owned or [len(found)])


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
    found = repetitions(weights, Rendering(scale=100, transform=transform))
    assert found.tolist() == expected


def test_a_word_counts_once_a_passage_with_its_greatest_weight():
    text = weighted("Cats chase cats; dogs chase Cats", [0.01, 0, 0.03, 0.02, 0.01, 0.02], [4, 2])
    assert list(passage_counts(text, Rendering())) == [
        {"cats": 3, "dogs": 2},
        {"chase": 1, "cats": 2},
    ]
    assert weighted_text([text], Rendering()) == "cats cats cats dogs dogs chase cats cats"
    assert weighted_counts([text], Rendering()) == {"cats": 5, "dogs": 2, "chase": 1}


def test_texts_of_several_fields_follow_each_other():
    one, other = weighted("cat", [0.02]), weighted("dog cat", [0.01, 0.01])
    assert weighted_text([one, other], Rendering()) == "cat cat dog cat"
    assert weighted_counts([one, other], Rendering()) == {"cat": 3, "dog": 1}


def test_a_document_of_which_nothing_is_left_keeps_its_words_once():
    texts = [weighted("The cat, the dog", [0.001] * 4), weighted("", [])]
    assert weighted_text(texts, Rendering()) == "the cat dog"
    assert weighted_counts(texts, Rendering()) == {"the": 1, "cat": 1, "dog": 1}


def test_a_document_without_words_stays_without():
    assert weighted_text([weighted("", [])], Rendering()) == ""
    assert weighted_counts([weighted("", [])], Rendering()) == {}
