"""Which precision is faster on this machine: tried, since what a processor lists does not say.

A processor may list instructions for bfloat16 and still take longer with them than in single
precision, where it has no units for products of matrices (AMX). So a layer of a transformer is
timed in both, on as many tokens as a batch on that device might have, in turn; medians count. On a
processor it is one thread's work that is timed, not the clock, so that a busy machine gives the
same answer as an idle one. What was found is kept in the user's cache, by all that identifies the
machine.
"""

import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from adducir.core.errors import AdducirError
from adducir.core.files import read_text, writing_text
from adducir.core.fingerprint import fingerprint
from adducir.core.folders import cache_folder
from adducir.core.progress import SILENT, Progress
from adducir.models.machine import Precision, seed_of, using_threads
from adducir.models.precision import computing_in

if TYPE_CHECKING:
    import torch

Timer = Callable[[], float]
"""Seconds from some moment."""

GAIN = 1.2
"""bfloat16 is coarser, and taken only where it is faster by this factor."""
ROUNDS = 5

_SIZES = {"cpu": (4, 128, 384)}
_LARGE = (64, 256, 768)
"""Texts, tokens of each, and numbers of a state; the large one is for devices that few tokens do
not keep busy."""
_HEADS = 12
_VERSION = 1


@dataclass(frozen=True)
class Probe:
    """How long a layer takes.

    Attributes:
        machine: What computes: a processor or a device.
        float32: Seconds in single precision.
        bfloat16: Seconds in half precision; None where the device cannot.
    """

    machine: str
    float32: float
    bfloat16: float | None

    @property
    def fastest(self) -> Precision:
        """What is taken where the machine chooses."""
        half = self.bfloat16
        return "bfloat16" if half is not None and half * GAIN <= self.float32 else "float32"

    @property
    def reason(self) -> str:
        """The choice with its figures, in a line."""
        if self.bfloat16 is None:
            return f"float32, since {self.machine} does not compute in bfloat16"
        times = f"{1000 * self.bfloat16:.3g} ms in bfloat16, {1000 * self.float32:.3g} ms in"
        return f"{self.fastest}: a layer takes {times} float32 ({self.machine})"


def fastest_precision(
    device: "torch.device", *, progress: Progress = SILENT, timer: Timer | None = None
) -> Precision:
    """The precision that is faster on a device; the reason is a note.

    Args:
        timer: What times; see :func:`probe`.
    """
    found = probe(device, timer=timer)
    progress.note(f"computing in {found.reason}")
    return found.fastest


def probe(device: "torch.device", *, timer: Timer | None = None) -> Probe:
    """Time both precisions, unless the cache holds what was found on this machine.

    Args:
        timer: What times; by default the time that the process works, and the clock for devices
            beside the processor.
    """
    known = _identity(device)
    cache = cache_folder()
    path = None if cache is None else cache / f"precision-{fingerprint(known)[:16]}.json"
    found = None if path is None else _kept(path)
    if found is None:
        timer = timer or (time.process_time if device.type == "cpu" else time.perf_counter)
        with using_threads(1):
            found = _probe(device, str(known["machine"]), timer)
        if path is not None:
            _keep(found, path)
    return found


def _identity(device: "torch.device") -> dict[str, Any]:
    """All that the times depend on, as far as it can be determined."""
    import torch

    is_gpu = device.type == "cuda"
    listed: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return {
        "version": _VERSION,
        "device": device.type,
        "machine": torch.cuda.get_device_name(device) if is_gpu else processor(),
        "capabilities": {key: value for key, value in listed.items() if isinstance(value, bool)},
        "torch": torch.__version__,
    }


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


def _probe(device: "torch.device", machine: str, timer: Timer) -> Probe:
    """Time a layer in both precisions in turn, once each beforehand to warm up."""
    import torch

    texts, tokens, width = _SIZES.get(device.type, _LARGE)
    draw = torch.Generator().manual_seed(seed_of("probe"))
    states = torch.randn(texts, tokens, width, generator=draw).to(device)
    layer = _layer(width).to(device).eval()
    taken: dict[Precision, list[float]] = {precision: [] for precision in get_args(Precision)}
    for _ in range(1 + ROUNDS):
        for precision, times in list(taken.items()):
            try:
                with torch.inference_mode(), computing_in(precision, layer):
                    began = timer()
                    layer(states).sum().item()  # waits for a device
                    times.append(timer() - began)
            except (RuntimeError, NotImplementedError):
                if precision == "float32":
                    raise
                del taken[precision]
    found = {precision: statistics.median(times[1:]) for precision, times in taken.items()}
    return Probe(machine, found["float32"], found.get("bfloat16"))


def _layer(width: int) -> "torch.nn.Module":
    """A layer as BERT has them: products of matrices are nearly all of its work."""
    import torch
    from torch.nn import functional

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mixed = torch.nn.Linear(width, 3 * width)
            self.out = torch.nn.Linear(width, width)
            self.wide = torch.nn.Linear(width, 4 * width)
            self.narrow = torch.nn.Linear(4 * width, width)
            self.norms = torch.nn.Sequential(torch.nn.LayerNorm(width), torch.nn.LayerNorm(width))

        def forward(self, states: torch.Tensor) -> torch.Tensor:
            parts = self.mixed(states).unflatten(-1, (3, _HEADS, width // _HEADS))
            query, key, value = parts.permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(query, key, value)
            states = self.norms[0](states + self.out(mixed.transpose(1, 2).flatten(2)))
            found: torch.Tensor = self.norms[1](
                states + self.narrow(functional.gelu(self.wide(states)))
            )
            return found

    return Layer()


def _kept(path: Path) -> Probe | None:
    """What an earlier process found; None where there is nothing that can be read."""
    try:
        details = json.loads(read_text(path))
        found = Probe(
            str(details["machine"]),
            float(details["float32"]),
            None if details["bfloat16"] is None else float(details["bfloat16"]),
        )
    except (AdducirError, ValueError, TypeError, KeyError):
        return None
    return found if found.float32 > 0 else None


def _keep(found: Probe, path: Path) -> None:
    try:
        with writing_text(path) as handle:
            handle.write(json.dumps(asdict(found)) + "\n")
    except AdducirError:  # the next process tries again
        pass
