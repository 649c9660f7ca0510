"""The training loss of complementary evidence: equations 4 to 7 of Mou et al. (2020).

    L = L_sup + alpha L_d + beta L_c

- L_sup, relevance: the cross-entropy of P(p|q) over a question's passages. The paper prints
  - sum y log f(p) (equation 5), which P = 1 for every passage would satisfy; its name and its
    relevance baseline mean both classes, so the other passages add - log(1 - f(p)).
- L_d, diversity: the sum of 1 - l1(p_i, p_j) over pairs of true passages, each pair once, with the
  bounded distance of :mod:`~adducir.studies.complementary_evidence.selectors.scoring`.
- L_c, compactness: over the labelled sets the sum of PyTorch's CosineEmbeddingLoss of the question
  and the sum of the members: 1 - cos for a gold set, max(0, cos - margin) for a false one.

The paper writes the loss for one set at a time; here passages are encoded once for all sets of a
question, so L_sup and L_d count once a question. A question's terms are sums, as in the paper; a
batch's loss is the mean over its questions, so that the weights mean the same for every batch size.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from adducir.studies.complementary_evidence.selectors.scoring import (
    EPSILON,
    Weights,
    distances,
    single,
)

MARGIN = 0.1


class LossTerms(NamedTuple):
    """The loss, and its terms before they are weighted; each a scalar, the mean over questions."""

    total: Tensor
    relevance: Tensor
    diversity: Tensor
    compactness: Tensor


def complementary_loss(
    logits: Tensor,
    vectors: Tensor,
    question: Tensor,
    relevant: Tensor,
    mask: Tensor,
    sets: Tensor,
    labels: Tensor,
    weights: Weights,
    margin: float = MARGIN,
) -> LossTerms:
    """The loss of a batch. A weight of 0 leaves its term out of the total and the gradient.

    Args:
        logits: (Q, K) the relevance head's output before the sigmoid.
        vectors: (Q, K, d) the passages' vectors.
        question: (Q, d) the questions' vectors.
        relevant: (Q, K) bool, True at true passages.
        mask: (Q, K) bool, True at passages, False at padding, whatever stands there.
        sets: (Q, S, L) int64 members of the labelled sets by number, padded with -1; a set of
            nothing but -1 is padding.
        labels: (Q, S) bool, True at gold sets.
        weights: Of diversity (alpha in equation 4) and compactness (beta).
        margin: gamma: the cosine up to which a false set costs nothing; the paper gives no value.
    """
    relevance = relevance_loss(logits, relevant, mask).mean()
    total = relevance
    diversity = compactness = torch.zeros_like(relevance)
    if weights.diversity:
        diversity = diversity_loss(vectors, relevant, mask).mean()
        total = total + weights.diversity * diversity
    if weights.compactness:
        compactness = compactness_loss(vectors, question, mask, sets, labels, margin).mean()
        total = total + weights.compactness * compactness
    return LossTerms(total, relevance, diversity, compactness)


def relevance_loss(logits: Tensor, relevant: Tensor, mask: Tensor) -> Tensor:
    """(Q,) equation 5: the sum of the cross-entropy over the passages; see the module's text."""
    clean = single(logits).masked_fill(~mask, 0)
    each = functional.binary_cross_entropy_with_logits(
        clean, relevant.to(clean.dtype), reduction="none"
    )
    return each.masked_fill(~mask, 0).sum(-1)


def diversity_loss(vectors: Tensor, relevant: Tensor, mask: Tensor) -> Tensor:
    """(Q,) equation 6: the sum of 1 - l1 over the pairs of true passages; 0 where there is none."""
    true = relevant & mask
    apart = distances(vectors.masked_fill(~true[..., None], 0))
    pairs = (true[:, :, None] & true[:, None, :]).triu(1)
    return (1 - apart).masked_fill(~pairs, 0).sum((-2, -1))


def compactness_loss(
    vectors: Tensor, question: Tensor, mask: Tensor, sets: Tensor, labels: Tensor, margin: float
) -> Tensor:
    """(Q,) equation 7, summed over a question's labelled sets."""
    clean = single(vectors).masked_fill(~mask[..., None], 0)
    is_member = sets >= 0
    numbers = sets.clamp(min=0).flatten(1)[..., None].expand(-1, -1, clean.shape[-1])
    members = clean.gather(1, numbers).reshape(*sets.shape, -1)
    sums = members.masked_fill(~is_member[..., None], 0).sum(2)
    cosine = functional.cosine_similarity(sums, single(question)[:, None], dim=-1, eps=EPSILON)
    each = torch.where(labels, 1 - cosine, (cosine - margin).clamp(min=0))
    return each.masked_fill(~is_member.any(-1), 0).sum(-1)
