"""Reads pickled weights and writes safetensors; run in a process of its own, see ``conversion``.

``python -m adducir.models.unpickling OUTPUT FILE...`` writes the weights in some files into the
folder OUTPUT. torch.load with ``weights_only=True`` runs no code of a pickle and makes nothing but
tensors; that a file may still crash a parser, or unpack to more than the machine has, is why this
process does nothing else. It ends with code 3 and a sentence on stderr where a file is refused, and
with 4 where memory or disk do not suffice.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from adducir.core.system_errors import disk_full, is_disk_full, machine_error

if TYPE_CHECKING:
    import torch

REFUSED, LACKING = 3, 4
"""Exit codes."""

SHARD = 2 << 30
"""Bytes of a file of safetensors, at most, where no tensor alone is greater."""
_MEMORY = 8 << 30
_FORMAT = {"format": "pt"}
_GLOBAL = re.compile(r"GLOBAL (\S+)")


def main(arguments: Sequence[str]) -> None:
    """Convert the files into the folder, which is empty."""
    output, files = Path(arguments[0]), [Path(name) for name in arguments[1:]]
    size = sum(path.stat().st_size for path in files)
    _limit_memory(2 * size + _MEMORY)
    try:
        _write(files, output, size)
    except MemoryError:
        _stop(LACKING, "the memory does not suffice to convert these weights")
    except OSError as error:
        _stop(LACKING, f"{error.strerror}: {error.filename or output}")
    except Exception as error:
        # safetensors writes by itself, and has an error of its own for the disk's.
        own = disk_full(output) if is_disk_full(error) else machine_error(error)
        if own is None:
            raise
        _stop(LACKING, own.what)


def _limit_memory(size: int) -> None:
    """Let a file that unpacks to more than weights would fail here, not take the machine's all."""
    with suppress(ImportError, OSError, ValueError):  # where the system has no such limits
        import resource

        for kind, most in ((resource.RLIMIT_DATA, size), (resource.RLIMIT_CORE, 0)):
            _, hard = resource.getrlimit(kind)
            soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (soft, hard))


def _write(files: Sequence[Path], output: Path, size: int) -> None:
    from safetensors.torch import save_file

    parts: list[list[str]] = []
    total = 0
    for batch in _batches(files):
        made = sum(tensor.nbytes for tensor in batch.values())
        total += made
        # Tied weights are written once for each of their names, which is some times at most.
        if total > 8 * size + (64 << 20):
            _stop(REFUSED, "it unpacks to many times its size, as no weights do")
        made_at = output / _part(len(parts))
        save_file(batch, made_at, metadata=_FORMAT)
        made_at.chmod(0o666 & ~_umask())  # safetensors lets nobody else read it
        parts.append(sorted(batch))
    if not parts:
        _stop(REFUSED, "there are no weights in it")
    if len(parts) == 1:
        (output / _part(0)).rename(output / "model.safetensors")
        return
    names: dict[str, str] = {}
    for number, part in enumerate(parts):
        name = f"model-{number + 1:05d}-of-{len(parts):05d}.safetensors"
        (output / _part(number)).rename(output / name)
        names |= dict.fromkeys(part, name)
    index = {"metadata": {"total_size": total}, "weight_map": names}
    text = json.dumps(index, indent=2, sort_keys=True)
    (output / "model.safetensors.index.json").write_text(f"{text}\n", encoding="utf-8")


def _umask() -> int:
    """What this process takes from the rights of new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _part(number: int) -> str:
    return f"part-{number:05d}"


def _batches(files: Sequence[Path]) -> "Iterator[dict[str, torch.Tensor]]":
    """The weights of all files by name, as many at a time as a file is to have."""
    seen: set[str] = set()
    for path in files:
        weights = _loaded(path)
        batch: dict[str, torch.Tensor] = {}
        held = 0
        for name in sorted(weights):
            if name in seen:
                _stop(REFUSED, f"the weights {name} stand in it twice", path)
            seen.add(name)
            # A name that shares its numbers with another gets numbers of its own, so that every
            # name is there for whichever class reads it.
            tensor = weights[name].detach().clone().contiguous()
            if batch and held + tensor.nbytes > SHARD:
                yield batch
                batch, held = {}, 0
            batch[name] = tensor
            held += tensor.nbytes
        if batch:
            yield batch


def _loaded(path: Path) -> "dict[str, torch.Tensor]":
    """The tensors of a file by their names.

    A file of PyTorch Lightning or of an older transformers has them under ``state_dict``.
    """
    import torch

    found = _unpickled(path)
    if isinstance(found, dict) and isinstance(found.get("state_dict"), dict):
        found = found["state_dict"]
    if not isinstance(found, dict):
        _stop(REFUSED, f"it holds no weights by name, but a {type(found).__name__}", path)
    for name, value in found.items():
        is_plain = isinstance(value, torch.Tensor) and value.layout == torch.strided
        if not isinstance(name, str) or not is_plain or value.is_quantized or value.is_meta:
            _stop(REFUSED, f"{str(name)[:100]!r} in it is no plain tensor", path)
    size = 8 * path.stat().st_size + (64 << 20)
    if sum(value.numel() * value.element_size() for value in found.values()) > size:
        _stop(REFUSED, "it unpacks to many times its size, as no weights do", path)
    return found


def _unpickled(path: Path) -> Any:
    import torch

    try:
        try:
            return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError as error:
            if "mmap can only be used with" not in str(error):
                raise
            # Before torch 1.6 files were no archives, which cannot be mapped.
            return torch.load(path, map_location="cpu", weights_only=True)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        message = " ".join(str(error).split())
        if "allocate memory" in message:
            raise MemoryError from error
        named = _GLOBAL.search(message)
        if named:
            what = f"it holds more than weights ({named[1]}), and may run code when it is loaded"
        else:
            what = f"it cannot be read as weights ({type(error).__name__})"
        _stop(REFUSED, what, path)


def _stop(code: int, what: str, path: Path | None = None) -> NoReturn:
    sys.stderr.write(f"{path.name}: {what}\n" if path else f"{what}\n")
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
