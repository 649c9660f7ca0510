"""The score and the losses of complementary evidence, against values worked out by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import UsageError
from adducir.studies.complementary_evidence.selectors.losses import (
    compactness_loss,
    complementary_loss,
    diversity_loss,
    relevance_loss,
)
from adducir.studies.complementary_evidence.selectors.scoring import Weights, distances, set_scores

SQRT2 = math.sqrt(2)


def f64(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def plain_score(relevance, vectors, question, weights: Weights) -> float:
    """Equation 8 on lists."""
    vectors = [np.asarray(v, dtype=float) for v in vectors]
    total = sum(vectors)
    lengths = np.linalg.norm(total) * np.linalg.norm(question)
    score = sum(relevance) + weights.compactness * float(total @ np.asarray(question)) / lengths
    for i in range(len(vectors)):
        for j in range(i):
            one, two = (v / np.linalg.norm(v) for v in (vectors[i], vectors[j]))
            score += weights.diversity * np.abs(one - two).sum() / (2 * math.sqrt(len(one)))
    return score


def test_distances_by_hand() -> None:
    # In two dimensions the greatest L1 distance of unit vectors is 2 sqrt(2): (1, 1) and (-1, -1).
    found = distances(f64([[3, 0], [0, 5], [-1, 0], [2, 2], [-4, -4]]))
    assert found[0, 1].item() == pytest.approx(2 / (2 * SQRT2))
    assert found[0, 2].item() == pytest.approx(2 / (2 * SQRT2))
    assert found[3, 4].item() == pytest.approx(1)
    assert found[0, 3].item() == pytest.approx((1 - 1 / SQRT2 + 1 / SQRT2) / (2 * SQRT2))
    assert torch.equal(found, found.T)
    assert found.diagonal().abs().max().item() == 0


@given(st.integers(1, 40), st.integers(0, 10_000))
def test_distances_are_bounded_and_know_no_length(d: int, seed: int) -> None:
    vectors = torch.randn(6, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found = distances(vectors)
    assert 0 <= found.min() <= found.max() <= 1 + 1e-12
    assert torch.allclose(found, distances(vectors * torch.arange(1, 7)[:, None]))


def test_the_distance_is_half_of_the_mean_difference_at_unit_variance() -> None:
    vectors = torch.randn(2, 768, dtype=torch.float64)
    vectors /= vectors.square().mean(-1, keepdim=True).sqrt()
    peer = torch.nn.L1Loss()(vectors[0], vectors[1]).item()
    assert distances(vectors)[0, 1].item() == pytest.approx(peer / 2)


def test_half_precision_is_raised() -> None:
    assert distances(torch.randn(3, 8).to(torch.bfloat16)).dtype == torch.float32


def test_a_score_by_hand() -> None:
    # Sum (3, 4), question (1, 0): cosine .6; distance of the axes 1 / sqrt(2).
    vectors, question = f64([[3, 0], [0, 4]]), f64([1, 0])
    found = set_scores(f64([0.9, 0.4]), vectors, question, Weights(0.5, 2.0))
    assert found.item() == pytest.approx(1.3 + 2 * 0.6 + 0.5 / SQRT2)


def test_pairs_count_once_and_padding_nothing() -> None:
    vectors = [[1.0, 2, 3], [0, 1, -1], [2, 0, 1]]
    relevance, question, weights = [0.2, 0.5, 0.7], [1.0, 1, 0], Weights(0.3, 0.7)
    wanted = plain_score(relevance, vectors, question, weights)
    garbage = [math.nan, math.inf, -math.inf]
    found = set_scores(
        f64([[*relevance, math.nan]]),
        f64([[*vectors, garbage]]),
        f64([question]),
        weights,
        torch.tensor([[True, True, True, False]]),
    )
    assert found.tolist() == pytest.approx([wanted])
    nothing = set_scores(f64([0.5]), f64([[1, 1]]), f64([1, 0]), weights, torch.tensor([False]))
    assert nothing.item() == 0


@pytest.mark.parametrize("value", [-1, math.nan, math.inf])
def test_weights_must_be_numbers(value: float) -> None:
    with pytest.raises(UsageError, match="diversity"):
        Weights(diversity=value)


# One question, four passages of which the first two are true, two labelled sets.
LOGITS = f64([[0.0, math.log(3), -math.log(3), 0.0]])
VECTORS = f64([[[3, 0], [0, 4], [0, -1], [-1, 0]]])
QUESTION = f64([[1, 0]])
RELEVANT = torch.tensor([[True, True, False, False]])
MASK = torch.ones(1, 4, dtype=torch.bool)
SETS = torch.tensor([[[0, 1], [0, 2], [2, 3]]])
LABELS = torch.tensor([[True, False, False]])


def test_the_relevance_loss_by_hand() -> None:
    # P = 1/2, 3/4 for the true, 1/4, 1/2 for the others.
    wanted = -math.log(0.5) - math.log(0.75) - math.log(0.75) - math.log(0.5)
    assert relevance_loss(LOGITS, RELEVANT, MASK).tolist() == pytest.approx([wanted])


def test_the_diversity_loss_by_hand() -> None:
    assert diversity_loss(VECTORS, RELEVANT, MASK).tolist() == pytest.approx([1 - 1 / SQRT2])
    three = torch.tensor([[True, True, True, False]])
    # (1, 0) and (0, 1), (1, 0) and (0, -1), (0, 1) and (0, -1): 2 / (2 sqrt 2) each.
    assert diversity_loss(VECTORS, three, MASK).tolist() == pytest.approx([3 * (1 - 1 / SQRT2)])
    alone = torch.tensor([[True, False, False, False]])
    assert diversity_loss(VECTORS, alone, MASK).tolist() == [0]


def test_the_compactness_loss_by_hand() -> None:
    # Sums (3, 4), (3, -1), (-1, -1): cosines .6, 3 / sqrt(10), below 0.
    wanted = (1 - 0.6) + (3 / math.sqrt(10) - 0.25) + 0
    found = compactness_loss(VECTORS, QUESTION, MASK, SETS, LABELS, 0.25)
    assert found.tolist() == pytest.approx([wanted])


def test_the_compactness_loss_is_pytorchs_cosine_embedding_loss() -> None:
    generator = torch.Generator().manual_seed(3)
    vectors = torch.randn(2, 6, 16, generator=generator, dtype=torch.float64)
    question = torch.randn(2, 16, generator=generator, dtype=torch.float64)
    sets = torch.tensor([[[0, 1, 2], [3, 4, -1]], [[5, 0, -1], [1, 2, 4]]])
    labels = torch.tensor([[True, False], [False, False]])
    mask = torch.ones(2, 6, dtype=torch.bool)
    found = compactness_loss(vectors, question, mask, sets, labels, 0.05)
    peer = torch.nn.CosineEmbeddingLoss(margin=0.05, reduction="none")
    for q in range(2):
        sums = torch.stack([vectors[q, [m for m in one if m >= 0]].sum(0) for one in sets[q]])
        target = labels[q].to(torch.float64) * 2 - 1
        wanted = peer(question[q].expand(2, -1), sums, target).sum()
        assert found[q].item() == pytest.approx(wanted.item())


def test_the_total_weights_the_terms_and_averages_questions() -> None:
    weights = Weights(diversity=0.5, compactness=2.0)
    terms = complementary_loss(
        LOGITS, VECTORS, QUESTION, RELEVANT, MASK, SETS, LABELS, weights, 0.25
    )
    parts = [one.item() for one in terms[1:]]
    assert terms.total.item() == pytest.approx(parts[0] + 0.5 * parts[1] + 2 * parts[2])
    both = [part.repeat(2, *[1] * (part.dim() - 1)) for part in (LOGITS, VECTORS, QUESTION)]
    rest = [part.repeat(2, *[1] * (part.dim() - 1)) for part in (RELEVANT, MASK, SETS, LABELS)]
    twice = complementary_loss(*both, *rest, weights, 0.25)
    assert [a.item() for a in twice] == pytest.approx([a.item() for a in terms])


def test_padding_changes_neither_loss_nor_gradients() -> None:
    def run(extra: int):
        logits = torch.cat([LOGITS, torch.full((1, extra), math.nan)], 1).requires_grad_()
        vectors = torch.cat([VECTORS, torch.full((1, extra, 2), math.inf)], 1).requires_grad_()
        question = QUESTION.clone().requires_grad_()
        pad = torch.zeros(1, extra, dtype=torch.bool)
        sets = torch.full((1, 3 + extra, 2 + extra), -1)
        sets[:, :3, :2] = SETS
        terms = complementary_loss(
            logits,
            vectors,
            question,
            torch.cat([RELEVANT, ~pad], 1),  # labels of padding do not count
            torch.cat([MASK, pad], 1),
            sets,
            torch.cat([LABELS, ~pad], 1),
            Weights(0.5, 2.0),
            0.25,
        )
        terms.total.backward()
        grads = logits.grad, vectors.grad, question.grad
        return terms, grads

    plain, plain_grads = run(0)
    padded, padded_grads = run(3)
    assert [a.item() for a in padded] == pytest.approx([a.item() for a in plain])
    for one, two in zip(plain_grads, padded_grads, strict=True):
        assert torch.allclose(one, two[:, : one.shape[1]])
        assert not two[:, one.shape[1] :].any()


def test_each_term_moves_the_vectors_as_it_should() -> None:
    """A step down the gradient of each term makes what it asks for more so."""

    def stepped(diversity: float, compactness: float):
        vectors = f64([[[3, 1], [2, 1.5], [1, -1]]]).requires_grad_()
        question = f64([[-1, 1]])
        terms = complementary_loss(
            torch.zeros(1, 3, dtype=torch.float64),
            vectors,
            question,
            torch.tensor([[True, True, False]]),
            torch.ones(1, 3, dtype=torch.bool),
            torch.tensor([[[0, 1]]]),
            torch.tensor([[True]]),
            Weights(diversity, compactness),
        )
        if not (diversity or compactness):
            return vectors.detach(), question
        terms.total.backward()
        return vectors.detach() - 0.01 * vectors.grad, question

    def apart(vectors):
        return distances(vectors)[0, 0, 1].item()

    def cosine(vectors, question):
        return torch.cosine_similarity(vectors[:, :2].sum(1), question).item()

    start, question = stepped(0, 0)
    assert apart(stepped(1, 0)[0]) > apart(start)
    assert cosine(stepped(0, 1)[0], question) > cosine(start, question)
    assert torch.equal(stepped(1, 0)[0][:, 2], start[:, 2])  # the false passage is left alone


def test_gradients_are_those_of_finite_differences() -> None:
    generator = torch.Generator().manual_seed(5)

    def random(*shape):
        values = torch.randn(*shape, generator=generator, dtype=torch.float64)
        return values.requires_grad_()

    mask = torch.tensor([[True, True, True, True], [True, True, True, False]])
    relevant = torch.tensor([[True, True, False, True], [True, True, False, False]])
    sets = torch.tensor([[[0, 1], [2, 3]], [[1, 0], [-1, -1]]])
    labels = torch.tensor([[True, False], [True, False]])

    def loss(logits, vectors, question):
        return complementary_loss(
            logits, vectors, question, relevant, mask, sets, labels, Weights(0.7, 1.3), -0.9
        ).total

    inputs = random(2, 4), random(2, 4, 5), random(2, 5)
    assert torch.autograd.gradcheck(loss, inputs)


def test_training_makes_the_true_set_the_best() -> None:
    """From random vectors, all gold sets win by the score after some steps of the whole loss."""
    torch.manual_seed(0)
    vectors = torch.randn(8, 6, 16, requires_grad=True)
    logits = torch.zeros(8, 6, requires_grad=True)
    question = torch.randn(8, 16)
    relevant = torch.zeros(8, 6, dtype=torch.bool)
    relevant[:, 2:4] = True
    mask = torch.ones_like(relevant)
    pairs = torch.combinations(torch.arange(6))
    sets, labels = pairs.expand(8, -1, -1), (pairs == torch.tensor([2, 3])).all(1).expand(8, -1)
    optimiser = torch.optim.Adam([vectors, logits], lr=0.05)
    losses = []
    for _ in range(60):
        terms = complementary_loss(
            logits, vectors, question, relevant, mask, sets, labels, Weights(1, 1)
        )
        optimiser.zero_grad()
        terms.total.backward()
        optimiser.step()
        losses.append(terms.total.item())
    assert losses[-1] < losses[0] / 4
    with torch.no_grad():
        scores = set_scores(
            logits.sigmoid()[:, pairs], vectors[:, pairs], question[:, None], Weights(1, 1)
        )
    assert pairs[scores.argmax(1)].tolist() == [[2, 3]] * 8
