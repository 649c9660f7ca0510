"""Arrays in a safetensors file that knows its own content: what is read is what was written.

The file's metadata hold the SHA-256 of the names, types, shapes and values of its arrays, so that a
file which no artifact's manifest lists (kept scores, the parts of work under way) is never taken
for what it was not.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from adducir.core.errors import ArtifactError
from adducir.core.files import publishing

if TYPE_CHECKING:
    import torch

DIGEST = "sha256"


def write_shard(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays, whole or not at all.

    Raises:
        MachineError: The disk is full, or the place cannot be written.
    """
    import numpy as np
    from safetensors.numpy import save_file

    # safetensors writes the memory as it lies there, which is not that of a transposed array.
    whole = {name: np.ascontiguousarray(one) for name, one in arrays.items()}
    metadata = {DIGEST: _digest((name, one, one) for name, one in whole.items())}
    with publishing(path) as hidden:
        save_file(whole, hidden, metadata=metadata)


def read_shard(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file of :func:`write_shard`.

    Raises:
        FileNotFoundError: There is none.
        ArtifactError: It is damaged, or was not written by :func:`write_shard`.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "np") as file:
            wanted = (file.metadata() or {}).get(DIGEST)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (OSError, SafetensorError, ValueError, TypeError) as error:
        raise _damaged(path) from error
    if wanted != _digest((name, one, one) for name, one in arrays.items()):
        raise _damaged(path)
    return arrays


class Stored:
    """Base of data classes whose fields are arrays, kept together in one file."""

    def save(self, path: Path) -> None:
        """Write them; see :func:`write_shard`."""
        write_shard(path, dict(vars(self)))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read them.

        Raises:
            ArtifactError: The file is damaged.
        """
        return cls(**read_shard(path))


def is_whole(path: Path) -> bool:
    """Whether there is a file of :func:`write_shard`, undamaged."""
    try:
        read_shard(path)
    except (FileNotFoundError, ArtifactError):
        return False
    return True


def write_tensors(
    path: Path, tensors: "Mapping[str, torch.Tensor]", metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors and texts, whole or not at all.

    Raises:
        MachineError: The disk is full, or the place cannot be written.
    """
    from safetensors.torch import save_file

    with publishing(path) as hidden:
        digest = _digest_of_tensors(tensors, metadata or {})
        save_file(dict(tensors), hidden, metadata={**(metadata or {}), DIGEST: digest})


def read_tensors(path: Path) -> "tuple[dict[str, torch.Tensor], dict[str, str]]":
    """The tensors and texts of a file of :func:`write_tensors`.

    Raises:
        ArtifactError: It is damaged, or was not written by :func:`write_tensors`.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            metadata = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, TypeError, RuntimeError) as error:
        raise _damaged(path) from error
    wanted = metadata.pop(DIGEST, None)
    if wanted != _digest_of_tensors(tensors, metadata):
        raise _damaged(path)
    return tensors, metadata


def _digest_of_tensors(tensors: "Mapping[str, torch.Tensor]", metadata: Mapping[str, str]) -> str:
    import torch

    def bytes_of(tensor: torch.Tensor) -> NDArray[Any]:
        array: NDArray[Any] = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
        return array

    found = _digest((name, one, bytes_of(one)) for name, one in tensors.items())
    return hashlib.sha256(
        "\n".join([found, *map(repr, sorted(metadata.items()))]).encode()
    ).hexdigest()


def _digest(arrays: Iterable[tuple[str, Any, NDArray[Any]]]) -> str:
    """Of names, what has a type and a shape, and the values; in the order of names."""
    digest = hashlib.sha256()
    for name, kind, values in sorted(arrays, key=lambda one: one[0]):
        digest.update(f"{name} {kind.dtype} {list(kind.shape)}\n".encode())
        # A copy only where the values do not lie in a row.
        digest.update(
            values.data.cast("B") if values.size and values.flags.c_contiguous else values.tobytes()
        )
    return digest.hexdigest()


def _damaged(path: Path) -> ArtifactError:
    return ArtifactError(
        "this file is damaged: it is not what was written.",
        path=path,
        hint=f"Delete {path.parent} and run this again, or build the artifact with --rebuild.",
    )
