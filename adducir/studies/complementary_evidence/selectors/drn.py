"""DRN with BERT: the most relevant passage first, then the most novel ones.

After Mou et al. (2020, section 3.2), who compare with DRN (Harel et al., 2019): of two separate
models one finds the most relevant evidence to the question, the other scores how much a second
passage adds to the first; BERT takes the place of the LSTM. Unlike the complementary model it reads
questions and passages apart, has no term for sets, and its passages do not know of the question.

Harel et al. score questions and answers by an extension of a neural tensor network. Here relevance
is such a network over (q, p), and novelty one over (p1, p2) with q as a further linear term::

    s(a, b; c) = u . tanh(a' W b + V [a; b; c] + v) + w

with ``slices`` slices of W. DRN was built for unlabelled answers and samples its training data;
here the labels train it: relevance learns as the relevance-only ranker does, novelty learns, for
each true passage as the first, that the other true passages add to it, and that all others, the
first itself among them, do not. The first passage is the one with the greatest P(p|q); the next is
the one with the greatest (1 - w) P(p|q) + w times its least novelty towards those taken.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from adducir.models.loading import load_tokenizer
from adducir.models.machine import seed_of
from adducir.models.sources import ModelSource
from adducir.studies.complementary_evidence.questions import EvidenceQuestion, SelectedSet
from adducir.studies.complementary_evidence.selectors.losses import relevance_loss
from adducir.studies.complementary_evidence.selectors.model import (
    HEAD_FILE,
    EvidenceModel,
    load_head,
    vectors_of,
)
from adducir.studies.complementary_evidence.selectors.network import Vectoriser
from adducir.studies.complementary_evidence.selectors.reading import EncodedQuestion
from adducir.studies.complementary_evidence.selectors.settings import DRNSelection, Settings

NOVELTY = "novelty"
PARTS = ("relevance", NOVELTY)
"""The folders of the two models."""


class DRNStates(NamedTuple):
    """What the two networks make of a batch of questions.

    Attributes:
        relevance: (Q, K) logits of P(p|q).
        novelty: (Q, K, K) logits: how much the second passage adds to the first.
        mask: (Q, K) bool, True at passages.
    """

    relevance: Tensor
    novelty: Tensor
    mask: Tensor


class TensorNetwork(torch.nn.Module):
    """A neural tensor network over two vectors, with a third in its linear part."""

    def __init__(self, width: int, slices: int, *, third: bool) -> None:
        super().__init__()
        self.bilinear = torch.nn.Parameter(torch.empty(slices, width, width))
        self.linear = torch.nn.Linear((3 if third else 2) * width, slices)
        self.out = torch.nn.Linear(slices, 1)
        with torch.no_grad():
            self.bilinear.normal_(0.0, 0.02 / width**0.5)

    def forward(self, one: Tensor, two: Tensor, third: Tensor | None = None) -> Tensor:
        """(..., A, B) scores of every pair of (..., A, d) and (..., B, d); third: (..., d)."""
        width = one.shape[-1]
        first, second, *rest = torch.split(self.linear.weight, width, dim=1)
        linear = (one @ first.T)[..., :, None, :] + (two @ second.T)[..., None, :, :]
        if third is not None and rest:
            linear = linear + (third @ rest[0].T)[..., None, None, :]
        product = torch.einsum("...ad,sde,...be->...abs", one, self.bilinear, two)
        scores: Tensor = self.out(torch.tanh(product + linear + self.linear.bias))[..., 0]
        return scores


class Side(torch.nn.Module):
    """An encoder with a tensor network: one of DRN's two models."""

    def __init__(self, encoder: Vectoriser, slices: int, *, third: bool) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = TensorNetwork(encoder.width, slices, third=third)


