"""Samplers: from which list, how often, and without replacement, against enumeration."""

from itertools import permutations
from math import comb

import numpy as np
import pytest

from adducir.studies.grounded_generation.hindsight.samplers import (
    Closed,
    SampleRecipe,
    drawn,
    sample,
)

SCORES = np.log([8.0, 4.0, 2.0, 1.0, 1.0])
CLOSED = Closed(np.array([0, 1, 2, 3, 4]), SCORES, np.array([4, 3, 7, 8, 9]), SCORES)
SIZE = 40


def many(recipe: SampleRecipe, count: int = 400) -> list[list[int]]:
    return [sample(recipe, CLOSED, SIZE, seed).tolist() for seed in range(count)]


def within_binomial(observed: int, count: int, share: float) -> bool:
    """Whether a count lies within five standard deviations of its expectation."""
    return abs(observed - count * share) <= 5 * np.sqrt(count * share * (1 - share)) + 1e-9


def test_drawing_without_replacement_against_enumeration() -> None:
    """n = 4, k = 2: the probability of each passage to be drawn, over all orders."""
    weights, count = np.array([0.5, 0.25, 0.15, 0.1]), 20_000
    exact = np.zeros(4)
    for first, second in permutations(range(4), 2):
        exact[[first, second]] += weights[first] * weights[second] / (1 - weights[first])
    draw, found = np.random.default_rng(1), np.zeros(4)
    for _ in range(count):
        found[drawn(np.arange(4), np.log(weights), 1.0, draw)[:2]] += 1
    assert all(within_binomial(*pair) for pair in zip(found, [count] * 4, exact, strict=True))


def test_a_temperature_divides_scores() -> None:
    count, draw = 20_000, np.random.default_rng(2)
    first = sum(drawn(np.arange(2), np.log([4.0, 1.0]), 2.0, draw)[0] == 0 for _ in range(count))
    assert within_binomial(first, count, 2 / 3)  # sqrt(4) to sqrt(1)


@pytest.mark.parametrize("mixture", ["example", "passage"])
def test_alpha_says_which_list(mixture) -> None:
    def lists(alpha: float) -> list[list[int]]:
        return many(SampleRecipe(k=3, sampler="mixture", alpha=alpha, mixture=mixture))

    assert all(set(one) <= set(CLOSED.guide.tolist()) for one in lists(0))
    assert all(set(one) <= set(CLOSED.retriever.tolist()) for one in lists(1))


def test_the_frequency_of_a_list_by_example_and_by_passage() -> None:
    def of_retriever(passages: list[int]) -> int:
        return sum(one in (0, 1, 2) for one in passages)

    by_example = many(SampleRecipe(k=1, alpha=0.25), 4000)
    share = 0.25 * 14 / 16  # what only the retriever's list has, and how probable that is there
    assert within_binomial(sum(map(of_retriever, by_example)), 4000, share)
    whole = many(SampleRecipe(k=3, alpha=0.25), 2000)
    assert all(set(one) <= {0, 1, 2, 3, 4} or set(one) <= {3, 4, 7, 8, 9} for one in whole)
    both = many(SampleRecipe(k=3, alpha=0.5, mixture="passage"), 500)
    assert any(set(one) & {0, 1, 2} and set(one) & {7, 8, 9} for one in both)


def test_by_passage_each_place_is_the_retrievers_with_probability_alpha() -> None:
    apart = Closed(np.arange(5), SCORES, np.arange(10, 15), SCORES)
    recipe = SampleRecipe(k=4, alpha=0.25, mixture="passage")
    each = [sample(recipe, apart, SIZE, seed) for seed in range(1000)]
    counts = np.bincount([int((one < 5).sum()) for one in each], minlength=5)
    shares = [comb(4, n) * 0.25**n * 0.75 ** (4 - n) for n in range(5)]
    pairs = zip(counts, [1000] * 5, shares, strict=True)
    assert all(within_binomial(*pair) for pair in pairs)


@pytest.mark.parametrize("k", [1, 4, 5])
@pytest.mark.parametrize("mixture", ["example", "passage"])
@pytest.mark.parametrize(
    "sampler", ["guide", "retriever", "top", "guide-top", "mixture", "posterior", "guided"]
)
def test_all_samplers_give_k_different_passages_and_the_same_again(sampler, mixture, k) -> None:
    recipe = SampleRecipe(k=k, sampler=sampler, alpha=0.5, mixture=mixture)
    first = many(recipe, 50)
    assert all(len(set(one)) == k == len(one) for one in first)
    assert first == many(recipe, 50)


def test_the_parts_of_posterior_and_guided() -> None:
    for one in many(SampleRecipe(k=4, sampler="posterior"), 100):
        assert set(one) & {3, 4} == {3, 4}
        assert len(set(one) & {7, 8, 9}) == 2
    for one in many(SampleRecipe(k=4, sampler="guided"), 100):
        assert one[0] in (3, 4)
        assert one[1] in (0, 1, 2)
        assert one[2] in (7, 8, 9)
    beyond = {x for one in many(SampleRecipe(k=4, sampler="guided"), 100) for x in one}
    assert beyond & set(range(10, SIZE))


def test_lists_that_are_short_are_filled_or_given_whole() -> None:
    same = Closed(np.arange(3), SCORES[:3], np.arange(3), SCORES[:3])
    for sampler in ("guide", "mixture", "posterior", "guided", "top"):
        found = sample(SampleRecipe(k=3, sampler=sampler), same, 3, 0)
        assert sorted(found.tolist()) == [0, 1, 2]
        assert len(sample(SampleRecipe(k=9, sampler=sampler), same, 3, 0)) == 3
