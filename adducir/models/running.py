"""How a network runs: where, with how many threads, who computes its chunks."""

import re
from dataclasses import dataclass

from adducir.core.errors import UsageError, worded
from adducir.core.executors import HERE, Execution
from adducir.core.processes import MOST_THREADS
from adducir.core.texts import refuse_unless_count
from adducir.models.machine import Precision

_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")


@dataclass(frozen=True)
class Running:
    """How a network runs; only the precision is in fingerprints."""

    device: str = "auto"
    threads: int | None = None  # of torch, in each worker process
    tokens: int | None = None  # padded, per batch; affects the last digits of figures
    precision: Precision = "float32"
    execution: Execution = HERE

    def __post_init__(self) -> None:
        if self.threads is not None:
            refuse_unless_count(self.threads, worded("threads"), MOST_THREADS)
        if self.tokens is not None:
            refuse_unless_count(self.tokens, worded("batch_tokens"))
        if not _DEVICE.fullmatch(self.device):
            names = "auto, cpu, mps, cuda or, for one of several, cuda:1"
            raise UsageError(f"{worded('device')} must be {names}, not {self.device!r}.")


PLAIN = Running()
