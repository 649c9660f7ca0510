"""Arrays in a safetensors file that knows its own content: what is read is what was written.

The file's metadata hold the SHA-256 of the names, types, shapes and values of its arrays, so that a
file that no manifest lists (kept scores, the parts of work under way) is never taken for
what it was not.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import ArtifactError
from adducir.core.files import publishing

if TYPE_CHECKING:
    import torch

DIGEST = "sha256"


def write_shard(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays, whole or not at all."""
    from safetensors.numpy import save_file

    # safetensors writes the memory as it lies there, which is not that of a transposed array.
    whole = {name: np.asarray(one, order="C") for name, one in arrays.items()}
    with publishing(path) as hidden:
        save_file(whole, hidden, metadata={DIGEST: _digest(whole)})


def read_shard(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file of :func:`write_shard`; an ArtifactError where it is damaged."""
    from safetensors import SafetensorError, safe_open

    damaged = ArtifactError(
        "this file is damaged: its content is not what was written.",
        path=path,
        hint=f"Delete {path.parent} and run this again, or build the artifact with --rebuild.",
    )
    try:
        with safe_open(path, "np") as file:
            digest = dict(file.metadata() or {}).get(DIGEST)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (OSError, SafetensorError, ValueError, TypeError, RuntimeError) as error:
        raise damaged from error
    if digest != _digest(arrays):
        raise damaged
    return arrays


class Stored:
    """Base of data classes whose fields are arrays, kept together in one file."""

    def save(self, path: Path) -> None:
        write_shard(path, dict(vars(self)))

    @classmethod
    def load(cls, path: Path) -> Self:
        return cls(**read_shard(path))


def save_weights(path: Path, model: "torch.nn.Module") -> None:
    """Write all parameters and buffers; what is shared is there once."""
    named = (*model.named_parameters(), *model.named_buffers())
    write_shard(path, {name: tensor.detach().cpu().numpy() for name, tensor in named})


def load_weights(path: Path, model: "torch.nn.Module") -> None:
    """Set a network's parameters and buffers from a file of :func:`save_weights`."""
    import torch

    arrays = read_shard(path)
    with torch.no_grad():
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            tensor.copy_(torch.from_numpy(arrays[name]))


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name, one in sorted(arrays.items()):
        digest.update(f"{name} {one.dtype} {list(one.shape)}\n".encode())
        digest.update(one.data.cast("B") if one.size else b"")
    return digest.hexdigest()
