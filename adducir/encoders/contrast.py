"""The contrastive loss over a batch: each context against all spans of the batch.

loss = mean over i of -log(exp(c_i . s_i / t) / sum over j of exp(c_i . s_j / t)), where j runs over
the batch (van den Oord et al., 2018; equation 1 of EGRET; section 3.2 of RELiC, which both sum
where this takes the mean, and have t = 1). A span with the text of s_i is no wrong answer to c_i:
such false negatives are left out of the sum.

The number of negatives is the batch size less one. Adding up the gradients of small batches does
not give the negatives of a large one; see ``at_once`` in :mod:`adducir.encoders.recipe` for what
does.
"""

import torch


def contrast(
    contexts: torch.Tensor, spans: torch.Tensor, same: torch.Tensor, temperature: float = 1.0
) -> torch.Tensor:
    """The loss of a batch.

    Args:
        contexts: (n, D) vectors c.
        spans: (n, D) vectors s; the i-th is the gold item of the i-th context.
        same: (n,) numbers, equal for spans of equal text.
        temperature: t.

    Returns:
        The mean loss, a scalar; 0 for a batch of one.
    """
    logits = contexts.float() @ spans.float().T / temperature
    false = (same[:, None] == same[None, :]) & ~torch.eye(
        len(same), dtype=torch.bool, device=same.device
    )
    logits = logits.masked_fill(false, float("-inf"))
    gold = torch.arange(len(same), device=same.device)
    return torch.nn.functional.cross_entropy(logits, gold)
