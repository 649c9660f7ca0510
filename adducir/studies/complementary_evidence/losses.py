"""The training losses: equations 4 to 7 of Mou et al. (2020), and that of their baseline DRN.

    L = L_sup + alpha L_d + beta L_c

- L_sup, relevance: the cross-entropy of P(p|q) over a question's passages. The paper prints
  - sum y log f(p) (equation 5), which P = 1 for every passage would satisfy; its name and its
    relevance baseline mean both classes, so the other passages add - log(1 - f(p)).
- L_d, diversity: the sum of 1 - l1(p_i, p_j) over pairs of gold passages, each pair once, with the
  bounded distance of :mod:`adducir.studies.complementary_evidence.selection`.
- L_c, compactness: over the labelled sets the sum of PyTorch's CosineEmbeddingLoss of the question
  and the sum of the members: 1 - cos for a gold set, max(0, cos - margin) for a false one.

The paper writes the loss for one set at a time; here passages are encoded once for all sets of a
question, so L_sup and L_d count once a question. A question's terms are sums, as in the paper; a
batch's loss is the mean over its questions, so that the weights mean the same for every batch size.
"""

import torch
from torch import Tensor
from torch.nn import functional

_ZERO = 1e-12


def complementary_loss(
    logits: Tensor,
    vectors: Tensor,
    question: Tensor,
    relevant: Tensor,
    mask: Tensor,
    sets: Tensor,
    labels: Tensor,
    *,
    diversity: float = 1.0,
    compactness: float = 1.0,
    margin: float = 0.1,
) -> Tensor:
    """Equation 4, the mean over Q questions.

    Args:
        logits: (Q, K) of P(p|q).
        vectors: (Q, K, d) the passages' vectors.
        question: (Q, d) the questions' vectors.
        relevant: (Q, K) True at gold passages.
        mask: (Q, K) True at passages.
        sets: (Q, S, L) the members of labelled sets by number, padded with -1.
        labels: (Q, S) True at gold sets.
        margin: gamma: the cosine up to which a false set costs nothing; the paper gives no value.
    """
    total = relevance_loss(logits, relevant, mask).mean()
    if diversity:
        total = total + diversity * diversity_loss(vectors, relevant, mask).mean()
    if compactness:
        close = compactness_loss(vectors, question, mask, sets, labels, margin)
        total = total + compactness * close.mean()
    return total


def relevance_loss(logits: Tensor, relevant: Tensor, mask: Tensor) -> Tensor:
    """(Q,) equation 5."""
    clean = logits.masked_fill(~mask, 0)
    wanted = relevant.to(clean.dtype)
    each = functional.binary_cross_entropy_with_logits(clean, wanted, reduction="none")
    return each.masked_fill(~mask, 0).sum(-1)


def diversity_loss(vectors: Tensor, relevant: Tensor, mask: Tensor) -> Tensor:
    """(Q,) equation 6."""
    gold = relevant & mask
    unit = functional.normalize(vectors.masked_fill(~gold[..., None], 0), dim=-1, eps=_ZERO)
    apart = torch.cdist(unit, unit, p=1.0) / (2 * vectors.shape[-1] ** 0.5)
    pairs = (gold[:, :, None] & gold[:, None, :]).triu(1)
    return (1 - apart).masked_fill(~pairs, 0).sum((-2, -1))


def compactness_loss(
    vectors: Tensor, question: Tensor, mask: Tensor, sets: Tensor, labels: Tensor, margin: float
) -> Tensor:
    """(Q,) equation 7."""
    clean = vectors.masked_fill(~mask[..., None], 0)
    is_member = sets >= 0
    numbers = sets.clamp(min=0).flatten(1)[..., None].expand(-1, -1, clean.shape[-1])
    members = clean.gather(1, numbers).reshape(*sets.shape, -1)
    sums = members.masked_fill(~is_member[..., None], 0).sum(2)
    cosine = functional.cosine_similarity(sums, question[:, None], dim=-1, eps=_ZERO)
    each = torch.where(labels, 1 - cosine, (cosine - margin).clamp(min=0))
    return each.masked_fill(~is_member.any(-1), 0).sum(-1)


def drn_loss(relevance: Tensor, novelty: Tensor, relevant: Tensor, mask: Tensor) -> Tensor:
    """The mean over questions of the cross-entropies of relevance and, per first, of novelty.

    Novelty learns, for each gold passage as the first, that the other gold passages add to it, and
    that all others, the first itself among them, do not.

    Args:
        relevance: (Q, K) logits of P(p|q).
        novelty: (Q, K, K) logits: how much the second passage adds to the first.
    """
    firsts = relevant & mask
    pairs = firsts[:, :, None] & mask[:, None]
    same = torch.eye(firsts.shape[1], dtype=torch.bool, device=firsts.device)
    adds = (firsts[:, :, None] & firsts[:, None] & ~same).to(novelty.dtype)
    clean = novelty.masked_fill(~pairs, 0)
    each = functional.binary_cross_entropy_with_logits(clean, adds, reduction="none")
    per_first = each.masked_fill(~pairs, 0).sum((1, 2)) / firsts.sum(1).clamp(min=1)
    return (relevance_loss(relevance, relevant, mask) + per_first).mean()
