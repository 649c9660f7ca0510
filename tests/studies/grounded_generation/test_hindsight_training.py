"""Model, closed sets and phases: brute force, frozen parts, kill and resume."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_bed import bed, closed_sets

from adducir.core.progress import Progress
from adducir.models.arrays import weights_of
from adducir.studies.grounded_generation.contexts import GroundedContext
from adducir.studies.grounded_generation.generators.lexical import Lexical
from adducir.studies.grounded_generation.hindsight.building import Problem, assemble
from adducir.studies.grounded_generation.hindsight.closed import ClosedRequest, ClosedSets
from adducir.studies.grounded_generation.hindsight.losses import Computed, loss_of
from adducir.studies.grounded_generation.hindsight.phase import Phase, train_phase
from adducir.studies.grounded_generation.hindsight.recipe import (
    GuideRecipe,
    PhaseRecipe,
    RetrieverRecipe,
)

ALL = np.tile(np.arange(6), (4, 1))
CONTEXTS = np.arange(4)


def brute_scores(scorer, queries, passages) -> torch.Tensor:
    """(4, 6) every query with every passage, one pair at a time."""
    rows = []
    for query in range(4):
        row = []
        for passage in range(6):
            total = 0.0
            document = []
            for vector in passages.of.rows(passage, passage + 1).values:
                moved = scorer.adapters["document"].weight @ torch.from_numpy(vector)
                document.append(moved / moved.norm())
            for vector in queries.of.rows(query, query + 1).values:
                moved = scorer.adapters["query"].weight @ torch.from_numpy(vector)
                total = total + max((moved / moved.norm()) @ one for one in document)
            row.append(total * scorer.log_scale.exp())
        rows.append(torch.stack(row))
    return torch.stack(rows)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", ["elbo", "marginal"])
def test_the_loss_and_all_gradients_over_the_whole_corpus(name, several) -> None:
    model, data = bed(several=several, vectors="tokens" if several else "one")
    parameters = [one for one in model.parameters() if one.requires_grad]
    ours = loss_of(name, model.compute(data, CONTEXTS, ALL)).sum()
    found = torch.autograd.grad(ours, parameters, allow_unused=True, materialize_grads=True)

    p = brute_scores(model.retriever, data.inputs, data.retriever_passages).softmax(-1)
    q = brute_scores(model.guide, data.hindsight, data.guide_passages).softmax(-1)
    share = model.generator.share
    inside = torch.from_numpy(data.texts.shares_of(ALL[:, :, None], data.texts.targets[:, None]))
    outside = torch.from_numpy(data.texts.background[data.texts.targets])
    rows = []
    for row, words in enumerate(data.texts.targets):
        value = torch.ones(6, dtype=torch.float64)
        for place in range((words >= 0).sum()):
            value = value * (share * inside[row, :, place] + (1 - share) * outside[row, place])
        rows.append(value)
    likelihood = torch.stack(rows)
    if name == "marginal":
        brute = -(p * likelihood).sum(-1).log().sum()
    else:
        brute = -(q * (likelihood.log() - q.log() + p.log())).sum()
    assert float(ours.detach()) == pytest.approx(float(brute.detach()), abs=1e-10)
    wanted = torch.autograd.grad(brute, parameters, allow_unused=True, materialize_grads=True)
    for one, other in zip(found, wanted, strict=True):
        assert torch.allclose(one, other, atol=1e-10)


def test_gradients_of_weights_are_those_of_finite_differences() -> None:
    model, data = bed()
    for parameter in (model.retriever.log_scale, model.generator.logit):
        loss = loss_of("elbo", model.compute(data, CONTEXTS, ALL)).sum()
        (found,) = torch.autograd.grad(loss, [parameter])
        values = []
        for step in (1e-5, -1e-5):
            with torch.no_grad():
                parameter += step
                values.append(float(loss_of("elbo", model.compute(data, CONTEXTS, ALL)).sum()))
                parameter -= step
        assert float(found) == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-6)


def test_a_closed_set_of_all_passages_is_the_corpus_in_order() -> None:
    model, data = bed(several=True, vectors="tokens")
    closed = closed_sets(model, data, CONTEXTS, 100)
    brute = brute_scores(model.retriever, data.inputs, data.retriever_passages).detach().numpy()
    assert np.array_equal(closed.retriever, np.argsort(-brute, axis=1))
    assert np.allclose(closed.retriever_scores, -np.sort(-brute, axis=1), atol=1e-5)
    over_sets = model.compute(data, CONTEXTS, closed.retriever).log_p.exp()
    whole = torch.from_numpy(brute).softmax(-1).numpy()
    assert np.allclose(over_sets.detach(), np.take_along_axis(whole, closed.retriever, 1))
    assert np.allclose(over_sets.detach().sum(-1), 1)


def test_candidates_are_those_that_are_scored() -> None:
    model, data = bed(several=True, vectors="tokens")
    whole = closed_sets(model, data, CONTEXTS, 6)
    some = np.array([[0, 3, 5], [1, 2, 4], [5, 4, 3], [2, 0, 1]])
    closed = closed_sets(model, data, CONTEXTS, 2, candidates=(some, some[::-1]))
    for row in range(4):
        wanted = [one for one in whole.retriever[row] if one in some[row]][:2]
        assert closed.retriever[row].tolist() == wanted
        assert set(closed.guide[row]) <= set(some[::-1][row])


def test_half_precision_is_of_the_passages_of_a_trained_network() -> None:
    texts = ["cats chase mice", "dogs chase cats", "the stock fell", "shares rose again"]
    contexts = [GroundedContext(str(n), text, text) for n, text in enumerate(texts)]
    parts = {"train": np.arange(4), "validation": np.arange(0), "test": np.arange(0)}
    problem = Problem(contexts, parts, [str(n) for n in range(4)], texts[::-1], {})
    recipe = RetrieverRecipe(network="trained", adapter="none", towers="shared")
    device = torch.device("cpu")
    model, data = assemble(recipe, GuideRecipe(), Path(), problem, Lexical(), None, 0, device)
    single, half = (
        closed_sets(model, data, CONTEXTS, 4, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    assert np.array_equal(single.retriever[:, 0], [3, 2, 1, 0])
    assert np.array_equal(half.retriever[:, 0], [3, 2, 1, 0])
    difference = np.sort(half.retriever_scores) - np.sort(single.retriever_scores)
    assert 0 < np.abs(difference).max() < 0.02 * model.retriever.log_scale.exp()
    frozen, data = bed(several=True, vectors="tokens")
    wanted, found = (
        closed_sets(frozen, data, CONTEXTS, 4, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    assert np.array_equal(found.retriever_scores, wanted.retriever_scores)


def test_a_prior_is_added_to_the_guide() -> None:
    model, data = bed()
    plain = model.compute(data, CONTEXTS, ALL)
    model.add_prior = True
    both = model.compute(data, CONTEXTS, ALL)
    assert torch.allclose(both.guide, plain.guide + plain.retriever)
    closed = closed_sets(model, data, CONTEXTS, 6)
    taken = np.take_along_axis(both.guide.detach().numpy(), closed.guide, 1)
    assert np.allclose(closed.guide_scores, taken, atol=1e-5)
    assert (np.diff(closed.guide_scores) <= 0).all()


@pytest.mark.parametrize("are_some", [False, True])
def test_the_guides_list_is_the_best_of_the_sum_with_a_prior(are_some) -> None:
    """Not the guide's own best, ordered anew: those can be others."""
    model, data = bed(several=True, vectors="tokens")
    whole = closed_sets(model, data, CONTEXTS, 2)
    model.add_prior = True
    each = model.compute(data, CONTEXTS, ALL)
    some = np.array([[0, 3, 5], [1, 2, 4], [5, 4, 3], [2, 0, 1]]) if are_some else ALL
    candidates = (some[::-1], some) if are_some else None
    closed = closed_sets(model, data, CONTEXTS, 2, candidates=candidates)
    summed = np.take_along_axis(each.guide.detach().numpy(), some, 1)
    best = np.take_along_axis(some, np.argsort(-summed, axis=1)[:, :2], 1)
    assert np.array_equal(closed.guide, best)
    assert np.allclose(closed.guide_scores, -np.sort(-summed, axis=1)[:, :2], atol=1e-5)
    assert are_some or (np.sort(whole.guide) != np.sort(closed.guide)).any()


