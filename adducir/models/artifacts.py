"""The content of models' artifacts: arrays in safetensors files, settings in JSON, versions.

A file of arrays identifies its content: its metadata have the SHA-256 of names, types, shapes and
values, so that files of unfinished work, which no manifest lists, can be trusted.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from adducir.core.errors import ArtifactError, InputError, sorted_error, worded
from adducir.core.files import publishing
from adducir.core.json_lines import json_object
from adducir.core.manifests import refuse_damaged
from adducir.core.recipe import Recipe, told
from adducir.core.texts import shortened

if TYPE_CHECKING:
    import torch

DIGEST = "sha256"
Kind = TypeVar("Kind", bound=Recipe)


def write_shard(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays atomically."""
    from safetensors.numpy import save_file

    # safetensors writes memory as it is laid out, which is wrong for transposed arrays.
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    with publishing(path) as hidden:
        save_file(whole, hidden, metadata={DIGEST: _digest(whole)})


def read_shard(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays in a file of :func:`write_shard`; an ArtifactError if it is damaged."""
    from safetensors import SafetensorError, safe_open

    damaged = ArtifactError(
        "this file is damaged: its content has changed.",
        path=path,
        hint=f"Delete {path.parent} and run this again, or build it anew "
        f"({worded('rebuild', 'true')}).",
    )
    try:
        with safe_open(path, "np") as file:
            digest = dict(file.metadata() or {}).get(DIGEST)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (OSError, SafetensorError, ValueError, TypeError, RuntimeError) as error:
        raise sorted_error(error, path, damaged) from error
    if digest != _digest(arrays):
        raise damaged
    return arrays


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {list(array.shape)}\n".encode())
        digest.update(array.data.cast("B") if array.size else b"")
    return digest.hexdigest()


class Stored:
    """Base of data classes whose fields are arrays, stored in one file."""

    def save(self, path: Path) -> None:
        write_shard(path, dict(vars(self)))

    @classmethod
    def load(cls, path: Path) -> Self:
        return cls(**read_shard(path))


def save_weights(path: Path, model: "torch.nn.Module") -> None:
    """Write all parameters and buffers, shared ones once."""
    named = (*model.named_parameters(), *model.named_buffers())
    write_shard(path, {name: tensor.detach().cpu().numpy() for name, tensor in named})


def load_weights(path: Path, model: "torch.nn.Module") -> None:
    """Set a network's parameters and buffers from a file of :func:`save_weights`."""
    import torch

    arrays = read_shard(path)
    with torch.no_grad():
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            tensor.copy_(torch.from_numpy(arrays[name]))


def model_versions() -> dict[str, str]:
    """The versions of libraries that affect a model's figures."""
    import torch
    import transformers

    return {"torch": torch.__version__, "transformers": transformers.__version__}


class ModelSettings(Recipe):
    """Settings that using a kind of model requires."""

    file: ClassVar[str]
    what: ClassVar[str]  # for a folder without the file, such as "not an encoder"

    def save(self, folder: Path) -> None:
        write_settings(folder / self.file, self.model_dump(mode="json"))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the settings of a model trained with Adducir."""
        refuse_damaged(folder)
        if not (folder / cls.file).is_file():
            raise InputError(
                f"this is {cls.what}: it does not contain {cls.file}.",
                path=folder,
                hint="Name a folder that `adducir train` created from a recipe of that kind.",
            )
        return as_settings(folder / cls.file, json_object(folder / cls.file), cls)


def write_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Write settings (for a recipe, its ``model_dump(mode="json")``)."""
    text = json.dumps(settings, indent=2, sort_keys=True)
    path.write_text(f"{text}\n", encoding="utf-8")


def as_settings(path: Path, facts: Mapping[str, Any], kind: type[Kind]) -> Kind:
    """Restore an object from a file's plain values."""
    try:
        return kind.model_validate(facts)
    except ValidationError as error:
        message = f"Adducir did not write this: {shortened(told(error), 300)}."
        raise InputError(message, path=path) from error
