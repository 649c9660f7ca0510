"""The device, threads and precision of a model, and reproducible seeds.

Half precision is used only for a transformer's layers. They do nearly all of a network's work, and
their states tolerate rounding to bfloat16's 8 bits. What follows the last hidden states does not:
rounding pooling, projection, normalisation, inner products, a classifier's logits and their losses
changes ranks (late-interaction scores come in steps of 1/16). So autocast covers only the stack of
layers, whose output is in single precision again.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from adducir.core.errors import UsageError
from adducir.core.processes import default_threads

if TYPE_CHECKING:
    import torch

    from adducir.core.executors import Place

Precision = Literal["float32", "bfloat16"]
"""A network's precision: float32 unless bfloat16 is requested."""


def choose_device(name: str = "auto", place: "Place | None" = None) -> "torch.device":
    """The device with a name; ``auto`` is the first available of CUDA, MPS and CPU.

    Each of several workers (``place``) uses the next GPU, unless the name numbers one.
    """
    import torch

    has_mps = bool(torch.backends.mps.is_available())
    there = {"cuda": torch.cuda.is_available(), "mps": has_mps, "cpu": True}
    if name == "auto":
        name = next(kind for kind, is_there in there.items() if is_there)
    if not there.get(name.partition(":")[0], False):
        raise UsageError(
            f"the device {name!r} is not available.",
            hint=f"Available: {', '.join(key for key, value in there.items() if value)}.",
        )
    if name == "cuda" and place is not None and place.count > 1:
        return torch.device("cuda", place.number % torch.cuda.device_count())
    return torch.device(name)


def device_of(model: "torch.nn.Module") -> "torch.device":
    return next(model.parameters()).device


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """Let torch use ``count`` threads inside the block; None: up to this process's share."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or min(before, default_threads()))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def seed_of(*parts: int | str) -> int:
    """A 63-bit seed that depends on every part, the same on every machine."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


@contextmanager
def computing_in(precision: Precision, network: "torch.nn.Module") -> Iterator[None]:
    """Let a network's layers compute in a precision inside the block; weights stay float32.

    Include the backward pass; a network without transformers' models changes as a whole.
    """
    if precision == "float32":
        yield
        return
    stacks, kind = stacks_of(network), device_of(network).type
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


@contextmanager
def casting_once(network: "torch.nn.Module") -> Iterator[None]:
    """Cast to bfloat16 once what autocast casts again and again: the same figures.

    That is the layers' weights for all batches, and what an attention's projections read.
    """
    import torch

    inside = [module for stack in stacks_of(network) for module in stack.modules()]
    linear = [module for module in inside if isinstance(module, torch.nn.Linear)]
    weights = {
        weight: weight.data for module in linear for weight in module.parameters(recurse=False)
    }
    hooks = [
        module.register_forward_pre_hook(_halve_states, with_kwargs=True)
        for module in inside
        if _projects(module)
    ]
    try:
        for weight, data in weights.items():
            weight.data = data.to(torch.bfloat16)
        yield
    finally:
        for weight, data in weights.items():
            weight.data = data
        for hook in hooks:
            hook.remove()


def _projects(module: "torch.nn.Module") -> bool:
    """Whether a module only projects its states; one that normalises (ALBERT) adds them, too."""
    import torch

    children = list(module.children())
    several = sum(isinstance(child, torch.nn.Linear) for child in children) > 2
    norms = any("Norm" in type(child).__name__ for child in children)
    return "Attention" in type(module).__name__ and several and not norms


def _halve_states(_: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if args:
        args = (args[0].bfloat16(), *args[1:])
    elif "hidden_states" in options:
        options = {**options, "hidden_states": options["hidden_states"].bfloat16()}
    return args, options


def stacks_of(network: "torch.nn.Module") -> "list[torch.nn.Module]":
    """The outermost modules of a network's transformers that contain a list of layers."""
    import torch
    from transformers import PreTrainedModel

    stacks: dict[torch.nn.Module, None] = {}

    def search(module: torch.nn.Module) -> None:
        inside = list(module.children())
        if any(isinstance(module, torch.nn.ModuleList) and len(module) for module in inside):
            stacks[module] = None
        else:
            for child in inside:
                search(child)

    for model in network.modules():
        if isinstance(model, PreTrainedModel):
            search(model)
    return list(stacks) or [network]


def _in_half(forward: Callable[..., Any], kind: str) -> Callable[..., Any]:
    """A stack's forward pass under autocast, with its output in single precision."""
    import torch

    def single(output: Any) -> Any:
        if isinstance(output, torch.Tensor):
            return output.float() if output.is_floating_point() else output
        if hasattr(output, "last_hidden_state"):
            output.last_hidden_state = output.last_hidden_state.float()
            return output
        return tuple(map(single, output)) if isinstance(output, tuple) else output

    @wraps(forward)
    def run(*args: Any, **options: Any) -> Any:
        with torch.autocast(kind, dtype=torch.bfloat16):
            output = forward(*args, **options)
        return single(output)

    return run
