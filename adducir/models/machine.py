"""The device and the threads that a model runs with, and random numbers that can be repeated."""

import hashlib
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from adducir.core.errors import UsageError
from adducir.core.executors import Place
from adducir.core.processes import default_threads

if TYPE_CHECKING:
    import torch

Precision = Literal["float32", "bfloat16"]
"""What a network computes in: float32 everywhere, unless bfloat16 is asked for."""


def choose_device(name: str = "auto") -> "torch.device":
    """The device with that name; ``auto`` is the first of CUDA, MPS and the CPU that is there.

    Raises:
        UsageError: This machine has no such device.
    """
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    kind = name.partition(":")[0]
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": _has_mps()}
    if not there.get(kind, False):
        raise UsageError(
            f"there is no device {name!r} here.",
            hint=f"There is: {', '.join(key for key, value in there.items() if value)}.",
        )
    return torch.device(name)


def processor() -> str:
    """The processor's model, as the system calls it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n"):
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    except OSError:  # not Linux
        pass
    return platform.processor() or platform.machine()


def _has_mps() -> bool:
    import torch

    return bool(torch.backends.mps.is_available())


def device_kind(device: "torch.device") -> str:
    """What kind of device it is, as far as the last digits of figures depend on it.

    Of a GPU its model; of a CPU the instructions that torch's kernels use there.
    """
    import torch

    if device.type == "cuda":
        return f"cuda {torch.cuda.get_device_name(device)}"
    if device.type == "cpu":
        return f"cpu {torch.backends.cpu.get_cpu_capability()}"
    return device.type


def device_of_worker(name: str, place: Place) -> "torch.device":
    """The device of one of several workers: each takes the next GPU where there are some.

    Raises:
        UsageError: This machine has no such device.
    """
    import torch

    device = choose_device(name)
    if device.type == "cuda" and ":" not in name and place.count > 1:
        return torch.device("cuda", place.number % torch.cuda.device_count())
    return device


def settle_threads(count: int | None, place: Place) -> None:
    """Let torch use a worker's share of the threads, for as long as its process lives.

    Args:
        count: Threads of each worker; None: the cores divided among them.
    """
    import torch

    if place.is_alone:
        torch.set_num_threads(count or min(torch.get_num_threads(), default_threads()))


def device_of(model: "torch.nn.Module") -> "torch.device":
    """Where a model's weights are."""
    return next(model.parameters()).device


@contextmanager
def using_threads(count: int | None) -> Iterator[None]:
    """Let torch use ``count`` threads inside the block.

    Args:
        count: None: as many as it would, up to this process's share of the cores.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or min(before, default_threads()))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def seed_of(*parts: int | str) -> int:
    """A seed of 63 bits that depends on every part, the same on every machine."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
