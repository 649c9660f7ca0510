"""How a network runs: where, with how many threads, who computes its chunks."""

from dataclasses import dataclass

from adducir.core.executors import HERE, Execution
from adducir.core.processes import MOST_THREADS
from adducir.core.texts import refuse_unless_count
from adducir.models.machine import Precision


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
            refuse_unless_count(self.threads, "`threads`", MOST_THREADS)


PLAIN = Running()
