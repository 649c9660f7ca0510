"""Losses of a matrix of scores: sentence-transformers' values, masks, and what is refused."""

import math

import pytest
import torch
from pydantic import ValidationError
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder import losses as of_pairs
from sentence_transformers.sentence_transformer import losses as of_vectors
from sentence_transformers.util import dot_score

from adducir.core.recipe import told
from adducir.training.losses import LOSSES, ScoredBatch
from adducir.training.matrix import CandidateFacts, MatrixLoss, packed
from adducir.training.retrievers import RetrieverRecipe

Q, N, D = 4, 3, 8
"""Queries, negatives of each, dimensions."""


@pytest.fixture(scope="module")
def vectors():
    draw = torch.Generator().manual_seed(3)
    queries, texts = (
        torch.nn.functional.normalize(
            torch.randn(*shape, D, generator=draw, dtype=torch.float64), dim=-1
        )
        for shape in ((Q,), (Q, 1 + N))
    )
    return queries, texts, torch.randn(Q, 1 + N, generator=draw, dtype=torch.float64) * 3


def known(teacher, texts=Q * (1 + N)):
    same = torch.arange(texts)
    row = torch.arange(Q).repeat_interleave(texts // Q)
    relevant = same.reshape(Q, -1)[:, :1]
    return CandidateFacts(row, same, teacher.flatten(), relevant, torch.arange(Q) + 100)


def ours(name, vectors, **settings):
    """The loss, and its gradient for the queries."""
    queries, texts, teacher = vectors
    queries = queries.clone().requires_grad_()
    loss = MatrixLoss(None, lambda q, t: q @ t.T, LOSSES.make(name, settings))
    value = loss.calculate_loss([[queries], [texts.flatten(0, 1)]], known(teacher))
    value.backward()
    return value.item(), queries.grad


def theirs(loss, vectors, labels=None):
    queries, texts, _ = vectors
    queries = queries.clone().requires_grad_()
    value = loss.compute_loss_from_embeddings([queries, *texts.unbind(1)], labels)
    value.backward()
    return value.item(), queries.grad


@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_in_batch_negatives_are_those_of_sentence_transformers(vectors, temperature):
    scale = 1 / temperature
    plain = of_vectors.MultipleNegativesRankingLoss(None, scale, dot_score)
    value, gradient = ours("in-batch-negatives", vectors, temperature=temperature)
    wanted, of_queries = theirs(plain, vectors)
    assert value == pytest.approx(wanted, abs=1e-6)
    torch.testing.assert_close(gradient, of_queries, atol=1e-6, rtol=0)
    queries, texts, _ = vectors
    cached = of_vectors.CachedMultipleNegativesRankingLoss([None], scale, dot_score)
    pieces = [[queries[:1], queries[1:]], *([text] for text in texts.unbind(1))]
    assert value == pytest.approx(float(cached.calculate_loss(pieces)), abs=1e-6)


def test_distillation_is_that_of_sentence_transformers(vectors):
    teacher = vectors[2]
    for name, loss, settings in (
        ("margin-mse", of_vectors.MarginMSELoss(None), {}),
        ("kl-divergence", of_vectors.DistillKLDivLoss(None), {}),
        (
            "kl-divergence",
            of_vectors.DistillKLDivLoss(None, student_temperature=2.0, teacher_temperature=3.0),
            {"temperature": 2.0, "teacher_temperature": 3.0},
        ),
    ):
        value, gradient = ours(name, vectors, **settings)
        wanted, of_queries = theirs(loss, vectors, teacher)
        assert value == pytest.approx(wanted, abs=1e-6)
        torch.testing.assert_close(gradient, of_queries, atol=1e-6, rtol=0)


class Scores(CrossEncoder):
    """A cross-encoder that looks its logits up."""

    num_labels, device = 1, torch.device("cpu")

    def __init__(self, logits):
        torch.nn.Module.__init__(self)
        self.logits = logits

    def preprocess(self, pairs, **_):
        return {"places": torch.tensor([text for _, text in pairs])}

    def forward(self, features, **_):
        return {"scores": self.logits[features["places"]][:, None]}


def test_losses_of_lists_are_those_of_sentence_transformers_cross_encoders(vectors):
    logits, teacher = (vectors[0][:, None] * vectors[1]).sum(-1).float(), vectors[2].float()
    everything = torch.ones_like(logits, dtype=torch.bool)
    batch = ScoredBatch(logits, torch.zeros(Q, dtype=torch.long), everything, ~everything)
    model, places = Scores(logits.flatten()), torch.arange(Q * (1 + N)).reshape(Q, -1)
    grades = batch.is_positive.float()
    columns = [["q"] * Q, *places.T.tolist()]
    lists = [["q"] * Q, places.tolist()]
    pairs = [["q"] * places.numel(), places.flatten().tolist()]
    taught = ScoredBatch(logits, batch.positive, everything, ~everything, teacher)
    for name, of, wanted in (
        ("pairwise", batch, of_pairs.RankNetLoss(model)(lists, list(grades))),
        ("pairwise", taught, of_pairs.RankNetLoss(model)(lists, list(teacher))),
        ("margin-mse", taught, of_pairs.MarginMSELoss(model)(columns, teacher)),
        (
            "binary-cross-entropy",
            batch,
            of_pairs.BinaryCrossEntropyLoss(model)(pairs, grades.flatten()),
        ),
    ):
        assert float(LOSSES.make(name)(of)) == pytest.approx(float(wanted), abs=1e-6), name
    # Theirs softens labels; a label that is certain is the query's positive.
    certain = of_pairs.ListNetLoss(model)(lists, list(grades * 1e4))
    assert float(LOSSES.make("cross-entropy")(batch)) == pytest.approx(float(certain), abs=1e-6)


def test_lists_of_different_lengths_have_no_part_in_each_other(vectors):
    logits, teacher = torch.arange(8.0).reshape(2, 4), vectors[2].float()[:2]
    own = torch.tensor([[True] * 4, [True, True, False, False]])
    batch = ScoredBatch(logits, torch.zeros(2, dtype=torch.long), own, ~own & own, teacher)
    for name in ("cross-entropy", "binary-cross-entropy", "pairwise", "margin-mse"):
        loss = LOSSES.make(name)
        changed = torch.where(own, logits, 99.0)
        other = ScoredBatch(changed, batch.positive, own, batch.false, teacher)
        assert float(loss(batch)) == float(loss(other)), name


def test_a_silent_teacher_teaches_nothing(vectors):
    logits = vectors[2].float().requires_grad_()
    everything = torch.ones_like(logits, dtype=torch.bool)
    some = logits.detach() * 2
    some[0], some[1, 2] = torch.nan, torch.nan
    for name in ("margin-mse", "kl-divergence", "pairwise"):
        for teacher in (some, some * torch.nan):
            batch = ScoredBatch(
                logits, torch.zeros(Q, dtype=torch.long), everything, ~everything, teacher
            )
            logits.grad = None
            loss = LOSSES.make(name)(batch)
            loss.backward()
            assert math.isfinite(loss.item())
            assert (logits.grad[0] == 0).all()
            assert logits.grad[1, 2] == 0
            assert bool(logits.grad.any()) == (teacher is some)


def row(query, texts, positives=1):
    numbers = [hash(text) for text in texts]
    return {
        "query": torch.tensor([7]).numpy(),
        "texts": torch.arange(2 * len(texts)).numpy(),
        "lengths": [2] * len(texts),
        "same": torch.tensor(numbers).numpy(),
        "positives": positives,
        "scores": (),
        "asks": hash(query),
        "group": 0,
    }


def test_known_relevant_texts_are_no_negatives():
    """Of other queries of the batch: a positive, by its text, and what equal queries have."""
    rows = [row("q", ["a", "n"]), row("q", ["b", "a"]), row("r", ["c", "n", "b"], positives=2)]
    _, texts, fields = packed(rows, 4, 0, None)
    false, loss = [], MatrixLoss(None, lambda q, t: q @ t.T, LOSSES.make("in-batch-negatives"))

    class Seen:
        in_batch = True

        def __call__(self, batch):
            false.extend(batch.false.int().tolist())
            return batch.scores.sum()

    loss.loss = Seen()
    vectors = [[torch.zeros(3, 2)], [torch.zeros(len(texts), 2)]]
    loss.calculate_loss(vectors, CandidateFacts.of(fields))
    # Columns: a n | b a | c b; n of the third is its second positive.
    assert false == [[0, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 1], [0, 1, 0, 0, 0, 0]]


def test_what_is_drawn_depends_on_the_epoch_alone():
    texts = [f"t{n}" for n in range(12)]
    rows = [row("q", texts, positives=3)]
    seen = [packed(rows, 2, 5, epoch)[2]["same"].tolist() for epoch in (0, 0, 1, 2, None)]
    assert seen[0] == seen[1]
    assert len({tuple(some) for some in seen[1:4]}) > 1
    assert seen[4] == [hash("t0"), hash("t3"), hash("t4")]
    for some in seen:
        assert some[0] in map(hash, texts[:3])
        assert {*some[1:]} <= {*map(hash, texts[3:])}
        assert len({*some}) == 3


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("hinge", "unknown kind of loss"),
        ({"kind": "pairwise", "margin": 1}, "margin"),
        ({"kind": "pairwise", "temperature": 0}, "temperature"),
        ({"temperature": 1}, "kind"),
    ],
)
def test_losses_that_cannot_be(value, message):
    with pytest.raises(ValidationError) as caught:
        RetrieverRecipe.model_validate({"loss": value})
    assert message in told(caught.value)


def test_a_loss_is_stated_in_full():
    recipe = RetrieverRecipe.model_validate({"loss": {"kind": "kl-divergence", "temperature": 2}})
    stated = recipe.model_dump(mode="json")["loss"]
    assert stated == {"kind": "kl-divergence", "temperature": 2.0, "teacher_temperature": 1.0}
    assert RetrieverRecipe.model_validate({"loss": stated}) == recipe
