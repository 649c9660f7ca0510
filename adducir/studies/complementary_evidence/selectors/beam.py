"""The search for the best set of passages: algorithm 1 of Mou et al. (2020), for many questions.

The N passages with the highest P(p|q) are the candidates, and the best M of them the first beam.
L - 1 times each set of the beam is grown by each candidate, in the order of P, and the best M sets
are kept by the score g of equation 8. So O((L - 1) M N) sets are scored instead of O(K^L). Scores
come from the candidates' inner products and distances, so vectors are touched once a question.

The algorithm's lines are taken like this:

- "if the set is covered": a grown set that another set of the beam, or an earlier candidate, has
  given already is ignored, whatever the order of its members; a candidate that is in the set
  grows nothing.
- "if more than M tuples added based on P_j, then break": a set of the beam gives M + 1 new sets at
  most. With the paper's settings (N = 4, M = 3 and N = 5, M = 4) that never binds.
- Equal scores keep the order in which they came up: relevance first, then the passages' numbers.
- A question with fewer than L passages gets all of them. With L = 1 only relevance counts.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from adducir.core.errors import UsageError
from adducir.studies.complementary_evidence.selectors.scoring import (
    CANCELLED,
    EPSILON,
    Weights,
    distances,
)

_BITS = 62


@dataclass(frozen=True)
class BeamSettings:
    """L, M and N of algorithm 1.

    Attributes:
        size: L, passages of a set.
        beam: M, sets kept.
        candidates: N, the passages with the highest P(p|q) that sets are made of.
    """

    size: int = 2
    beam: int = 3
    candidates: int = 4

    def __post_init__(self) -> None:
        for name in ("size", "beam", "candidates"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be 1 or more, not {getattr(self, name)}.")
        if self.candidates < self.size:
            raise UsageError(f"{self.candidates} candidates make no set of {self.size}.")


MNLI12 = BeamSettings(2, 3, 4)
HOTPOTQA50 = BeamSettings(2, 4, 5)
"""The paper's choices, made on its development sets (section 3.3)."""


class Selection(NamedTuple):
    """The sets kept at the end, the best first; the first is the selected one.

    Attributes:
        members: (Q, M, L) int64: passages by number in the order in which they were taken; -1
            where there are no more.
        scores: (Q, M) float64: g of each; -inf where there are no more sets.
    """

    members: Tensor
    scores: Tensor


class _Beam(NamedTuple):
    """Sets: members (Q, B, L), the same one-hot (Q, B, N) and as bits (Q, B, W), scores (Q, B)."""

    members: Tensor
    hot: Tensor
    bits: Tensor
    scores: Tensor


@torch.no_grad()
def select_sets(
    relevance: Tensor,
    vectors: Tensor,
    question: Tensor,
    mask: Tensor,
    weights: Weights,
    settings: BeamSettings = MNLI12,
) -> Selection:
    """Search the best set of each question.

    Args:
        relevance: (Q, K) P(p|q), in [0, 1].
        vectors: (Q, K, d) the passages' vectors.
        question: (Q, d) the questions' vectors.
        mask: (Q, K) bool, True at passages; what stands elsewhere does not matter.
        weights: Of diversity and compactness in g.
        settings: L, M and N.

    Raises:
        UsageError: A candidate's P(p|q) or vector, or a question's vector, is not finite.
    """
    scores = relevance.double().masked_fill(~mask, -math.inf)
    chosen = scores.argsort(dim=1, descending=True, stable=True)[:, : settings.candidates]
    there = mask.gather(1, chosen)
    index = chosen[..., None].expand(-1, -1, vectors.shape[-1])
    best = vectors.gather(1, index).double().masked_fill(~there[..., None], 0)
    pool = _Pool.of(scores.gather(1, chosen).masked_fill(~there, 0), best, question.double(), there)
    beam = _first(pool, settings, weights)
    for depth in range(1, settings.size):
        beam = _grow(pool, beam, depth, settings, weights)
    members = chosen[:, None].expand(-1, beam.members.shape[1], -1)
    numbers = members.gather(2, beam.members.clamp(min=0)).masked_fill(beam.members < 0, -1)
    return Selection(numbers, beam.scores)


