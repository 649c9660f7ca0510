"""Half precision for a transformer's layers, and for nothing else.

The layers hold nearly all of a network's work, and their states bear rounding to the 8 bits of
bfloat16. What is made of the last hidden states does not: pooling, projection, normalisation, inner
products, a classifier's logits and their losses lose ranks when they are rounded (the scores of a
late interaction come in steps of 1/16). So autocast begins and ends with the stack of layers,
whose output is single precision again, and whatever is computed outside is so by construction.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from adducir.models.machine import Precision, device_of

if TYPE_CHECKING:
    import torch


@contextmanager
def computing_in(precision: Precision, network: "torch.nn.Module") -> Iterator[None]:
    """Let a network's layers compute in a precision inside the block.

    Weights stay in single precision. A backward pass that computes pieces once more belongs inside
    the block, too.

    Args:
        precision: Of the layers' matrix products.
        network: Anything that holds models of transformers; a network that holds none computes in
            that precision as a whole.
    """
    if precision == "float32":
        yield
        return
    stacks = stacks_of(network)
    kind = device_of(network).type
    before = [stack.__dict__.get("forward") for stack in stacks]
    for stack in stacks:
        stack.forward = _in_half(stack.forward, kind)
    try:
        yield
    finally:
        for stack, forward in zip(stacks, before, strict=True):
            if forward is None:
                del stack.forward
            else:
                stack.forward = forward


def halved(network: "torch.nn.Module") -> "torch.nn.Module":
    """A copy whose layers hold the weights of their products in bfloat16.

    Computing in bfloat16 gives the same as with the network itself, without casting each weight for
    each batch.
    """
    import torch

    half = copy.deepcopy(network).eval()
    for stack in stacks_of(half):
        for module in stack.modules():
            if isinstance(module, torch.nn.Linear):
                module.weight.data = module.weight.data.to(torch.bfloat16)
    return half


def stacks_of(network: "torch.nn.Module") -> "list[torch.nn.Module]":
    """The outermost modules of a network's transformers that hold a list of layers."""
    from transformers import PreTrainedModel

    found: dict[int, torch.nn.Module] = {}
    for model in network.modules():
        if isinstance(model, PreTrainedModel):
            found |= {id(stack): stack for stack in _outermost(model)}
    return list(found.values()) or [network]


def _outermost(module: "torch.nn.Module") -> "Iterator[torch.nn.Module]":
    import torch

    if any(isinstance(one, torch.nn.ModuleList) and len(one) for one in module.children()):
        yield module
        return
    for child in module.children():
        yield from _outermost(child)


def _in_half(forward: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """A stack's forward pass under autocast, with its output in single precision."""
    import torch

    @wraps(forward)
    def run(*args: Any, **options: Any) -> Any:
        with torch.autocast(kind, dtype=torch.bfloat16):
            found = forward(*args, **options)
        return _single(found)

    return run


def _single(found: Any) -> Any:
    """A stack's output with its hidden states in single precision."""
    import torch

    if isinstance(found, torch.Tensor):
        return found.float() if found.is_floating_point() else found
    if hasattr(found, "last_hidden_state"):
        found.last_hidden_state = found.last_hidden_state.float()
        return found
    if isinstance(found, tuple):
        return tuple(_single(one) for one in found)
    return found
