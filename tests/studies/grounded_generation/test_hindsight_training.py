"""Model, closed sets and phases on a small bed: brute force, frozen parts."""

import copy
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from adducir.core.chunks import make_chunks
from adducir.encoders.ranking import MultiVectors
from adducir.studies.grounded_generation.experiment.data import Problem
from adducir.studies.grounded_generation.experiment.making import NumberedWork, Parts
from adducir.studies.grounded_generation.generators.generator import Lexical
from adducir.studies.grounded_generation.generators.kinds import GENERATORS
from adducir.studies.grounded_generation.hindsight import closed
from adducir.studies.grounded_generation.hindsight.closed import ClosedRequest, ClosedSets
from adducir.studies.grounded_generation.hindsight.model import Data, Hindsight, Kept, Scorer
from adducir.studies.grounded_generation.hindsight.recipe import (
    ClosedRecipe,
    GuideRecipe,
    PhaseRecipe,
    TowersRecipe,
)
from adducir.studies.grounded_generation.hindsight.training import Phase, loss_of
from adducir.studies.grounded_generation.texts import GroundedContext

PASSAGES = ["cats run fast", "cats sleep", "dogs run", "dogs bark at cats", "birds sing", "mice"]
TARGETS = ["cats run", "dogs bark", "birds", "mice sleep"]
WIDTH = 5


def vectors(counts: list[int], seed: int) -> Kept:
    draw = np.random.default_rng(seed)
    parts = [draw.normal(size=(count, WIDTH)) for count in counts]
    starts = np.cumsum([0, *counts])
    return Kept(MultiVectors(np.concatenate(parts), starts), torch.device("cpu"))


def bed(*, several: bool = False, **recipe) -> tuple[Hindsight, Data]:
    """A model whose guide is not its retriever, and what it reads; all in float64."""
    torch.manual_seed(11)
    settings = TowersRecipe(**{"adapter": "full", "scale": 2.0, "train_scale": True, **recipe})
    parts = [Scorer(settings, WIDTH, None).double() for _ in range(2)]
    with torch.no_grad():
        for parameter in (one for part in parts for one in part.parameters()):
            parameter += torch.randn_like(parameter) * 0.1
    model = Hindsight(parts[0], Lexical(0.4).double(), parts[1])
    counts = [[2, 3, 1, 4], [3, 2, 2, 1], [3, 1, 2, 4, 1, 2]] if several else [[1] * 4] * 2
    counts = counts if several else [*counts, [1] * 6]
    passages = vectors(counts[2], 3)
    texts = model.generator.read([""] * 4, TARGETS, PASSAGES)
    data = Data(vectors(counts[0], 1), vectors(counts[1], 2), passages, passages, texts)
    return model, data


def request(model, data, contexts, depth, *, candidates=None, precision="float32") -> ClosedRequest:
    some = candidates and closed.Candidates(*candidates)
    recipe = ClosedRecipe(depth=depth, precision=precision)
    return ClosedRequest(model, data, contexts, recipe, some)


def closed_sets(*given, **more):
    own = request(*given, **more)
    with TemporaryDirectory() as folder:

        def chunks(name, count, size, load, compute):
            work = NumberedWork(
                name=name, key="", count=count, size=size, source=load, compute=compute
            )
            return make_chunks(work, Path(folder) / name).files

        return closed.closed_sets(lambda device: own, torch.device("cpu"), chunks)


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
    model, data = bed(several=several, vectors="colbert" if several else "one")
    parameters = [one for one in model.parameters() if one.requires_grad]
    ours = loss_of(name, model.compute(data, CONTEXTS, ALL)).sum()
    found = torch.autograd.grad(ours, parameters, allow_unused=True, materialize_grads=True)

    p = brute_scores(model.retriever, data.inputs, data.retriever_passages).softmax(-1)
    q = brute_scores(model.guide, data.hindsight, data.guide_passages).softmax(-1)
    share, names = model.generator.logit.sigmoid(), [*data.texts.words, ""]
    cut, targets = [one.split() for one in PASSAGES], data.texts.targets
    counts = [[[one.count(names[w]) / len(one) for w in row] for one in cut] for row in targets]
    inside = torch.tensor(counts, dtype=torch.float64)
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


def test_a_closed_set_of_all_passages_is_the_corpus_in_order() -> None:
    model, data = bed(several=True, vectors="colbert")
    made = closed_sets(model, data, CONTEXTS, 100)
    brute = brute_scores(model.retriever, data.inputs, data.retriever_passages).detach().numpy()
    assert np.array_equal(made.retriever, np.argsort(-brute, axis=1))
    assert np.allclose(made.retriever_scores, -np.sort(-brute, axis=1), atol=1e-5)
    over_sets = model.compute(data, CONTEXTS, made.retriever)["retriever"].softmax(-1)
    whole = torch.from_numpy(brute).softmax(-1).numpy()
    assert np.allclose(over_sets.detach(), np.take_along_axis(whole, made.retriever, 1))
    assert np.allclose(over_sets.detach().sum(-1), 1)


