"""The lexical mixture: enumerated and by hand."""

import math
from itertools import product

import numpy as np
import pytest
import torch

from adducir.studies.grounded_generation.generators.generator import Decoding
from adducir.studies.grounded_generation.generators.kinds import GENERATORS
from adducir.studies.grounded_generation.generators.lexical import Lexical

PASSAGES = ["Cats run, cats sleep.", "dogs run", ""]
WORDS = ["cats", "dogs", "run", "sleep", "unicorns"]


def lexical(share: float = 0.3) -> Lexical:
    return Lexical(share).double()


def likelihoods(targets: list[str], share: float = 0.3) -> torch.Tensor:
    model = lexical(share)
    read = model.read([""] * len(targets), targets, PASSAGES)
    each = np.tile(np.arange(len(PASSAGES)), (len(targets), 1))
    return model.log_likelihood(read, np.arange(len(targets)), each)


def test_the_probabilities_of_all_texts_of_a_length_add_up_to_one() -> None:
    texts = [" ".join(words) for words in product(WORDS, repeat=3)]
    total = likelihoods(texts).exp().sum(dim=0)
    assert torch.allclose(total[:2], torch.ones(2, dtype=torch.float64), atol=1e-12)
    assert (
        abs(float(total[2]) - 0.7**3) < 1e-6
    )  # a passage without words keeps its share for itself


def test_a_probability_by_hand() -> None:
    (found,) = likelihoods(["Run, unicorns!"]).detach()
    outside = {"run": 3 / 11, "unicorns": 1 / 11}  # 6 words, 4 of them different, 1 unknown
    by_hand = math.log(0.3 / 4 + 0.7 * outside["run"]) + math.log(0.7 * outside["unicorns"])
    assert float(found[0]) == pytest.approx(by_hand, abs=1e-6)


def test_padding_changes_nothing() -> None:
    alone = likelihoods(["cats run"])
    beside = likelihoods(["cats run", "cats run and run and sleep for ever"])
    assert torch.equal(alone[0], beside[0])


def test_the_most_probable_words_are_written_once() -> None:
    model = lexical(0.9)
    read = model.read([""], [""], PASSAGES)
    written = model.write(read, np.zeros(2, int), np.array([0, 1]), Decoding(max_length=2))
    assert written == ["cats run", "run dogs"]


def test_a_share_lies_between_nothing_and_all() -> None:
    with pytest.raises(Exception, match="lexical"):
        GENERATORS.make("lexical", {"lexical": 1.0})
