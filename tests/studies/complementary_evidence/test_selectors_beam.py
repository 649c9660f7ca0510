"""The beam search, against algorithm 1 written out plainly and against all sets."""

import math
from itertools import combinations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.studies.complementary_evidence.selectors.beam import (
    HOTPOTQA50,
    MNLI12,
    BeamSettings,
    select_sets,
)
from adducir.studies.complementary_evidence.selectors.scoring import Weights, set_scores

WEIGHTS = Weights(0.4, 0.8)


def problem(passages: list[int], d: int = 5, seed: int = 0, *, coarse: bool = False):
    """Questions with so many passages each, padded with what must not matter."""
    generator = torch.Generator().manual_seed(seed)
    most = max(passages, default=0)
    relevance = torch.rand(len(passages), most, generator=generator, dtype=torch.float64)
    if coarse:  # ties
        relevance = (relevance * 3).round() / 3
    vectors = torch.randn(len(passages), most, d, generator=generator, dtype=torch.float64)
    if coarse:
        vectors = vectors.sign()
    question = torch.randn(len(passages), d, generator=generator, dtype=torch.float64)
    mask = torch.arange(most)[None] < torch.tensor(passages)[:, None]
    relevance[~mask] = math.nan
    vectors[~mask] = math.inf
    return relevance, vectors, question, mask


def score(case, q: int, members, weights: Weights = WEIGHTS) -> float:
    relevance, vectors, question, _ = case
    chosen = list(members)
    return set_scores(relevance[q, chosen], vectors[q, chosen], question[q], weights).item()


def plain_beam(case, q: int, beam: int, candidates: int, size: int, weights: Weights = WEIGHTS):
    """Algorithm 1 for one question, line by line."""
    relevance, _, _, mask = case
    passages = [k for k in range(mask.shape[1]) if mask[q, k]]
    best = sorted(passages, key=lambda k: -relevance[q, k].item())[:candidates]
    span = [((k,), score(case, q, [k], weights)) for k in best[:beam]]
    for _ in range(2, size + 1):
        grown: list[tuple[tuple[int, ...], float]] = []
        for members, _ in span:
            added = 0
            for k in best:
                whole = (*members, k)
                if k in members or any(set(whole) == set(other) for other, _ in grown):
                    continue
                grown.append((whole, score(case, q, whole, weights)))
                added += 1
                if added > beam:
                    break
        if not grown:
            break
        span = sorted(grown, key=lambda one: -one[1])[:beam]
    return span


def found_sets(selection, q: int):
    sets = []
    for members, value in zip(selection.members[q].tolist(), selection.scores[q], strict=True):
        if value == -math.inf:
            assert set(members) == {-1}
            continue
        sets.append((tuple(m for m in members if m >= 0), value.item()))
    return sets


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
    st.integers(1, 5),
    st.integers(1, 7),
    st.integers(1, 4),
    st.integers(0, 1000),
    st.booleans(),
)
@example([7], 2, 5, 4, 2, True)  # three vectors cancel
@settings(max_examples=150)
def test_it_is_algorithm_1(passages, beam, candidates, size, seed, coarse) -> None:
    candidates = max(candidates, size)
    case = problem(passages, seed=seed, coarse=coarse)
    selection = select_sets(*case, WEIGHTS, BeamSettings(size, beam, candidates))
    for q in range(len(passages)):
        wanted, found = plain_beam(case, q, beam, candidates, size), found_sets(selection, q)
        assert [value for _, value in found] == pytest.approx([value for _, value in wanted])
        if not coarse:  # scores equal but for rounding may change places
            assert [members for members, _ in found] == [members for members, _ in wanted]
        for members, value in found:
            assert value == pytest.approx(score(case, q, members))


