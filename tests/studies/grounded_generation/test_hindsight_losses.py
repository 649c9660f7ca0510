"""The losses against enumeration in float64, finite differences, and what theory says of them."""

import numpy as np
import pytest
import torch

from adducir.studies.grounded_generation.hindsight.losses import PARTS, TRAINS, Computed, loss_of

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


@pytest.mark.parametrize("name", TRAINS)
def test_gradients_are_those_of_finite_differences(name, found) -> None:
    def value(*values):
        return loss_of(name, dict(zip(PARTS, values, strict=True)))

    assert torch.autograd.gradcheck(value, tuple(found.values()), eps=1e-6, atol=1e-6)


def test_the_bound_lies_below_by_the_divergence_to_the_exact_posterior(found) -> None:
    log_p, log_q = (found[part].log_softmax(-1) for part in ("retriever", "guide"))
    likelihood = found["generator"]
    exact = (log_p + likelihood).log_softmax(-1)
    gap = loss_of("elbo", found) - loss_of("marginal", found)
    assert (gap > 0).all()
    to_exact = (log_q.exp() * (log_q - exact)).sum(-1)
    assert torch.allclose(gap, to_exact, atol=1e-10)


def test_with_the_exact_posterior_both_methods_are_one(found) -> None:
    """Values, and the gradients of retriever and generator (the identity behind EM)."""
    exact = (found["retriever"].log_softmax(-1) + found["generator"]).detach()
    bound = loss_of("elbo", {**found, "guide": exact})
    whole = loss_of("marginal", found)
    assert torch.allclose(bound, whole, atol=1e-12)
    parts = [found["retriever"], found["generator"]]
    for one, other in zip(
        torch.autograd.grad(bound.sum(), parts),
        torch.autograd.grad(whole.sum(), parts),
        strict=True,
    ):
        assert torch.allclose(one, other, atol=1e-12)


def test_with_one_passage_both_are_its_likelihood() -> None:
    alone = {part: scores(4, 1) for part in PARTS}
    for name in ("elbo", "marginal", "reconstruction"):
        assert torch.allclose(loss_of(name, alone), -alone["generator"][:, 0], atol=1e-12)
    assert torch.equal(loss_of("kl", alone), torch.zeros(4, dtype=torch.float64))
