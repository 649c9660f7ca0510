"""Work of a network on many items, in chunks; see :mod:`adducir.core.chunks`."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from adducir.core.chunks import Maker, Work
from adducir.core.executors import Place
from adducir.models.arrays import write_shard
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import device_kind, device_of_worker, settle_threads

if TYPE_CHECKING:
    import torch

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class ModelWork(Work):
    """Items and what makes arrays of them; a subclass can be pickled, and is small."""

    size: int  # items in a chunk
    device: str = "auto"
    threads: int | None = None  # of each worker that has a process of its own
    tokens: int | None = None  # padded, in a batch

    def identity(self) -> Mapping[str, Any]:
        return {"batches": batch_rule(self.tokens), "versions": model_versions()}

    @abstractmethod
    def load(self, device: "torch.device") -> Callable[[Sequence[Any]], Arrays]:
        """Load the network; gives what makes the arrays of a chunk's items."""

    def maker(self, place: Place) -> tuple[str, Maker]:
        settle_threads(self.threads, place)
        device = device_of_worker(self.device, place)
        arrays = self.load(device)
        return device_kind(device), lambda items, path: write_shard(path, arrays(items))
