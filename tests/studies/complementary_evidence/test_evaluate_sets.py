"""Chosen sets against right sets."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.statistics.comparison.comparison import compare
from adducir.studies.complementary_evidence.set_files import GoldSets
from adducir.studies.complementary_evidence.sets import F1, set_scores, upper_bound


def test_hand_worked_questions():
    gold = {"a": [{1, 2}], "b": [{1, 2}, {3, 4, 5}], "c": [{1}], "d": [{7, 8}]}
    chosen = {"a": [2, 1], "b": [3, 4], "c": [1, 9], "e": [1]}
    scores = set_scores("s", chosen, gold)
    assert [str(one) for one in scores.measures] == ["EM", "F1", "Cover"]
    # b: 2 of {3, 4} are in the second set: 2 * 2 / (2 + 3); c: 2 * 1 / (2 + 1).
    assert scores.values.tolist() == [[1, 1, 1], [0, 0.8, 0], [0, pytest.approx(2 / 3), 1], [0] * 3]
    assert (scores.missing, scores.extra) == (("d",), ("e",))
    assert scores.mean(F1) == pytest.approx((1 + 0.8 + 2 / 3) / 4)


def test_an_empty_choice_scores_nothing():
    assert set_scores("s", {"a": []}, {"a": [{1}]}).values.tolist() == [[0, 0, 0]]


SETS = st.lists(st.frozensets(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=3)


@given(st.frozensets(st.integers(0, 5), max_size=5), SETS, st.sampled_from([None, 1, 2, 3]))
def test_the_bound_is_what_trying_all_subsets_gives(pool, gold, size):
    if size is None:
        subsets = chain.from_iterable(combinations(pool, r) for r in range(len(pool) + 1))
    else:
        subsets = combinations(pool, min(size, len(pool)))
    tried = [set_scores("s", {"q": subset}, {"q": gold}).values[0] for subset in subsets]
    expected = [max(float(one[place]) for one in tried) for place in range(3)]
    bound = upper_bound({"q": pool}, {"q": gold}, size=size).values[0]
    assert bound.tolist() == pytest.approx(expected)


@given(st.data())
def test_no_system_exceeds_the_bound(data):
    """Not where sets differ in size, either, between systems or within one."""
    names = ["a", "b"]
    pools = {qid: data.draw(st.frozensets(st.integers(0, 5), min_size=1)) for qid in names}
    gold = GoldSets({qid: tuple(data.draw(SETS)) for qid in names}, pools)
    draws = [st.lists(st.sampled_from(sorted(pools[qid])), unique=True) for qid in names]
    systems = [dict(zip(names, map(data.draw, draws), strict=True)) for _ in range(3)]
    bound = gold.bound(systems).values
    for chosen in systems:
        assert (gold.scores("s", chosen).values <= bound + 1e-12).all()


def test_values_enter_paired_tests():
    gold = {str(one): [{one, one + 1}] for one in range(12)}
    right = {str(one): {one, one + 1} for one in range(12)}
    wrong = {str(one): {one, one + (1 if one < 3 else 5)} for one in range(12)}
    comparison = compare(
        [set_scores("base", wrong, gold), set_scores("new", right, gold)], baseline="base"
    )
    assert comparison.cell("new", F1).verdict == "better"
    assert comparison.cell("new", F1).test.difference == pytest.approx(9 / 12 * 0.5)


@pytest.mark.parametrize(
    ("chosen", "gold", "message"),
    [
        ({}, {}, "no question"),
        ({}, {"a": []}, "question a has no right set"),
        ({}, {"a": [set()]}, "or an empty one"),
        ({"a": [1, 1]}, {"a": [{1}]}, "chose a passage twice for question a"),
    ],
)
def test_what_makes_no_sense_is_refused(chosen, gold, message):
    with pytest.raises(UsageError, match=message):
        set_scores("s", chosen, gold)
    with pytest.raises(UsageError, match="cannot be chosen"):
        upper_bound({}, {"a": [{1}]}, size=0)
