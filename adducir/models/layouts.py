"""Names of weights as other programs write them, and their plain names."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_LAYOUTS = (
    # Wrappers: DistributedDataParallel, Lightning, torch.compile.
    (re.compile(r"^(?:(?:module|model|_orig_mod)\.)+"), ""),
    # Fusion-in-Decoder (facebookresearch/FiD) wraps T5's encoder and each of its blocks.
    (re.compile(r"^encoder\.encoder\."), "encoder."),
    (re.compile(r"^(encoder\.block\.\d+\.)module\."), r"\1"),
)
"""What other programs put into the names of weights, in the order in which it is taken away."""


def plain_weights(folder: Path) -> "dict[str, torch.Tensor] | None":
    """A checkpoint's weights by their plain names; None if these are its names, or not unique."""
    from safetensors import safe_open

    found: dict[str, torch.Tensor] = {}
    names: set[str] = set()
    for path in _files(folder):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118 - it is no mapping
                if name not in names and plain_name(name) in found:
                    return None
                names.add(name)
                found[plain_name(name)] = file.get_tensor(name)
    return None if names == set(found) else found


def _files(folder: Path) -> list[Path]:
    """The files that transformers would read; others may hold a head of ours."""
    whole = folder / "model.safetensors"
    return [whole] if whole.is_file() else sorted(folder.glob("model-*.safetensors"))


def weight_count(folder: Path) -> int:
    """How many weights a checkpoint has.

    Raises:
        SafetensorError: A file is damaged.
    """
    from safetensors import safe_open

    count = 0
    for path in _files(folder):
        with safe_open(path, "pt") as file:
            count += len(file.keys())
    return count


def plain_name(name: str) -> str:
    """A weight's name without what wrappers put into it."""
    for pattern, plain in _LAYOUTS:
        name = pattern.sub(plain, name)
    return name
