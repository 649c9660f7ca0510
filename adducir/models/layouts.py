"""A checkpoint's files of weights, and the names of weights as other programs write them."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from adducir.core.errors import InputError
from adducir.core.json_lines import json_object

if TYPE_CHECKING:
    import torch

_NAMES = ("model.safetensors", "pytorch_model.bin")
"""What transformers looks for, in that order; either can be in several files with an index."""

_LAYOUTS = (
    # Wrappers: DistributedDataParallel, Lightning, torch.compile.
    (re.compile(r"^(?:(?:module|model|_orig_mod)\.)+"), ""),
    # Fusion-in-Decoder (facebookresearch/FiD) wraps T5's encoder and each of its blocks.
    (re.compile(r"^encoder\.encoder\."), "encoder."),
    (re.compile(r"^(encoder\.block\.\d+\.)module\."), r"\1"),
)
"""What other programs put into the names of weights, in the order in which it is taken away."""

_GLOBAL = re.compile(r"GLOBAL (\S+)")


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a checkpoint's weights: safetensors, or pickled where there are none.

    Raises:
        InputError: There are none, or one that the index names is not there.
    """
    for name in _NAMES:
        if (folder / name).is_file():
            return [folder / name]
        index = folder / f"{name}.index.json"
        if not index.is_file():
            continue
        places = json_object(index).get("weight_map")
        names = sorted({*map(str, places.values())}) if isinstance(places, dict) else []
        if not names:
            raise InputError("its `weight_map` names no file of weights.", path=index)
        for one in names:
            if Path(one).name != one or not (folder / one).is_file():
                raise InputError(
                    f"the weights are incomplete: this index names {one!r}, which is not there.",
                    path=index,
                    hint="Fetch or copy the model again, all of its files.",
                )
        return [folder / one for one in names]
    raise InputError(
        f"this model has no weights: neither {_NAMES[0]} nor {_NAMES[1]}.", path=folder
    )


def weights_in(path: Path) -> "Iterator[tuple[str, Callable[[], torch.Tensor]]]":
    """The names of the weights in a file, each with what reads it.

    Raises:
        InputError: A pickled file is damaged, or holds more than weights.
        SafetensorError: A file of safetensors is damaged.
    """
    if path.suffix == ".bin":
        for name, weight in _unpickled(path).items():
            yield name, partial(_itself, weight)
        return
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        for name in file.keys():  # noqa: SIM118 - it is not a mapping
            yield name, partial(file.get_tensor, name)


def _itself(weight: "torch.Tensor") -> "torch.Tensor":
    return weight


def _unpickled(path: Path) -> "dict[str, torch.Tensor]":
    """The weights of a pickled file; ``weights_only`` makes tensors and runs nothing of it."""
    import torch

    try:
        try:
            found = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError as error:
            if "mmap can only be used with" not in str(error):
                raise
            found = torch.load(path, map_location="cpu", weights_only=True)  # torch before 1.6
    except (MemoryError, OSError):
        raise
    except Exception as error:  # UnpicklingError, EOFError, RuntimeError, ...
        named = _GLOBAL.search(str(error))
        what = (
            f"it holds more than weights ({named[1]}), and may run code when it is loaded"
            if named
            else f"it cannot be read as pickled weights ({type(error).__name__})"
        )
        raise InputError(
            f"{what}.",
            path=path,
            hint="Nothing in it was run. Take the model from where it was first published.",
        ) from error
    if not isinstance(found, dict) or not found:
        raise InputError(f"it holds no weights by name, but a {type(found).__name__}.", path=path)
    for name, value in found.items():
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            raise InputError(f"{str(name)[:100]!r} in it is not a plain tensor.", path=path)
    return found


def plain_weights(folder: Path) -> "dict[str, torch.Tensor] | None":
    """A checkpoint's weights by their plain names; None if these are its names, or not unique."""
    found: dict[str, torch.Tensor] = {}
    names: set[str] = set()
    for path in weight_files(folder):
        for name, read in weights_in(path):
            if name not in names and plain_name(name) in found:
                return None
            names.add(name)
            found[plain_name(name)] = read()
    return None if names == set(found) else found


def plain_name(name: str) -> str:
    """A weight's name without what wrappers put into it."""
    for pattern, plain in _LAYOUTS:
        name = pattern.sub(plain, name)
    return name
