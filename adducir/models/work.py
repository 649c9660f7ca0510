"""Work of a network on many items, in chunks; see :mod:`adducir.core.chunks`."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from adducir.core.artifacts import Manifest
from adducir.core.chunks import Maker, Work, build_in_chunks
from adducir.core.executors import HERE, Execution, Place
from adducir.models.arrays import write_shard
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import (
    Precision,
    device_kind,
    device_of_worker,
    settle_threads,
    using_threads,
)

if TYPE_CHECKING:
    import torch

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Running:
    """How a network runs; of all this only the precision is in a fingerprint."""

    device: str = "auto"
    threads: int | None = None  # of torch; of each worker that has a process of its own
    tokens: int | None = None  # padded, in a batch
    precision: Precision = "float32"
    execution: Execution = HERE


PLAIN = Running()


@dataclass(frozen=True, kw_only=True)
class ModelWork(Work):
    """Items and what makes arrays of them; a subclass can be pickled, and is small."""

    size: int  # items in a chunk
    running: Running = PLAIN

    def identity(self) -> Mapping[str, Any]:
        return {"batches": batch_rule(self.running.tokens), "versions": model_versions()}

    @abstractmethod
    def load(self, device: "torch.device") -> Callable[[Sequence[Any]], Arrays]:
        """Load the network; gives what makes the arrays of a chunk's items."""

    def maker(self, place: Place) -> tuple[str, Maker]:
        settle_threads(self.running.threads, place)
        device = device_of_worker(self.running.device, place)
        arrays = self.load(device)
        return device_kind(device), lambda items, path: write_shard(path, arrays(items))

    def build(
        self, output: Path, *, versions: Mapping[str, str] | None = None, **about: Any
    ) -> Manifest:
        """Build the artifact of this work; see :func:`adducir.core.chunks.build_in_chunks`."""
        versions = {**model_versions(), **(versions or {})}
        with using_threads(self.running.threads):
            execution = self.running.execution
            return build_in_chunks(output, self, execution=execution, versions=versions, **about)
