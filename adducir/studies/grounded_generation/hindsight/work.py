"""Arrays of numbered texts or contexts, in chunks that any process can make."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from adducir.core.chunks import TEMPORARY, Chunking, Local
from adducir.encoders.maxsim import MultiVectors
from adducir.models.arrays import read_shard
from adducir.models.batches import in_order
from adducir.models.work import Arrays, ModelWork

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
Numbers = NDArray[np.int64]


class Making(NamedTuple):
    """How chunks are made; no byte of them depends on it, but for ``key``.

    Attributes:
        key: The fingerprint of all that determines them.
        chunking: Who makes them, and beside which output they are kept.
    """

    key: str = ""
    chunking: Chunking = TEMPORARY
    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, kw_only=True)
class NumberedWork(ModelWork, Generic[T]):
    """Arrays of the items 0 to ``count`` - 1.

    Attributes:
        source: Loads what makes them, in another process.
        loaded: The same, in the process that has it.
        key: The fingerprint of all that determines the arrays.
    """

    source: "Callable[[torch.device], T]"
    loaded: Local
    count: int
    key: str

    @classmethod
    def of(
        cls,
        loaded: T,
        source: "Callable[[torch.device], T]",
        count: int,
        size: int,
        how: Making,
        **more: Any,
    ) -> Self:
        """The work that is made so."""
        key, _, device, threads, tokens = how
        given = {"key": key, "device": device, "threads": threads, "tokens": tokens, **more}
        return cls(source=source, loaded=Local(loaded), count=count, size=size, **given)

    @property
    def total(self) -> int:
        return self.count

    def identity(self) -> Mapping[str, Any]:
        return {**super().identity(), "key": self.key, "of": self.doing, "count": self.count}

    def items(self, *, check: bool) -> Iterator[int]:
        del check
        return iter(range(self.count))

    def describe(self, item: int) -> tuple[str, bytes]:
        return str(item), b""  # what these numbers mean is part of the key

    def load(self, device: "torch.device") -> Callable[[Sequence[int]], Arrays]:
        return partial(self.arrays, self.loaded.value or self.source(device))

    @abstractmethod
    def arrays(self, source: T, items: Sequence[int]) -> Arrays:
        """The arrays of a chunk's items."""

    @contextmanager
    def files(self, chunking: Chunking, *, keep: bool = False) -> Iterator[list[Path]]:
        """The files of all chunks, made; ``keep`` them until those of other work are removed."""
        with replace(chunking, keep=keep or chunking.keep).made(self) as made:
            yield made.files


class Encodable(NamedTuple):
    """Texts whose vectors can be computed.

    Attributes:
        lengths: Gives the tokens of some texts.
        batch: Gives their padded vectors, and which of these count.
        device: What batches are cut for.
    """

    lengths: Callable[[Numbers], Sequence[int]]
    batch: "Callable[[Numbers], tuple[torch.Tensor, torch.Tensor]]"
    device: "torch.device | None" = None


@dataclass(frozen=True, kw_only=True)
class EncodingWork(NumberedWork[Encodable]):
    """The vectors of texts, one or several each.

    Attributes:
        name: Of these texts.
    """

    doing: ClassVar[str] = "encoding"
    unit: ClassVar[str] = "texts"
    name: str

    def identity(self) -> Mapping[str, Any]:
        return {**super().identity(), "name": self.name}

    def arrays(self, source: Encodable, items: Sequence[int]) -> Arrays:
        import torch

        numbers = np.array(items, dtype=np.int64)

        def compute(some: Numbers) -> list[Any]:
            with torch.inference_mode():
                vectors, mask = source.batch(numbers[some])
            values, known = vectors.float().cpu().numpy(), mask.bool().cpu().numpy()
            return [own[which] for own, which in zip(values, known, strict=True)]

        lengths = source.lengths(numbers)
        each = in_order(lengths, compute, tokens=self.tokens, device=source.device)
        return vars(MultiVectors.of(each, each[0].shape[1]))


def vectors_in(path: Path) -> MultiVectors:
    """The vectors of a chunk of an :class:`EncodingWork`."""
    return MultiVectors(**read_shard(path))
