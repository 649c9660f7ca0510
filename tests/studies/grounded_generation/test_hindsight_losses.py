"""Hindsight's losses by hand, and which passages its samplers draw."""

from itertools import permutations

import numpy as np
import pytest
import torch

from adducir.studies.grounded_generation.hindsight.closed import ClosedSets
from adducir.studies.grounded_generation.hindsight.model import Computed
from adducir.studies.grounded_generation.hindsight.recipe import PARTS, SampleRecipe
from adducir.studies.grounded_generation.hindsight.training import loss_of

GENERATOR = np.random.default_rng(5)


def scores(*shape: int) -> torch.Tensor:
    return torch.from_numpy(GENERATOR.normal(size=shape) * 2).requires_grad_()


@pytest.fixture
def found() -> Computed:
    return {part: scores(3, 6) for part in PARTS}


def enumerated(name: str, found: Computed, row: int) -> torch.Tensor:
    """The formula of a loss, passage by passage, without any function of ours."""
    retriever, guide, likelihood = (found[part][row] for part in PARTS)
    p, q = (one.exp() / one.exp().sum() for one in (retriever, guide))
    if name == "marginal":
        return -torch.log(sum(p[z] * torch.exp(likelihood[z]) for z in range(6)))
    kl = sum(q[z] * (torch.log(q[z]) - torch.log(p[z])) for z in range(6))
    rebuilt = -sum(q[z] * likelihood[z] for z in range(6))
    return {"elbo": rebuilt + kl, "kl": kl, "reconstruction": rebuilt}[name]


@pytest.mark.parametrize("name", ["elbo", "marginal", "kl", "reconstruction"])
def test_losses_and_gradients_are_those_of_the_enumerated_formula(name, found) -> None:
    ours = loss_of(name, found)
    parts = [*found.values()]
    brute = torch.stack([enumerated(name, found, row) for row in range(3)])
    assert torch.allclose(ours, brute, atol=1e-12)
    gradients = torch.autograd.grad(ours.sum(), parts, allow_unused=True, materialize_grads=True)
    wanted = torch.autograd.grad(brute.sum(), parts, allow_unused=True, materialize_grads=True)
    for one, other in zip(gradients, wanted, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


SCORES = np.log([8.0, 4.0, 2.0, 1.0, 1.0])
LISTS = [0, 1, 2, 3, 4], [4, 3, 7, 8, 9]


def closed(retriever: list[int], guide: list[int], scores: np.ndarray) -> ClosedSets:
    return ClosedSets(
        np.zeros(1, int), np.array([retriever]), scores[None], np.array([guide]), scores[None]
    )


CLOSED = closed(*LISTS, SCORES)


def many(recipe: SampleRecipe, count: int = 400, of: ClosedSets = CLOSED) -> list[list[int]]:
    return [of.sample(0, recipe, seed).tolist() for seed in range(count)]


def within_binomial(observed: int, count: int, share: float) -> bool:
    """Whether a count lies within five standard deviations of its expectation."""
    return abs(observed - count * share) <= 5 * np.sqrt(count * share * (1 - share)) + 1e-9


def test_drawing_without_replacement_against_enumeration() -> None:
    """n = 4, k = 2: the probability of each passage to be drawn, over all orders."""
    weights, count = np.array([0.5, 0.25, 0.15, 0.1]), 5_000
    exact = np.zeros(4)
    for first, second in permutations(range(4), 2):
        exact[[first, second]] += weights[first] * weights[second] / (1 - weights[first])
    found = np.zeros(4)
    own = closed([0, 1, 2, 3], [0, 1, 2, 3], np.log(weights))
    for passages in many(SampleRecipe(k=2, sampler="guide"), count, own):
        found[passages] += 1
    assert all(within_binomial(*pair) for pair in zip(found, [count] * 4, exact, strict=True))


def test_a_temperature_divides_scores() -> None:
    count, own = 5_000, closed([0, 1], [0, 1], np.log([4.0, 1.0]))
    recipe = SampleRecipe(k=1, sampler="retriever", temperature=2.0)
    first = sum(one == [0] for one in many(recipe, count, own))
    assert within_binomial(first, count, 2 / 3)  # sqrt(4) to sqrt(1)


def test_alpha_says_how_often_the_list_is_the_retrievers() -> None:
    whole = many(SampleRecipe(k=3, alpha=0.25), 2000)
    retriever, guide = map(set, LISTS)
    assert all(set(one) <= guide or set(one) <= retriever for one in whole)
    first = sum(one[0] in (0, 1, 2) for one in whole)
    # What only the retriever's list has, and how probable that is there.
    assert within_binomial(first, 2000, 0.25 * 14 / 16)
    assert all(set(one) <= guide for one in many(SampleRecipe(k=3, alpha=0)))
    assert all(set(one) <= retriever for one in many(SampleRecipe(k=3, alpha=1)))


@pytest.mark.parametrize("k", [1, 4, 5])
@pytest.mark.parametrize("sampler", ["guide", "retriever", "top", "mixture"])
def test_samplers_give_k_different_passages_and_the_same_again(sampler, k) -> None:
    recipe = SampleRecipe(k=k, sampler=sampler, alpha=0.5)
    first = many(recipe, 50)
    assert all(len(set(one)) == k == len(one) for one in first)
    assert first == many(recipe, 50)
    short = closed([0, 1, 2], [0, 1, 2], SCORES[:3])
    assert [len(one) for one in many(SampleRecipe(k=9, sampler=sampler), 1, short)] == [3]
