"""Generators against plain versions: BART and T5, and the one of words alone."""

import json
import math
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from adducir.core.errors import InputError
from adducir.studies.grounded_generation.generators.generator import Generator, Lexical
from adducir.studies.grounded_generation.generators.kinds import GENERATORS, Decoding

TEXTS = (
    ["the cat runs", "should school uniforms be banned because the dog ran fast"],
    ["the dog", "nuclear power plants should be banned"],
    ["cats and dogs", "clean energy is cheap for the school and the example", "power"],
)
ALL = np.array([[0, 1, 2], [2, 1, 0]])


def test_a_likelihood_is_the_sum_over_the_whole_target(sequences: Generator) -> None:
    """Against transformers' own loss, the mean over the tokens of a single pair."""
    read = sequences.read(*TEXTS)
    found = sequences.log_likelihood(read, np.arange(2), ALL)
    for row, passages in enumerate(ALL):
        for column, passage in enumerate(passages):
            ids = np.concatenate((read.inputs[row], sequences.separator, read.passages[passage]))
            target = torch.from_numpy(read.targets[row])[None]
            with torch.no_grad():
                loss = sequences.network(input_ids=torch.from_numpy(ids)[None], labels=target).loss
            wanted = -float(loss) * target.shape[1]
            assert float(found[row, column]) == pytest.approx(wanted, rel=1e-5)


def test_parts_are_cut_apart(sequences: Generator) -> None:
    read = sequences.read(*TEXTS)
    ids = sequences.tokenizer.backend_tokenizer
    whole = ids.encode(TEXTS[0][1], add_special_tokens=False).ids
    assert read.inputs[1].tolist() == whole[-6:]  # a long input keeps its end
    passage = ids.encode(TEXTS[2][1], add_special_tokens=False).ids
    assert read.passages[1].tolist() == passage[:8]
    target = ids.encode(TEXTS[1][1]).ids
    assert read.targets[1].tolist() == [*target[:6], target[-1]]


def test_beams_do_not_depend_on_the_batch(sequences: Generator) -> None:
    read = sequences.read(*TEXTS)
    plan = Decoding(beams=3, max_length=6, min_length=2)
    pairs = np.array([[0, 0], [1, 1], [1, 2]])
    whole = sequences.write(read, pairs, plan, None)
    alone = sequences.write(read, pairs[2:], plan, None)
    assert alone == whole[2:]


def test_what_is_longer_than_the_network_reads_is_refused(checkpoints: Path) -> None:
    recipe = GENERATORS.make("bart", {"bart": "bart", "passage_length": 100})
    with pytest.raises(InputError, match="the model reads 128"):
        recipe.load(checkpoints)


def test_the_checkpoint_s_generation_settings_hold_unless_the_recipe_has_its_own(
    checkpoints: Path, tmp_path: Path
) -> None:
    """bart-base's config.json has ``no_repeat_ngram_size: 3``, as older checkpoints do."""
    folder = tmp_path / "bart"
    shutil.copytree(checkpoints / "bart", folder)
    (folder / "generation_config.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    config |= {"no_repeat_ngram_size": 1, "num_beams": 7}
    (folder / "config.json").write_text(json.dumps(config))

    def written(base: Path, **settings: int) -> list[str]:
        generator = GENERATORS.make(
            "bart", {"bart": str(base), "passage_length": 8, "output_length": 30}
        ).load(tmp_path)
        how = Decoding.model_validate({"beams": 2, "max_length": 30, "min_length": 20, **settings})
        return generator.write(generator.read(*TEXTS), np.array([[0, 0], [1, 1]]), how, None)

    plain = written(checkpoints / "bart")
    once = written(checkpoints / "bart", no_repeat_ngram_size=1)
    assert plain != once
    assert written(folder) == once
    assert written(folder, no_repeat_ngram_size=0) == plain


def test_maxima_need_as_many_texts() -> None:
    assert Decoding(passages=2).best == 5
    with pytest.raises(ValidationError):
        Decoding(passages=4, best=5)


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
    written = model.write(read, np.array([[0, 0], [0, 1]]), Decoding(max_length=2), None)
    assert written == ["cats run", "run dogs"]


def test_a_share_lies_between_nothing_and_all() -> None:
    with pytest.raises(Exception, match="lexical"):
        GENERATORS.make("lexical", {"lexical": 1.0})