@given(st.integers(2, 8), st.integers(2, 4), st.integers(0, 1000))
@settings(max_examples=60)
def test_a_wide_beam_finds_the_best_of_all_sets(passages: int, size: int, seed: int) -> None:
    size = min(size, passages)
    case = problem([passages, passages], seed=seed)
    wide = BeamSettings(size, math.comb(passages, passages // 2) + passages, passages)
    selection = select_sets(*case, WEIGHTS, wide)
    for q in range(2):
        every = {frozenset(m): score(case, q, m) for m in combinations(range(passages), size)}
        found = found_sets(selection, q)
        assert {frozenset(m) for m, _ in found} == set(every)
        assert len(found) == len(every)
        best = max(every, key=lambda members: every[members])
        assert frozenset(found[0][0]) == best
        assert [v for _, v in found] == pytest.approx(sorted(every.values(), reverse=True))


def test_pairs_of_a_whole_pool_of_fifty() -> None:
    case = problem([50] * 3, d=32, seed=7)
    selection = select_sets(*case, WEIGHTS, BeamSettings(2, 50, 50))
    for q in range(3):
        every = {m: score(case, q, m) for m in combinations(range(50), 2)}
        assert tuple(sorted(selection.members[q, 0].tolist())) == max(every, key=every.__getitem__)
        assert selection.scores[q, 0].item() == pytest.approx(max(every.values()))


def test_more_candidates_than_a_word_has_bits() -> None:
    case = problem([130], d=4, seed=2)
    selection = select_sets(*case, WEIGHTS, BeamSettings(3, 4, 130))
    assert found_sets(selection, 0) == [
        (members, pytest.approx(value)) for members, value in plain_beam(case, 0, 4, 130, 3)
    ]


def test_no_set_comes_twice_whatever_the_order_of_its_members() -> None:
    case = problem([6] * 20, seed=4)
    selection = select_sets(*case, WEIGHTS, BeamSettings(3, 10, 6))
    for q in range(20):
        sets = [frozenset(members) for members, _ in found_sets(selection, q)]
        assert len(sets) == len(set(sets)) == 10
        assert all(len(members) == 3 for members in sets)


def test_a_set_of_the_beam_gives_one_more_than_m_sets() -> None:
    """Line 16 breaks off after more than M: with M = 1 the second-best extension is still tried."""
    relevance = torch.tensor([[0.9, 0.8, 0.7, 0.6]])
    vectors = torch.tensor([[[1.0, 0], [1, 0], [0.9, -0.1], [0, 1]]])
    question, mask = torch.tensor([[1.0, 1]]), torch.ones(1, 4, dtype=torch.bool)
    weights = Weights(diversity=10, compactness=0)
    found = select_sets(relevance, vectors, question, mask, weights, BeamSettings(2, 1, 4))
    assert found.members.tolist() == [[[0, 2]]]  # 3 would be better, but is the third
    wider = select_sets(relevance, vectors, question, mask, weights, BeamSettings(2, 2, 4))
    assert wider.members[0, 0].tolist() == [0, 3]


def test_relevance_alone_gives_the_two_most_relevant_in_order() -> None:
    case = problem([12] * 5, seed=11)
    selection = select_sets(*case, Weights(0, 0), MNLI12)
    top = case[0].argsort(1, descending=True)[:, :2]
    assert torch.equal(selection.members[:, 0], top)
    assert torch.allclose(selection.scores[:, 0], case[0].gather(1, top).sum(1))


def test_ties_are_settled_by_number() -> None:
    relevance = torch.full((1, 6), 0.5)
    vectors, question = torch.ones(1, 6, 3), torch.ones(1, 3)
    mask = torch.ones(1, 6, dtype=torch.bool)
    selection = select_sets(relevance, vectors, question, mask, WEIGHTS, MNLI12)
    assert selection.members.tolist() == [[[0, 1], [0, 2], [0, 3]]]


def test_few_passages_or_none() -> None:
    case = problem([0, 1, 2, 5], seed=1)
    selection = select_sets(*case, WEIGHTS, BeamSettings(3, 3, 4))
    assert selection.members[0].tolist() == [[-1] * 3] * 3
    assert selection.scores[0].tolist() == [-math.inf] * 3
    assert selection.members[1, 0].tolist() == [0, -1, -1]
    assert sorted(selection.members[2, 0].tolist()) == [-1, 0, 1]
    assert selection.members[2, 1].tolist() == [-1] * 3
    assert selection.members[3, 0].min() >= 0
    none = select_sets(*problem([]), WEIGHTS)
    assert none.members.shape[0] == 0


def test_questions_do_not_touch_each_other() -> None:
    case = problem([9, 3, 12, 1, 7], seed=8)
    together = select_sets(*case, WEIGHTS, HOTPOTQA50)
    for q in range(5):
        alone = select_sets(*(part[q : q + 1] for part in case), WEIGHTS, HOTPOTQA50)
        assert torch.equal(alone.members[0], together.members[q])
        assert torch.allclose(alone.scores[0], together.scores[q])


def test_half_precision_and_vectors_that_cancel() -> None:
    vectors = torch.tensor([[[1.0, 0], [-1, 0], [0, 1]]], dtype=torch.bfloat16)
    relevance = torch.tensor([[0.5, 0.5, 0.5]], dtype=torch.bfloat16)
    question, mask = torch.tensor([[1.0, 0]]), torch.ones(1, 3, dtype=torch.bool)
    found = select_sets(relevance, vectors, question, mask, Weights(0, 1), BeamSettings(2, 3, 3))
    assert found.scores[0].tolist() == pytest.approx(
        [1 + 1 / math.sqrt(2), 1, 1 - 1 / math.sqrt(2)]
    )


def test_a_sum_that_cancels_but_for_rounding_has_no_direction() -> None:
    turns = torch.tensor([0, 2 * math.pi / 3, 4 * math.pi / 3], dtype=torch.float64)
    vectors = 7.3 * torch.stack([turns.cos(), turns.sin()], -1)[None]
    relevance, question = torch.full((1, 3), 0.5), torch.tensor([[0.3, 0.7]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    found = select_sets(relevance, vectors, question, mask, Weights(0, 1), BeamSettings(3, 3, 3))
    assert found.scores[0, 0].item() == 1.5
    assert set_scores(relevance[0], vectors[0], question[0].double(), Weights(0, 1)) == 1.5


def test_what_is_not_finite_is_refused() -> None:
    relevance, vectors, question, mask = problem([4], seed=0)
    for place, part in enumerate((relevance, vectors, question)):
        broken = [relevance, vectors, question]
        broken[place] = part.clone()
        broken[place].view(-1)[0] = math.nan
        with pytest.raises(UsageError, match="not finite"):
            select_sets(*broken, mask, WEIGHTS, BeamSettings(2, 3, 4))


@pytest.mark.parametrize(
    ("values", "words"), [((0, 1, 1), "size"), ((2, 0, 4), "beam"), ((3, 2, 2), "no set of 3")]
)
def test_settings_that_make_no_sense(values, words) -> None:
    with pytest.raises(UsageError, match=words):
        BeamSettings(*values)


def test_the_papers_settings() -> None:
    assert (MNLI12.size, MNLI12.beam, MNLI12.candidates) == (2, 3, 4)
    assert (HOTPOTQA50.size, HOTPOTQA50.beam, HOTPOTQA50.candidates) == (2, 4, 5)
