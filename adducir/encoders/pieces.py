"""Vectors of a batch of any size in the memory of a small one: gradient caching.

What limits a contrastive batch is the memory of the network's layers, not that of the vectors.
Gradient caching (GradCache; Gao et al., 2021: "Scaling Deep Contrastive Learning Batch Size under
Memory Limited Setup") computes a batch in pieces without keeping the layers' states, takes the
loss of all vectors, and, with the gradient of each vector at hand, computes the pieces once more,
one after the other, to carry it back through the network. The second pass draws the dropout of the
first, so that the gradient is that of the whole batch, to rounding.

Torch's checkpointing does this if a piece is what is checkpointed: the backward pass comes to a
piece when the gradients of its vectors are known, restores the random state and the precision of
the first pass, computes the piece, and goes back through it before it comes to the next one.
Layers may be checkpointed within (``gradient_checkpointing``), and several networks take part in
one loss.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint

from adducir.models.batches import token_batches
from adducir.training.store import Array, Numbers


def in_pieces(
    forward: Callable[[Sequence[Array]], torch.Tensor],
    inputs: Sequence[Array],
    tokens: int | None,
) -> torch.Tensor:
    """Vectors of inputs, with gradient where there is one.

    Args:
        forward: Gives (n, D) vectors of some inputs.
        inputs: Token ids.
        tokens: Padded tokens that are computed at a time; None for no limit.

    Returns:
        (n, D) vectors, in the order of the inputs.
    """
    lengths = [len(one) for one in inputs]
    if tokens is None or max(lengths) * len(lengths) <= tokens:
        return forward(inputs)
    pieces = token_batches(lengths, tokens)
    found: list[torch.Tensor] = []
    for numbers in pieces:
        piece = [inputs[number] for number in numbers]
        vectors = (
            checkpoint(forward, piece, use_reentrant=False)
            if torch.is_grad_enabled()
            else forward(piece)
        )
        found.append(vectors)
    back: Numbers = np.argsort(np.concatenate(pieces), kind="stable")
    return torch.cat(found)[torch.from_numpy(back).to(found[0].device)]
