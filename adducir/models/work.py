"""Work of a network on many items, in chunks; see :mod:`adducir.core.chunks`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from adducir.core.executors import Place
from adducir.models.arrays import write_shard
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import device_kind, device_of_worker, settle_threads

if TYPE_CHECKING:
    import torch

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class ModelWork(ABC):
    """Items and what makes arrays of them; a subclass can be pickled, and is small.

    Attributes:
        size: Items in a chunk.
        threads: Of each worker that has a process of its own.
        tokens: Padded tokens in a batch.
    """

    size: int
    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    doing: ClassVar[str]
    unit: ClassVar[str]

    @property
    def total(self) -> int | None:
        return None

    def identity(self) -> Mapping[str, Any]:
        return {"batches": batch_rule(self.tokens), "versions": model_versions()}

    def check(self) -> None:  # noqa: B027  (nothing to refuse unless a kind knows of something)
        pass

    @abstractmethod
    def items(self, *, check: bool) -> Iterator[Any]: ...

    @abstractmethod
    def describe(self, item: Any) -> tuple[str, bytes]: ...

    @abstractmethod
    def load(self, device: "torch.device") -> Callable[[Sequence[Any]], Arrays]:
        """Load the network; gives what makes the arrays of a chunk's items."""

    def builder(self, place: Place) -> "_Builder":
        settle_threads(self.threads, place)
        return _Builder(self, device_of_worker(self.device, place))


class _Builder:
    def __init__(self, work: ModelWork, device: "torch.device") -> None:
        self.device, self._arrays = device_kind(device), work.load(device)

    def make(self, items: Sequence[Any], path: Path) -> None:
        write_shard(path, self._arrays(items))