@pytest.mark.parametrize("add_prior", [False, True])
@pytest.mark.parametrize("are_some", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_passages_part_by_part_give_the_same_closed_sets(several, are_some, add_prior) -> None:
    model, data = bed(several=several, vectors="tokens" if several else "one")
    model.add_prior = add_prior
    some = np.array([[0, 3, 5], [1, 2, 4], [5, 4, 3], [2, 0, 1]])
    candidates = (some[::-1], some) if are_some else None
    for depth in (1, 2, 6):
        whole = closed_sets(model, data, CONTEXTS, depth, candidates=candidates)
        for sizes in ({"part": 1}, {"part": 2}, {"part": 2, "block": 2}, {"size": 1}, {"size": 3}):
            sizes = {"block": 1, **sizes}
            parts = closed_sets(model, data, CONTEXTS, depth, candidates=candidates, **sizes)
            for name, values in vars(whole).items():
                found = getattr(parts, name)
                assert values.dtype == found.dtype
                if name.endswith("scores"):
                    assert np.allclose(found, values, rtol=1e-6, atol=1e-6)
                else:
                    assert np.array_equal(found, values)


@pytest.mark.parametrize("add_prior", [False, True])
@pytest.mark.parametrize("are_some", [False, True])
def test_a_guide_that_is_the_retriever_still_encodes_nothing(are_some, add_prior) -> None:
    """As long as both have the same weights; its queries are its own."""
    model, data = bed(several=True, vectors="tokens")
    some = np.array([[0, 3, 5], [1, 2, 4], [5, 4, 3], [2, 0, 1]])
    candidates = (some, some[::-1]) if are_some else None
    model.guide.load_state_dict(model.retriever.state_dict())
    model.add_prior = add_prior
    apart = copy.copy(data.guide_passages)  # other passages, as far as it knows
    wanted = closed_sets(
        model, replace(data, guide_passages=apart), CONTEXTS, 2, candidates=candidates
    )
    found = closed_sets(model, data, CONTEXTS, 2, candidates=candidates)
    for name, values in vars(wanted).items():
        assert np.allclose(getattr(found, name), values)
    assert (found.retriever != found.guide).any()
    assert [*ClosedRequest(model, data, CONTEXTS, 2, candidates).passages] == ["retriever"]
    with torch.no_grad():
        model.guide.adapters["document"].weight += 0.01
    assert [*ClosedRequest(model, data, CONTEXTS, 2, candidates).passages] == ["retriever", "guide"]


def test_a_frozen_guide_with_a_prior_gives_no_gradient() -> None:
    model, data = bed()
    model.add_prior = True
    sampled = np.array([[0, 1], [2, 3], [4, 5], [1, 2]])
    loss = 4 * _phase(model, data, recipe("kl")).loss(model, batch_of(sampled))
    both, again = (model.compute(data, CONTEXTS, sampled) for _ in range(2))
    fixed = loss_of("kl", Computed(both.retriever, both.guide.detach())).sum()
    through = loss_of("kl", again).sum()
    weight = model.retriever.adapters["query"].weight
    found, wanted, other = (torch.autograd.grad(one, weight)[0] for one in (loss, fixed, through))
    assert torch.equal(found, wanted)
    assert not torch.allclose(found, other)


def test_no_gradient_goes_through_the_choice_of_passages() -> None:
    """R is fixed: the gradient is that of the loss over these passages, whoever drew them."""
    model, data = bed()
    sampled = np.array([[0, 1], [2, 3], [4, 5], [1, 2]])
    phase = _phase(model, data, PhaseRecipe())
    loss = 4 * phase.loss(model, batch_of(sampled))
    direct = loss_of("elbo", model.compute(data, CONTEXTS, sampled)).sum()
    parameters = [one for one in model.parameters() if one.requires_grad]
    for one, other in zip(
        torch.autograd.grad(loss, parameters), torch.autograd.grad(direct, parameters), strict=True
    ):
        assert torch.equal(one, other)


def batch_of(sampled) -> dict[str, torch.Tensor]:
    return {"contexts": torch.from_numpy(CONTEXTS), "passages": torch.from_numpy(sampled)}


def _phase(model, data, recipe: PhaseRecipe) -> Phase:
    closed = closed_sets(model, data, CONTEXTS, 5)
    rows = {"training": slice(0, 3), "held_out": slice(3, 4)}
    parts = {
        name: ClosedSets(*(values[some] for values in vars(closed).values()))
        for name, some in rows.items()
    }
    return Phase(model, data, parts["training"], parts["held_out"], recipe, 6)


def recipe(loss: str = "elbo", **training) -> PhaseRecipe:
    settings = {"epochs": 4, "batch_size": 2, "learning_rate": 0.05, "patience": None, **training}
    sample = {"k": 3, "sampler": "mixture", "alpha": 0.5}
    return PhaseRecipe.model_validate({"loss": loss, "sample": sample, "training": settings})


@pytest.mark.parametrize(
    ("loss", "moved"),
    [
        ("elbo", {"retriever", "guide", "generator"}),
        ("marginal", {"retriever", "generator"}),
        ("kl", {"retriever"}),
        ("reconstruction", {"generator"}),
    ],
)
def test_frozen_parts_do_not_change_by_a_bit(loss, moved, tmp_path) -> None:
    model, data = bed()
    before = weights_of(model)
    train_phase(_phase(model, data, recipe(loss)), tmp_path)
    changed = {
        name.partition(".")[0]
        for name, values in weights_of(model).items()
        if not torch.equal(values, before[name])
    }
    assert changed == moved


def test_rates_and_frozen_weights_of_a_phase(tmp_path) -> None:
    model, data = bed()
    before = weights_of(model)
    groups = [{"match": "guide.*", "learning_rate": 1e-9}]
    train_phase(
        _phase(model, data, recipe(freeze="generator.*", parameter_groups=groups)), tmp_path
    )
    after = weights_of(model)
    assert torch.equal(after["generator.logit"], before["generator.logit"])
    name = "adapters.query.weight"
    guide, retriever = (
        float((after[f"{part}.{name}"] - before[f"{part}.{name}"]).abs().max())
        for part in ("guide", "retriever")
    )
    assert 0 < guide < 1e-6 < retriever


def test_samples_are_new_in_each_epoch_and_the_same_again() -> None:
    model, data = bed()
    phase = _phase(model, data, recipe())

    def drawn(epoch):
        batches = phase.batches(phase.train, epoch)
        return [phase.collate([phase.train[n] for n in some.tolist()]) for some in batches]

    first, again, second = drawn(0), drawn(0), drawn(1)
    assert [len(batch["contexts"]) for batch in first] == [2, 1]
    pairs = list(zip(first, again, strict=True))
    assert all(torch.equal(a["passages"], b["passages"]) for a, b in pairs)
    passages = [torch.cat([batch["passages"] for batch in some]) for some in (first, second)]
    assert passages[0].tolist() != passages[1].tolist()


def test_a_killed_phase_ends_with_the_same_weights(tmp_path: Path, monkeypatch) -> None:
    whole, data = bed()
    train_phase(_phase(whole, data, recipe()), tmp_path / "whole")

    monkeypatch.setattr("adducir.training.run.CHECKPOINT_SECONDS", 0.0)
    killed, data = bed()

    class Killing(Progress):
        steps = 0

        def advance(self, count: int = 1) -> None:
            Killing.steps += 1
            if Killing.steps == 5:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Killing():
        train_phase(_phase(killed, data, recipe()), tmp_path / "killed")
    other, data = bed()
    train_phase(_phase(other, data, recipe()), tmp_path / "killed")
    weights = weights_of(whole)
    assert all(torch.equal(values, weights[name]) for name, values in weights_of(other).items())


def test_the_parts_of_the_bound_are_measured() -> None:
    model, data = bed()
    found = _phase(model, data, recipe()).measure()
    assert found["kl"] >= 0
    assert found["elbo"] == pytest.approx(found["reconstruction"] + found["kl"], abs=1e-9)
    assert found["elbo"] >= found["marginal"]
