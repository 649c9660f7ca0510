"""The contrastive loss over a batch: each context against all spans of the batch.

loss = mean over i of -log(exp(c_i . s_i / t) / sum over j of exp(c_i . s_j / t)), where j runs over
the batch (van den Oord et al., 2018; equation 1 of EGRET; section 3.2 of RELiC, which both sum
where this takes the mean, and have t = 1). A span with the text of s_i is no wrong answer to c_i:
such false negatives are left out of the sum, unless the recipe counts them as the papers do.

Beside the spans of the batch j runs over hard negatives, where contexts have some: a context's hard
negatives are negatives of every other context of the batch too (Karpukhin et al., 2020).

The number of negatives is the batch size less one, and the hard ones. Adding up the gradients of
small batches does not give the negatives of a large one; see ``at_once`` in
:mod:`adducir.encoders.recipe` for what does.
"""

import torch

from adducir.encoders.network import full


def contrast(
    contexts: torch.Tensor,
    spans: torch.Tensor,
    same: torch.Tensor,
    temperature: float = 1.0,
    *,
    first: int = 0,
    reduction: str = "mean",
) -> torch.Tensor:
    """The loss of a batch, or of some of its contexts.

    Args:
        contexts: (n, D) vectors c.
        spans: (m, D) vectors s, m >= n: those of the contexts, and other ones, which are negatives.
        same: (m,) numbers, equal for spans of equal text.
        temperature: t.
        first: The span that belongs to the first context; those of the others follow it.
        reduction: ``mean`` or ``sum``, over the contexts.

    Returns:
        The loss, a scalar; 0 for a batch of one.
    """
    logits = full(contexts) @ full(spans).T / temperature
    gold = torch.arange(first, first + len(contexts), device=same.device)
    false = same[gold][:, None] == same[None, :]
    false[torch.arange(len(gold), device=same.device), gold] = False
    logits = logits.masked_fill(false, float("-inf"))
    return torch.nn.functional.cross_entropy(logits, gold, reduction=reduction)
