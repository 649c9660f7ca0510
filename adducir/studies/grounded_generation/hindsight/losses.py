"""The losses of retriever, guide and generator over k sampled passages of an example.

With p = softmax of the retriever's scores over the sampled passages, q = softmax of the guide's,
and l = log P(y|x,z) of the generator:

- ``marginal``: -log sum_z p_z exp(l_z) (RAG-Sequence; equation 1 of Hindsight).
- ``elbo``: -(sum_z q_z l_z - KL(q || p)) (equation 2).
- ``reconstruction``: -sum_z q_z l_z, the generator's part of it with the guide as it is.
- ``kl``: KL(q || p), the retriever's part of it with the guide as it is.

The sampled passages are taken as given: no gradient goes through their choice.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import torch

LossName: TypeAlias = Literal["elbo", "marginal", "reconstruction", "kl"]
Part: TypeAlias = Literal["retriever", "guide", "generator"]
PARTS: tuple[Part, ...] = get_args(Part)

READS: dict[LossName, frozenset[Part]] = {
    "elbo": frozenset(PARTS),
    "marginal": frozenset({"retriever", "generator"}),
    "reconstruction": frozenset({"guide", "generator"}),
    "kl": frozenset({"retriever", "guide"}),
}
"""The parts that each loss computes with."""

TRAINS: dict[LossName, frozenset[Part]] = {
    **READS,
    "reconstruction": frozenset({"generator"}),
    "kl": frozenset({"retriever"}),
}
"""The parts that each loss trains; all others are frozen."""


@dataclass(frozen=True)
class Computed:
    """What is known of B examples with k passages each: as much as the loss :data:`READS`.

    Attributes:
        retriever: (B, k) scores of the retriever, not normalised.
        guide: (B, k) scores of the guide.
        likelihood: (B, k) l.
    """

    retriever: torch.Tensor | None = None
    guide: torch.Tensor | None = None
    likelihood: torch.Tensor | None = None

    @property
    def log_p(self) -> torch.Tensor:
        """(B, k) log p."""
        return _known(self.retriever).log_softmax(dim=-1)

    @property
    def log_q(self) -> torch.Tensor:
        """(B, k) log q."""
        return _known(self.guide).log_softmax(dim=-1)


def _known(values: torch.Tensor | None) -> torch.Tensor:
    if values is None:
        raise ValueError("a loss needs what was not computed.")
    return values


def loss_of(name: LossName, found: Computed) -> torch.Tensor:
    """(B,) losses."""
    if name == "marginal":
        return -(found.log_p + _known(found.likelihood)).logsumexp(dim=-1)
    if name == "reconstruction":
        return _reconstruction(found)
    log_q = found.log_q
    distance = (log_q.exp() * (log_q - found.log_p)).sum(dim=-1)
    return distance if name == "kl" else _reconstruction(found) + distance


def _reconstruction(found: Computed) -> torch.Tensor:
    return -(found.log_q.exp() * _known(found.likelihood)).sum(dim=-1)
