"""The losses of retriever, guide and generator over k sampled passages of an example.

With p = softmax of the retriever's scores over the sampled passages, q = softmax of the guide's,
and l = log P(y|x,z) of the generator:

- ``marginal``: -log sum_z p_z exp(l_z) (RAG-Sequence; equation 1 of Hindsight).
- ``elbo``: -(sum_z q_z l_z - KL(q || p)) (equation 2).
- ``reconstruction``: -sum_z q_z l_z, the generator's part of it with the guide as it is.
- ``kl``: KL(q || p), the retriever's part of it with the guide as it is.

The sampled passages are taken as given: no gradient goes through their choice.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import torch

LossName: TypeAlias = Literal["elbo", "marginal", "reconstruction", "kl"]
Part: TypeAlias = Literal["retriever", "guide", "generator"]
PARTS: tuple[Part, ...] = get_args(Part)
Computed: TypeAlias = Mapping[Part, torch.Tensor]
"""(B, k) of B examples: scores of retriever and guide, not normalised, and the generator's l."""

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


def loss_of(name: LossName, found: Computed) -> torch.Tensor:
    """(B,) losses, of the parts that the loss :data:`READS`."""
    if name == "marginal":
        log_p = found["retriever"].log_softmax(dim=-1)
        return -(log_p + found["generator"]).logsumexp(dim=-1)
    if name == "reconstruction":
        q = found["guide"].log_softmax(dim=-1).exp()
        return -(q * found["generator"]).sum(dim=-1)
    log_q = found["guide"].log_softmax(dim=-1)
    distance = (log_q.exp() * (log_q - found["retriever"].log_softmax(dim=-1))).sum(dim=-1)
    return distance if name == "kl" else loss_of("reconstruction", found) + distance
