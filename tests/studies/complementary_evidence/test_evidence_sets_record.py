"""The shape of evidence questions, their files, their splits and their sampled sets."""

import gzip
import json
import random
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError, UsageError
from adducir.corpora.splitting import split
from adducir.studies.complementary_evidence.record import EvidenceQuestion, LabelledSet, Passage
from adducir.studies.complementary_evidence.record_files import read_questions, write_questions
from adducir.studies.complementary_evidence.sampling import sample_sets, with_sets

PASSAGES = tuple(Passage(f"p{n}", f"Title {n}", f"Text of {n}.") for n in range(4))
QUESTION = EvidenceQuestion(
    "q1",
    "Wer fraß 🐟?",
    PASSAGES,
    (frozenset({0, 3}), frozenset({1})),
    (LabelledSet((0, 3), True), LabelledSet((2, 1), False)),
    (0, 1),
)


@pytest.mark.parametrize("name", ["q.jsonl", "q.jsonl.gz"])
def test_a_file_gives_back_what_was_written(tmp_path: Path, name: str) -> None:
    questions = [QUESTION, EvidenceQuestion("q2", "Nothing known", PASSAGES[:1])]
    assert write_questions(questions, tmp_path / name) == 2
    assert list(read_questions(tmp_path / name)) == questions
    if name.endswith(".gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()).count(b"\n") == 2


def test_what_is_known_of_the_gold() -> None:
    assert QUESTION.relevant == {0, 1, 3}
    assert QUESTION.complete == (frozenset({0, 3}),)
    assert QUESTION.gold_ids == (frozenset({"p0", "p3"}), frozenset({"p1", "missing 0"}))
    assert EvidenceQuestion("q", "", PASSAGES, (frozenset({1}),)).complete == (frozenset({1}),)


RECORD = {
    "id": "q1",
    "question": "?",
    "passages": [{"id": "a", "title": "", "text": "x"}, {"id": "b", "title": "", "text": "y"}],
    "gold": [[0, 1]],
    "sets": [{"members": [0], "label": False}],
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gold": [[0, 2]]}, "holds passage 2, but there are 2"),
        ({"gold": [[0, -1]]}, "holds passage -1"),
        ({"gold": [[0, 0]]}, "a passage twice"),
        ({"gold": [[]]}, "a gold set is empty"),
        ({"gold": [[0, "1"]]}, "whole numbers"),
        ({"gold": [[0, True]]}, "whole numbers"),
        ({"gold": {"0": 1}}, "'gold' must be a list"),
        ({"gold": 7}, "'gold' must be a list"),
        ({"missing": [0, 0]}, "1 gold sets, but 2 counts"),
        ({"missing": [-1]}, "negative"),
        ({"sets": [{"members": [], "label": True}]}, "a labelled set is empty"),
        ({"sets": [{"members": [1, 1], "label": True}]}, "a passage twice"),
        ({"sets": [{"members": [1], "label": 1}]}, "true or false"),
        ({"sets": [{"members": [1]}]}, "labelled set has no 'label'"),
        ({"sets": [[0, 1]]}, "labelled set must be a JSON object, not a list"),
        ({"passages": [{"id": "a", "text": "x"}]}, "passage has no 'title'"),
        ({"passages": [{"id": "a", "title": 3, "text": "x"}]}, "must be text"),
        ({"passages": [RECORD["passages"][0]] * 2}, "two passages have the id 'a'"),
        ({"passages": [{"id": "a b", "title": "", "text": ""}]}, "without white space"),
        ({"passages": None}, "'passages' must be a list"),
        ({"id": "q 1"}, "without white space"),
        ({"id": 3}, "must be text"),
        ({"question": None}, "must be text"),
        ({"colour": 1}, "no key 'colour'"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, change: dict, words: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({**RECORD, "id": "q0"}) + "\n\n" + json.dumps({**RECORD, **change}))
    with pytest.raises(InputError, match=words) as error:
        list(read_questions(path))
    assert error.value.where == f"{path}:3"


@pytest.mark.parametrize(
    ("line", "words"),
    [("{", "not JSON"), ("[1]", "not a list"), ('{"id": "q"}', "no 'question' and no 'passages'")],
)
def test_a_line_that_is_no_question(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=words) as error:
        list(read_questions(path))
    assert error.value.line == 1


def test_an_id_comes_once(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(RECORD) + "\n" + json.dumps(RECORD) + "\n")
    with pytest.raises(InputError, match="stands in line 1 already"):
        list(read_questions(path))
    with pytest.raises(InputError, match="comes twice"):
        write_questions([QUESTION, QUESTION], tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


def test_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_questions([EvidenceQuestion("q", "\ud800", PASSAGES)], tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


def test_splits_depend_on_the_key_alone() -> None:
    names = [f"q{n}" for n in range(3000)]
    parts = split(names, str, {"train": 0.7, "test": 0.3}, seed=3)
    assert sorted(parts["train"] + parts["test"]) == sorted(names)
    assert 0.27 < len(parts["test"]) / 3000 < 0.33
    assert parts["test"] == [name for name in names if name in set(parts["test"])]
    again = split(reversed(names[:100]), str, {"train": 0.7, "test": 0.3}, seed=3)
    assert set(again["test"]) == set(parts["test"]) & set(names[:100])
    assert split(names, str, {"train": 0.7, "test": 0.3}, seed=4) != parts
    with pytest.raises(UsageError, match="nothing fell into test"):
        split(["one"], str, {"train": 0.999, "test": 0.001})
    with pytest.raises(UsageError, match="add up to 1"):
        split(names, str, {"train": 0.7})


@given(st.integers(2, 14), st.integers(1, 3), st.integers(0, 40), st.integers(0, 100))
def test_sampled_sets(passages: int, size: int, negatives: int, seed: int) -> None:
    gold = [frozenset(range(min(size, passages)))]
    sets = sample_sets(passages, gold, random.Random(seed), size=size, negatives=negatives)
    assert sets[0] == (tuple(range(min(size, passages))), True)
    false = [one.members for one in sets[1:]]
    every = {m for m in combinations(range(passages), size) if not gold[0].issuperset(m)}
    assert len(set(false)) == len(false) == min(negatives, len(every))
    assert set(false) <= every
    assert not any(one.label for one in sets[1:])


def test_negative_sets_are_drawn_alike() -> None:
    """Of 12 passages with a true pair, 20 of the 65 false pairs hold one true passage."""
    draw, gold = random.Random(1), [frozenset({4, 7})]
    drawn = [sample_sets(12, gold, draw)[1:] for _ in range(1000)]
    mixed = [len(gold[0] & set(one.members)) for sets in drawn for one in sets]
    assert len(mixed) == 8000
    assert 20 / 65 - 0.02 < sum(mixed) / 8000 < 20 / 65 + 0.02


def test_without_a_whole_true_set_there_are_only_false_ones() -> None:
    assert [one.label for one in sample_sets(5, [], random.Random(0), negatives=3)] == [False] * 3
    with pytest.raises(UsageError, match="cannot be drawn"):
        sample_sets(5, [], random.Random(0), size=0)


def test_sets_of_a_question() -> None:
    question = EvidenceQuestion("q", "?", PASSAGES, (frozenset({0, 1}),))
    whole = with_sets(question, negatives=3, seed=5)
    assert whole.sets[0] == ((0, 1), True)
    assert [one.label for one in whole.sets] == [True] + [False] * 3
    assert whole == with_sets(question, negatives=3, seed=5)
    lacking = EvidenceQuestion("q", "?", PASSAGES, (frozenset({0}),), missing=(1,))
    sets = with_sets(lacking, negatives=20).sets
    assert {one.members for one in sets} == set(combinations(range(4), 2))
    assert not any(one.label for one in sets)
    unknown = EvidenceQuestion("q", "?", PASSAGES)
    assert with_sets(unknown) == unknown
