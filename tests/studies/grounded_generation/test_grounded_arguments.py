"""The bed of arguments: what is gold, what is replaced, and that it is the same again."""

import json
from pathlib import Path

import pytest

from adducir.core.errors import InputError
from adducir.studies.grounded_generation.arguments import ArgumentsRecipe, build_bed, read_arguments

CONCLUSIONS = [f"{word} should be banned now" for word in ("cars", "guns", "zoos", "cars and zoos")]


@pytest.fixture
def arguments(tmp_path: Path) -> Path:
    path = tmp_path / "arguments.jsonl"
    records = [
        {
            "docno": f"d{number}",
            "conclusion": CONCLUSIONS[number % 4],
            "premise": f"This is the first sentence of {number} and the end. "
            f"And that is the second one of {number} for us all.",
        }
        for number in range(24)
    ]
    records.append({"docno": "alone", "conclusion": "None", "premise": "One two three four five."})
    records.append({**records[0], "docno": "again"})
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def test_contexts_have_the_passage_of_their_target_as_gold(arguments: Path) -> None:
    recipe = ArgumentsRecipe(sentences=2, dropped=0.0, shares={"train": 0.5, "test": 0.5})
    bed = build_bed(arguments, recipe)
    assert set(bed.relevant.values()) == {6}
    assert "again" not in bed.passages  # a premise that is another's once more
    contexts = [one for part in bed.contexts.values() for one in part]
    assert len(contexts) == 2 * 24
    for one in contexts:
        assert one.target in bed.passages[one.gold[0]]
        assert one.input == one.group
    groups = [{one.group for one in part} for part in bed.contexts.values()]
    assert not groups[0] & groups[1]


def test_every_content_word_has_a_nonce_word_of_its_own(arguments: Path) -> None:
    bed = build_bed(arguments, ArgumentsRecipe(nonce=1.0, shares={"train": 1.0}))
    inputs = {one.group: one.input.split() for one in bed.contexts["train"]}
    cars, zoos, both = (inputs[CONCLUSIONS[place]] for place in (0, 2, 3))
    assert cars[0] not in ("cars", zoos[0])
    assert both[0] == cars[0]
    assert both[1] == "and"  # frequent in passages, so that it has no content
    assert both[2] == zoos[0]
    plain = build_bed(arguments, ArgumentsRecipe(shares={"train": 1.0}))
    assert bed.passages == plain.passages


def test_words_of_targets_are_dropped_by_the_seed(arguments: Path) -> None:
    recipe = ArgumentsRecipe(dropped=0.5, shares={"train": 1.0})
    first, again = (build_bed(arguments, recipe).contexts["train"] for _ in range(2))
    assert first == again
    lengths = [len(one.target.split()) for one in first]
    assert 0.3 < sum(lengths) / (11 * len(lengths)) < 0.7
    other = build_bed(arguments, recipe.model_copy(update={"seed": 1})).contexts["train"]
    assert other != first


def test_what_is_no_argument_is_refused(arguments: Path) -> None:
    with arguments.open("a") as file:
        file.write('{"docno": "d", "premise": "p"}\n')
    with pytest.raises(InputError, match="a conclusion and a premise") as caught:
        list(read_arguments(arguments))
    assert caught.value.line == 27
    arguments.write_text('{"docno": "d", "conclusion": "c", "premise": "p"}\n')
    with pytest.raises(InputError, match="no conclusion has 3 passages"):
        build_bed(arguments, ArgumentsRecipe())
