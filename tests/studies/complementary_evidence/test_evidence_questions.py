"""Files of questions and selected sets, sampled sets, and how selected sets are measured."""

import random
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError, UsageError
from adducir.studies.complementary_evidence.measures import GoldSets, bound_of, values_of
from adducir.studies.complementary_evidence.questions import (
    EvidencePassage,
    EvidenceQuestion,
    LabelledSet,
    SelectedSet,
    sample_sets,
)

PASSAGES = tuple(EvidencePassage(f"p{n}", f"Title {n}", f"Text of {n}.") for n in range(4))
QUESTION = EvidenceQuestion(
    "q1",
    "Wer fraß 🐟?",
    PASSAGES,
    ((0, 3), (1,)),
    (LabelledSet((0, 3), True), LabelledSet((2, 1), False)),
    (0, 1),
)


def test_gold_sets_by_their_ids() -> None:
    assert QUESTION.relevant == {0, 1, 3}
    assert QUESTION.gold_ids == ({"p0", "p3"}, {"p1", "missing 0"})


@given(st.integers(2, 14), st.integers(1, 3), st.integers(0, 40), st.integers(0, 100))
def test_sampled_sets(passages: int, size: int, negatives: int, seed: int) -> None:
    gold = [range(min(size, passages))]
    sets = sample_sets(passages, gold, random.Random(seed), size=size, negatives=negatives)
    assert sets[0] == LabelledSet(tuple(gold[0]), True)
    false = [one.members for one in sets[1:]]
    every = {m for m in combinations(range(passages), size) if not {*gold[0]} >= {*m}}
    assert len(set(false)) == len(false) == min(negatives, len(every))
    assert set(false) <= every
    assert not any(one.label for one in sets[1:])


def test_negative_sets_are_drawn_alike() -> None:
    """Of 12 passages with a gold pair, 20 of the 65 false pairs hold one of its passages."""
    draw = random.Random(1)
    drawn = [sample_sets(12, [(4, 7)], draw)[1:] for _ in range(1000)]
    mixed = [len({4, 7} & {*one.members}) for sets in drawn for one in sets]
    assert len(mixed) == 8000
    assert 20 / 65 - 0.02 < sum(mixed) / 8000 < 20 / 65 + 0.02


def test_sets_of_a_question() -> None:
    whole = EvidenceQuestion("q", "?", PASSAGES, ((0, 1),)).with_sets(negatives=3, seed=5)
    assert whole.sets[0] == LabelledSet((0, 1), True)
    assert [one.label for one in whole.sets] == [True] + [False] * 3
    lacking = EvidenceQuestion("q", "?", PASSAGES, ((0,),), missing=(1,))
    sets = lacking.with_sets(negatives=20).sets
    assert {one.members for one in sets} == set(combinations(range(4), 2))
    assert not any(one.label for one in sets)


def gold_sets(*sets: set[int], pool: int = 10) -> EvidenceQuestion:
    passages = tuple(EvidencePassage(f"p{n}", "", "") for n in range(pool))
    return EvidenceQuestion(f"q{len(sets)}{sets}".replace(" ", ""), "?", passages, tuple(sets))


def ids(*numbers: int) -> tuple[str, ...]:
    return tuple(f"p{n}" for n in numbers)


def array_of(scores) -> np.ndarray:
    return scores.matrix().values[:, 0].T


def test_hand_worked_questions() -> None:
    questions = [gold_sets(*one) for one in ([{1, 2}], [{1, 2}, {3, 4, 5}], [{1}], [{7, 8}])]
    a, b, c, d = (question.id for question in questions)
    gold = GoldSets(questions)
    scores = gold.scores("s", {a: ids(2, 1), b: ids(3, 4), c: ids(1, 9), "e": ids(1)})
    assert [*scores.measures] == ["EM", "F1", "Cover"]
    # b: 2 of {3, 4} are in the second set: 2 * 2 / (2 + 3); c: 2 * 1 / (2 + 1).
    assert array_of(scores).tolist() == [
        [1, 1, 1],
        [0, 0.8, 0],
        [0, pytest.approx(2 / 3), 1],
        [0] * 3,
    ]
    (known,) = scores.evaluations
    assert (known.missing, known.extra) == ((d,), ("e",))
    assert array_of(gold.scores("s", {a: ()}))[0].tolist() == [0, 0, 0]
    with pytest.raises(UsageError):
        gold.scores("s", {a: ids(1, 1)})
    for wrong in ([], [gold_sets()], [questions[0]] * 2):
        with pytest.raises(UsageError):
            GoldSets(wrong)


SETS = st.lists(st.frozensets(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=3)


@given(st.frozensets(st.integers(0, 5), max_size=5), SETS, st.sampled_from([None, 1, 2, 3]))
def test_the_bound_is_what_trying_all_subsets_gives(pool, gold, size) -> None:
    sizes = range(len(pool) + 1) if size is None else [min(size, len(pool))]
    subsets = chain.from_iterable(combinations(pool, count) for count in sizes)
    tried = [values_of(frozenset(subset), gold) for subset in subsets]
    expected = [max(values) for values in zip(*tried, strict=True)]
    assert bound_of(pool, gold, size) == pytest.approx(expected)


@given(st.data())
def test_no_system_exceeds_the_bound(data) -> None:
    """Not where sets differ in size, either, between systems or within one."""
    questions = [
        EvidenceQuestion(
            name,
            "?",
            tuple(EvidencePassage(f"p{n}", "", "") for n in range(data.draw(st.integers(1, 5)))),
            tuple(data.draw(st.sets(st.just(0), min_size=1)) for _ in range(1)),
            missing=(data.draw(st.integers(0, 1)),),
        )
        for name in "ab"
    ]
    gold = GoldSets(questions)
    draws = [st.lists(st.sampled_from([p.id for p in q.passages]), unique=True) for q in questions]
    systems = [dict(zip("ab", map(data.draw, draws), strict=True)) for _ in range(3)]
    bound = array_of(gold.bound(systems))
    for chosen in systems:
        assert (array_of(gold.scores("s", chosen)) <= bound + 1e-12).all()


def test_a_set_of_other_questions_is_refused() -> None:
    gold, path = GoldSets([QUESTION]), Path("sets.jsonl")
    with pytest.raises(InputError) as error:
        gold.checked([SelectedSet("q1", ("p9",))], path)
    assert error.value.path == path