def test_candidates_are_those_that_are_scored() -> None:
    model, data = bed(several=True, vectors="colbert")
    whole = closed_sets(model, data, CONTEXTS, 6)
    some = np.array([[0, 3, 5], [1, 2, 4], [5, 4, 3], [2, 0, 1]])
    made = closed_sets(model, data, CONTEXTS, 2, candidates=(some, some[::-1]))
    for row in range(4):
        wanted = [one for one in whole.retriever[row] if one in some[row]][:2]
        assert made.retriever[row].tolist() == wanted
        assert set(made.guide[row]) <= set(some[::-1][row])


def test_half_precision_is_of_the_passages_of_a_trained_network() -> None:
    texts = ["cats chase mice", "dogs chase cats", "the stock fell", "shares rose again"]
    contexts = [GroundedContext(str(n), text, text) for n, text in enumerate(texts)]
    parts = {"train": np.arange(4), "validation": np.arange(0), "test": np.arange(0)}
    problem = Problem(contexts, parts, [str(n) for n in range(4)], texts[::-1], {})
    retriever = TowersRecipe(network="trained", adapter="none", towers="shared")
    generator = GENERATORS.make("lexical")
    study = SimpleNamespace(retriever=retriever, guide=GuideRecipe(), generator=generator)
    texts = SimpleNamespace(folder=Path(), problem=lambda: problem)
    model, data = Parts(study, texts).load(torch.device("cpu"))
    single, half = (
        closed_sets(model, data, CONTEXTS, 4, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    assert np.array_equal(single.retriever[:, 0], [3, 2, 1, 0])
    assert np.array_equal(half.retriever[:, 0], [3, 2, 1, 0])
    difference = np.sort(half.retriever_scores) - np.sort(single.retriever_scores)
    assert 0 < np.abs(difference).max() < 0.02 * model.retriever.log_scale.exp()
    frozen, data = bed(several=True, vectors="colbert")
    wanted, found = (
        closed_sets(frozen, data, CONTEXTS, 4, precision=precision)
        for precision in ("float32", "bfloat16")
    )
    assert np.array_equal(found.retriever_scores, wanted.retriever_scores)


@pytest.mark.parametrize("are_some", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_passages_part_by_part_give_the_same_closed_sets(several, are_some, monkeypatch) -> None:
    model, data = bed(several=several, vectors="colbert" if several else "one")
    some = np.array([[0, 3, 5], [1, 2, 4], [5, 4, 3], [2, 0, 1]])
    candidates = (some[::-1], some) if are_some else None
    for depth in (1, 2, 6):
        whole = closed_sets(model, data, CONTEXTS, depth, candidates=candidates)
        for block, contexts in ((1, 1), (2, 3)):
            with monkeypatch.context() as patch:
                patch.setattr(closed, "BLOCK", block)
                patch.setattr(closed, "CONTEXTS", contexts)
                parts = closed_sets(model, data, CONTEXTS, depth, candidates=candidates)
            for name, values in vars(whole).items():
                found = getattr(parts, name)
                assert values.dtype == found.dtype
                if name.endswith("scores"):
                    assert np.allclose(found, values, rtol=1e-6, atol=1e-6)
                else:
                    assert np.array_equal(found, values)


@pytest.mark.parametrize("are_some", [False, True])
def test_a_guide_that_is_the_retriever_still_encodes_nothing(are_some) -> None:
    """As long as both have the same weights; its queries are its own."""
    model, data = bed(several=True, vectors="colbert")
    some = np.array([[0, 3, 5], [1, 2, 4], [5, 4, 3], [2, 0, 1]])
    candidates = (some, some[::-1]) if are_some else None
    model.guide.load_state_dict(model.retriever.state_dict())
    apart = copy.deepcopy(data.guide_passages)  # other passages, as far as it knows
    wanted = closed_sets(
        model, replace(data, guide_passages=apart), CONTEXTS, 2, candidates=candidates
    )
    found = closed_sets(model, data, CONTEXTS, 2, candidates=candidates)
    for name, values in vars(wanted).items():
        assert np.allclose(getattr(found, name), values)
    assert (found.retriever != found.guide).any()
    given = model, data, CONTEXTS, 2
    assert [*request(*given, candidates=candidates).encoded] == ["retriever"]
    with torch.no_grad():
        model.guide.adapters["document"].weight += 0.01
    assert [*request(*given, candidates=candidates).encoded] == ["retriever", "guide"]


def _phase(model, data, recipe: PhaseRecipe) -> Phase:
    made = closed_sets(model, data, CONTEXTS, 5)
    rows = {"training": slice(0, 3), "held_out": slice(3, 4)}
    parts = {
        name: ClosedSets(*(values[some] for values in vars(made).values()))
        for name, some in rows.items()
    }
    return Phase(model, data, parts["training"], parts["held_out"], recipe)


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
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    phase = _phase(model, data, recipe(loss))
    phase.fit(tmp_path)
    phase.loss(model.train(), phase.collate([phase.train[0]]))
    assert {name for name, part in model.named_children() if part.training} == moved  # dropout
    changed = {
        name.partition(".")[0]
        for name, values in model.named_parameters()
        if not torch.equal(values, before[name])
    }
    assert changed == moved


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


def test_the_parts_of_the_bound_are_measured() -> None:
    model, data = bed()
    found = _phase(model, data, recipe()).measure()
    assert found["kl"] >= 0
    assert found["elbo"] == pytest.approx(found["reconstruction"] + found["kl"], abs=1e-9)
    assert found["elbo"] >= found["marginal"]
