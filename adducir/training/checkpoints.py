"""Snapshots of a training: weights, the optimiser's moments and the state, in one safetensors file.

Nothing is pickled. A snapshot is written whole or not at all, so that a kill at any moment leaves
the last one; a damaged one is refused (:mod:`adducir.models.arrays`).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.models.arrays import read_tensors, write_tensors

if TYPE_CHECKING:
    import torch

_MODEL, _ADAM = "model.", "adam."
_STATE = "state"


def weights_of(model: "torch.nn.Module") -> "dict[str, torch.Tensor]":
    """Copies of all parameters and buffers on the CPU; what is shared stands once."""
    named = (*model.named_parameters(), *model.named_buffers())
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in named}


def put_weights(model: "torch.nn.Module", weights: "Mapping[str, torch.Tensor]") -> None:
    """Set parameters and buffers to what :func:`weights_of` gave.

    Raises:
        KeyError: One is missing.
    """
    import torch

    with torch.no_grad():
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            tensor.copy_(weights[name])


def save_weights(path: Path, model: "torch.nn.Module") -> None:
    """Write a model's parameters and buffers.

    Raises:
        MachineError: The disk is full, or the place cannot be written.
    """
    write_tensors(path, weights_of(model))


def load_weights(path: Path, model: "torch.nn.Module") -> None:
    """Set a model's parameters and buffers from a file of :func:`save_weights`.

    Raises:
        ArtifactError: It is damaged.
    """
    put_weights(model, read_tensors(path)[0])


def save_snapshot(
    path: Path,
    model: "torch.nn.Module",
    optimiser: "torch.optim.AdamW",
    state: Mapping[str, Any],
) -> None:
    """Write all that a training needs to go on; ``state`` is what JSON can hold.

    Raises:
        MachineError: The disk is full, or the place cannot be written.
    """
    tensors = {f"{_MODEL}{name}": tensor for name, tensor in weights_of(model).items()}
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    for parameter, moments in optimiser.state.items():
        for key, value in moments.items():
            tensors[f"{_ADAM}{names[id(parameter)]}/{key}"] = value.detach().cpu().contiguous()
    write_tensors(path, tensors, {_STATE: json.dumps(state)})


def load_snapshot(
    path: Path, model: "torch.nn.Module", optimiser: "torch.optim.AdamW"
) -> dict[str, Any]:
    """Put a snapshot into model and optimiser, and return its state.

    Raises:
        ArtifactError: It is damaged.
    """
    tensors, details = read_tensors(path)
    state: dict[str, Any] = json.loads(details[_STATE])
    weights = {name[len(_MODEL) :]: t for name, t in tensors.items() if name.startswith(_MODEL)}
    put_weights(model, weights)
    parameters = dict(model.named_parameters())
    for name, tensor in tensors.items():
        if name.startswith(_ADAM):
            owner, _, key = name[len(_ADAM) :].rpartition("/")
            parameter = parameters[owner]
            # The count of steps stays on the CPU, as the optimiser itself keeps it.
            place = tensor if key == "step" else tensor.to(parameter.device)
            optimiser.state[parameter][key] = place
    return state