class DRNModel(EvidenceModel[DRNStates]):
    """The two models; they share nothing.

    Args:
        relevance: Encoder and tensor network of (q, p).
        novelty: Encoder and tensor network of (p1, p2).
    """

    reads_together = False

    def __init__(self, relevance: Side, novelty: Side, tokenizer: Any, settings: Settings) -> None:
        super().__init__(relevance.encoder, tokenizer, settings)
        self.relevance, self.novelty = relevance, novelty

    @classmethod
    def untrained(cls, base: ModelSource, settings: Settings, seed: int) -> "DRNModel":
        """Two copies of a pretrained encoder, with new heads.

        Raises:
            InputError, MachineError: The encoder cannot be loaded.
        """
        torch.manual_seed(seed_of(seed, "head"))
        relevance, novelty = (
            Side(Vectoriser.load(base, settings.pooling), settings.slices, third=name == NOVELTY)
            for name in PARTS
        )
        return cls(relevance, novelty, load_tokenizer(base), settings).eval()

    @classmethod
    def load(cls, folder: Path) -> "DRNModel":
        """A trained model.

        Raises:
            InputError: There is none in the folder.
        """
        settings = Settings.load(folder)
        relevance, novelty = (_side(folder / name, settings) for name in PARTS)
        tokenizer = load_tokenizer(ModelSource(str(folder), folder / PARTS[0]))
        return cls(relevance, novelty, tokenizer, settings).eval()

    def save(self, folder: Path) -> None:
        """Write both models (safetensors), their tokenizer and the settings."""
        for name, side in zip(PARTS, (self.relevance, self.novelty), strict=True):
            side.encoder.network.save_pretrained(folder / name)
            self._tokenizer.save_pretrained(folder / name)
            save_file(side.head.state_dict(), folder / name / HEAD_FILE)
        self.settings.save(folder)

    def forward(self, batch: Sequence[EncodedQuestion], tokens: int | None = None) -> DRNStates:
        """The logits of questions.

        Args:
            tokens: Padded tokens that are computed at a time.
        """
        logits = []
        for side in (self.relevance, self.novelty):
            question, passages, mask = vectors_of(side.encoder, batch, tokens)
            if side is self.relevance:
                logits.append(side.head(question[:, None], passages)[:, 0])
            else:
                logits.append(side.head(passages, passages, question))
        return DRNStates(logits[0], logits[1], mask)

    def choose(
        self, questions: Sequence[EvidenceQuestion], states: DRNStates, selection: DRNSelection
    ) -> list[SelectedSet]:
        """The most relevant passage, then by relevance and novelty; equals by their number."""
        relevance = states.relevance.sigmoid().double()
        novelty = states.novelty.sigmoid().double()
        free = states.mask.clone()
        rows = torch.arange(len(questions), device=free.device)
        least = torch.ones_like(relevance)
        taken: list[list[int]] = [[] for _ in questions]
        totals = torch.zeros(len(questions), dtype=torch.float64, device=free.device)
        for step in range(selection.size):
            share = 0.0 if step == 0 else selection.novelty
            score = ((1 - share) * relevance + share * least).masked_fill(~free, -torch.inf)
            best = score.argmax(1)
            is_there = free.any(1)
            totals += score[rows, best].masked_fill(~is_there, 0)
            for row, number in enumerate(best.tolist()):
                if is_there[row]:
                    taken[row].append(number)
            free[rows, best] = False
            least = torch.minimum(least, novelty[rows, best])
        return [
            SelectedSet(question.id, tuple(question.passages[n].id for n in numbers), score)
            for question, numbers, score in zip(questions, taken, totals.tolist(), strict=True)
        ]


def drn_loss(states: DRNStates, relevant: Tensor) -> Tensor:
    """The mean over questions of the cross-entropies of relevance and, per first, of novelty.

    Args:
        relevant: (Q, K) bool.
    """
    firsts = relevant & states.mask
    pairs = firsts[:, :, None] & states.mask[:, None]
    adds = (
        firsts[:, :, None]
        & firsts[:, None]
        & ~torch.eye(firsts.shape[1], dtype=torch.bool, device=firsts.device)
    )
    each = functional.binary_cross_entropy_with_logits(
        states.novelty.masked_fill(~pairs, 0), adds.to(states.novelty.dtype), reduction="none"
    )
    per_first = each.masked_fill(~pairs, 0).sum((1, 2)) / firsts.sum(1).clamp(min=1)
    return (relevance_loss(states.relevance, relevant, states.mask) + per_first).mean()


def _side(folder: Path, settings: Settings) -> Side:
    """One of the two trained models."""
    source = ModelSource(str(folder), folder)
    side = Side(
        Vectoriser.load(source, settings.pooling),
        settings.slices,
        third=folder.name == NOVELTY,
    )
    load_head(side.head, folder)
    return side