class _Pool(NamedTuple):
    """What g needs of the N candidates of each question, in the order of P(p|q).

    Attributes:
        relevance: (Q, N) P(p|q); 0 at padding.
        towards: (Q, N) inner products with the question's unit vector.
        products: (Q, N, N) inner products.
        apart: (Q, N, N) bounded distances.
        there: (Q, N) bool, False at padding.
    """

    relevance: Tensor
    towards: Tensor
    products: Tensor
    apart: Tensor
    there: Tensor

    @classmethod
    def of(cls, relevance: Tensor, vectors: Tensor, question: Tensor, there: Tensor) -> "_Pool":
        if not all(bool(part.isfinite().all()) for part in (relevance, vectors, question)):
            raise UsageError("a relevance or a vector is not finite.")
        unit = question / question.norm(dim=-1, keepdim=True).clamp(min=EPSILON)
        towards = (vectors @ unit[..., None]).squeeze(-1)
        products = vectors @ vectors.transpose(1, 2)
        return cls(relevance, towards, products, distances(vectors), there)

    def scores(self, hot: Tensor, weights: Weights) -> Tensor:
        """The score g of sets given as one-hot rows (Q, B, N); (Q, B)."""
        squared = ((hot @ self.products) * hot).sum(-1)
        lengths = squared.clamp(min=0).sqrt()
        members = self.products.diagonal(dim1=1, dim2=2).sqrt()
        cancelled = lengths <= CANCELLED * (hot @ members[..., None]).squeeze(-1)
        compactness = (hot @ self.towards[..., None]).squeeze(-1) / lengths.clamp(min=EPSILON)
        compactness = compactness.masked_fill(cancelled, 0)
        diversity = ((hot @ self.apart) * hot).sum(-1) / 2
        relevance = (hot @ self.relevance[..., None]).squeeze(-1)
        return relevance + weights.compactness * compactness + weights.diversity * diversity


def _first(pool: _Pool, settings: BeamSettings, weights: Weights) -> _Beam:
    """Lines 4 to 6: the best M passages by P(p|q), each a set."""
    questions, candidates = pool.relevance.shape
    width = min(settings.beam, candidates)
    device = pool.relevance.device
    hot = torch.eye(candidates, dtype=torch.float64, device=device)[:width]
    hot = hot.expand(questions, -1, -1)
    members = torch.full((questions, width, settings.size), -1, device=device)
    members[..., 0] = torch.arange(width, device=device)
    bits = _bits(candidates, device)[:width].expand(questions, -1, -1)
    scores = pool.scores(hot, weights).masked_fill(~pool.there[:, :width], -math.inf)
    members = members.masked_fill(scores.isneginf()[..., None], -1)
    return _Beam(members, hot, bits, scores)


def _bits(candidates: int, device: torch.device) -> Tensor:
    """(N, W): for each candidate a word with its own bit set, so that a set is an or of words."""
    numbers = torch.arange(candidates, device=device)
    words = torch.zeros(candidates, -(-candidates // _BITS), dtype=torch.int64, device=device)
    words[numbers, numbers // _BITS] = torch.ones_like(numbers) << (numbers % _BITS)
    return words


def _grow(pool: _Pool, beam: _Beam, depth: int, settings: BeamSettings, weights: Weights) -> _Beam:
    """Lines 8 to 22: grow each set by each candidate, and keep the best M."""
    candidates = pool.relevance.shape[1]
    bits = beam.bits[:, :, None] | _bits(candidates, pool.relevance.device)
    is_new = (beam.hot == 0) & pool.there[:, None] & ~beam.scores.isneginf()[..., None]
    is_new = _uncovered(bits, is_new, settings.beam + 1)
    hot = beam.hot[:, :, None] + torch.eye(candidates, dtype=torch.float64, device=bits.device)
    hot = hot.flatten(1, 2)
    scores = pool.scores(hot, weights).masked_fill(~is_new.flatten(1), -math.inf)
    members = beam.members[:, :, None].repeat(1, 1, candidates, 1)
    members[..., depth] = torch.arange(candidates, device=bits.device)
    # A question whose passages are used up keeps its sets: they stand last and win only then.
    stuck = ~is_new.flatten(1).any(1, keepdim=True)
    grown = _Beam(
        torch.cat([members.flatten(1, 2), beam.members], 1),
        torch.cat([hot, beam.hot], 1),
        torch.cat([bits.flatten(1, 2), beam.bits], 1),
        torch.cat([scores, beam.scores.masked_fill(~stuck, -math.inf)], 1),
    )
    return _best(grown, settings.beam)


def _uncovered(bits: Tensor, is_new: Tensor, most: int) -> Tensor:
    """Lines 12 to 18: which grown sets are added.

    Args:
        bits: (Q, B, N, W) the grown sets.
        is_new: (Q, B, N) False where nothing is grown.
        most: How many a set of the beam may give.

    Returns:
        (Q, B, N) bool.
    """
    added = is_new.clone()
    for row in range(bits.shape[1]):
        if row:
            earlier = bits[:, :row].flatten(1, 2)
            same = (bits[:, row, :, None] == earlier[:, None]).all(-1)
            added[:, row] &= ~(same & added[:, :row].flatten(1)[:, None]).any(-1)
        added[:, row] &= added[:, row].cumsum(-1) <= most
    return added


def _best(beam: _Beam, width: int) -> _Beam:
    """The best sets, best first; equal scores stay in order."""
    order = beam.scores.argsort(dim=1, descending=True, stable=True)[:, :width]
    scores = beam.scores.gather(1, order)
    members, hot, bits = (
        part.gather(1, order[..., None].expand(-1, -1, part.shape[-1]))
        for part in (beam.members, beam.hot, beam.bits)
    )
    return _Beam(members.masked_fill(scores.isneginf()[..., None], -1), hot, bits, scores)
