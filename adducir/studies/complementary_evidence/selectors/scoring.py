"""How good a set of passages is: equation 8 of Mou et al. (2020).

    g = sum_i P(p_i | q) + alpha cos(sum_i p_i, q) + beta sum_{i != j} l1(p_i, p_j)

The paper's alpha and beta change places between its loss (equation 4: alpha weights diversity) and
this score (alpha weights the cosine), so the two weights are named here by what they weight.

Two things are settled here that the paper leaves open:

- The distance must be bounded, as the loss 1 - l1 would otherwise fall without end while vectors
  grow. It is the L1 distance of the two vectors scaled to (Euclidean) length 1, over the greatest
  that it can be, 2 sqrt(d): 0 for equal directions, 1 at most. PyTorch's L1Loss, a mean of absolute
  differences, is twice this on vectors whose components have a root mean square of 1.
- A sum over i != j takes every unordered pair once.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from adducir.core.errors import UsageError

EPSILON = 1e-12
CANCELLED = 1e-6
"""A sum shorter than this share of its members' lengths is rounding: its cosine counts 0."""


@dataclass(frozen=True)
class Weights:
    """What diversity and compactness count, where relevance counts 1; both finite, 0 or more."""

    diversity: float = 1.0
    compactness: float = 1.0

    def __post_init__(self) -> None:
        for name in ("diversity", "compactness"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise UsageError(f"the weight of {name} must be 0 or more, not {value}.")


def single(values: Tensor) -> Tensor:
    """The values in single precision at least: half is too coarse for sums like these."""
    return values if values.dtype == torch.float64 else values.float()


def distances(vectors: Tensor) -> Tensor:
    """The bounded L1 distance of each two vectors.

    Args:
        vectors: (..., K, d); a vector of zeros stays one.

    Returns:
        (..., K, K), symmetric, in [0, 1], zero on the diagonal.
    """
    unit = functional.normalize(single(vectors), dim=-1, eps=EPSILON)
    return torch.cdist(unit, unit, p=1.0) / (2 * math.sqrt(vectors.shape[-1]))


def set_scores(
    relevance: Tensor,
    vectors: Tensor,
    question: Tensor,
    weights: Weights,
    mask: Tensor | None = None,
) -> Tensor:
    """The score g of given sets.

    Args:
        relevance: (..., L) P(p|q) of each member, in [0, 1].
        vectors: (..., L, d) their vectors.
        question: (..., d) the question's vector.
        weights: Of diversity (beta in equation 8) and compactness (alpha).
        mask: (..., L) True at members; None where all sets have L. What stands elsewhere does not
            matter.

    Returns:
        (...), 0 for an empty set.
    """
    if mask is None:
        mask = torch.ones_like(relevance, dtype=torch.bool)
    relevance = single(relevance).masked_fill(~mask, 0)
    vectors = single(vectors).masked_fill(~mask[..., None], 0)
    pairs = (mask[..., :, None] & mask[..., None, :]).triu(1)
    diversity = distances(vectors).masked_fill(~pairs, 0).sum((-2, -1))
    total = vectors.sum(-2)
    compactness = functional.cosine_similarity(total, single(question), dim=-1, eps=EPSILON)
    cancelled = total.norm(dim=-1) <= CANCELLED * vectors.norm(dim=-1).sum(-1)
    compactness = compactness.masked_fill(cancelled, 0)
    return relevance.sum(-1) + weights.compactness * compactness + weights.diversity * diversity
