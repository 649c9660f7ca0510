"""Vectors of texts, one or one of each token, in shards made anywhere (:mod:`.core.chunks`).

Texts come in blocks, and batches are cut inside a block. A shard is a block or, where there are few
of them, some batches of one: no vector depends on that. Its file is one of :mod:`.packed_files`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from adducir.core.chunks import NOT_LOADED, TEMPORARY, Chunking, Local, Made
from adducir.core.executors import Place
from adducir.encoders.maxsim import Floats, MultiVectors
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule, computed, token_batches
from adducir.models.machine import choose_device, device_kind, device_of_worker, settle_threads
from adducir.studies.grounded_generation.hindsight.packed_files import (
    PackedFiles,
    PackedPart,
    write_packed,
)

if TYPE_CHECKING:
    import torch

T = TypeVar("T")

Numbers = NDArray[np.int64]

BLOCK = 8192
"""Texts in a block."""
PART = 4
"""Blocks whose vectors are held at a time: 32,768 passages, 2.5 GB of ColBERT's for each side."""
SHARDS = 8
"""Shards, at least, as far as there are batches: so many processes have something to do."""


@dataclass(frozen=True)
class Inputs:
    """Texts as a network reads them.

    Attributes:
        lengths: (n,) tokens of each.
        batch: Gives the padded vectors of texts by place, and which of them count.
    """

    lengths: Sequence[int] | NDArray[np.int64]
    batch: "Callable[[Numbers], tuple[torch.Tensor, torch.Tensor]]"


@dataclass(frozen=True)
class Readable:
    """Texts whose vectors can be computed.

    Attributes:
        read: Reads texts by number.
        numbers: (n,) the texts that are wanted, rising.
        device: What batches are cut for.
    """

    read: Callable[[Numbers], Inputs]
    numbers: Numbers
    device: "torch.device | None" = None

    def block(self, first: int, end: int, tokens: int | None) -> tuple[Inputs, list[Numbers]]:
        """The texts at places ``first`` to ``end`` - 1, and their batches."""
        inputs = self.read(self.numbers[first:end])
        return inputs, token_batches(inputs.lengths, tokens, self.device)


def vectors_of(inputs: Inputs, batches: Sequence[Numbers]) -> Iterator[tuple[int, Floats]]:
    """The places and the vectors of the texts of some batches, without gradient."""
    import torch

    def compute(some: Numbers) -> "tuple[torch.Tensor, torch.Tensor]":
        with torch.inference_mode():
            return inputs.batch(some)

    for some, (vectors, mask) in computed(batches, compute):
        counts, values = mask.bool().cpu().numpy(), vectors.float().cpu().numpy()
        for row, place in enumerate(some.tolist()):
            yield place, values[row][counts[row]]


@dataclass(frozen=True)
class Loader(Generic[T]):
    """What every process loads by itself; pickled, it is small.

    Attributes:
        load: Gives it on a device.
        loaded: The same, in the process that has it.
    """

    load: "Callable[[torch.device], T]"
    loaded: Local = NOT_LOADED

    def get(self, device: "torch.device") -> T:
        """What this process has, or loads."""
        found: T = self.load(device) if self.loaded.value is None else self.loaded.value
        return found


@dataclass(frozen=True)
class Making:
    """How shards are made; no byte of them depends on it, but for ``key``.

    Attributes:
        key: The fingerprint of all that determines them.
        sharding: Who makes them, and beside which output they are kept.
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of each worker that has a process of its own.
        tokens: Padded tokens in a batch; vectors depend on it in their last digits.
    """

    key: str = ""
    chunking: Chunking = TEMPORARY
    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None

    def chosen(self) -> "torch.device":
        """The device of this process."""
        return choose_device(self.device)


class Block(NamedTuple):
    """Some batches of a block of texts: places ``first`` to ``end`` - 1 of those of a name."""

    name: str
    first: int
    end: int
    piece: int
    pieces: int


@dataclass(frozen=True)
class VectorsWork:
    """Vectors of texts; see :mod:`adducir.core.chunks`.

    Attributes:
        texts: The texts, by name.
        counts: How many these are, by name.
        key: The fingerprint of all that determines the vectors.
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of each worker that has a process of its own.
        tokens: Padded tokens in a batch.
        block: Texts in a block.
        shards: How many items there are at least, as far as there are batches.
        size: Items in a shard.
    """

    texts: Loader[Mapping[str, Readable]]
    counts: Mapping[str, int]
    key: str = ""
    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    block: int = BLOCK
    shards: int = SHARDS
    size: int = 1
    doing: str = "encoding"
    unit: str = "blocks"

    @property
    def total(self) -> int:
        return sum(1 for _ in self.items(check=False))

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`: all that determines the vectors."""
        return {
            "key": self.key,
            "counts": self.counts,
            "block": self.block,
            "shards": self.shards,
            "file": "f32",
            "batches": batch_rule(self.tokens),
            "versions": model_versions(),
        }

    def check(self) -> None:
        """See :class:`.Work`: whoever made it has opened the model."""

    def items(self, *, check: bool) -> Iterator[Block]:
        del check
        blocks = sum(-(-count // self.block) for count in self.counts.values())
        pieces = -(-self.shards // max(1, blocks))
        for name, count in self.counts.items():
            for first in range(0, count, self.block):
                end = min(first + self.block, count)
                yield from (Block(name, first, end, piece, pieces) for piece in range(pieces))

    def describe(self, item: Block) -> tuple[str, bytes]:
        """See :class:`.Work`: the texts are those of the key."""
        piece = "" if item.pieces == 1 else f", part {item.piece + 1} of {item.pieces}"
        return f"{item.name} {item.first:,} to {item.end - 1:,}{piece}", b""

    def builder(self, place: Place) -> "_Builder":
        return _Builder(self, place)


class _Builder:
    """A network that makes shards of vectors."""

    def __init__(self, work: VectorsWork, place: Place) -> None:
        settle_threads(work.threads, place)
        device = device_of_worker(work.device, place)
        self.device = device_kind(device)
        self._texts, self._tokens = work.texts.get(device), work.tokens
        # The pieces of a block follow one another.
        self._read = lru_cache(maxsize=1)(self._block)

    def make(self, items: Sequence[Block], path: Path) -> None:
        write_packed(path, self._vectors(items))

    def _vectors(self, items: Sequence[Block]) -> Iterator[tuple[int, Floats]]:
        """The places and the vectors of texts, block after block."""
        before = 0
        for item in items:
            inputs, batches = self._read(item.name, item.first, item.end)
            for place, vectors in vectors_of(inputs, batches[item.piece :: item.pieces]):
                yield before + place, vectors
            before += item.end - item.first

    def _block(self, name: str, first: int, end: int) -> tuple[Inputs, list[Numbers]]:
        return self._texts[name].block(first, end, self._tokens)


class VectorFiles(NamedTuple):
    """The vectors of a :class:`VectorsWork`, in files.

    Attributes:
        blocks: By name, where the texts of each block lie.
        size: Texts in a block.
    """

    blocks: Mapping[str, Sequence[Sequence[PackedPart]]]
    size: int

    @classmethod
    def of(cls, work: VectorsWork, made: Made) -> Self:
        """Those that were made of some work."""
        found: dict[str, dict[int, list[PackedPart]]] = {name: {} for name in work.counts}
        items = work.items(check=False)
        for path in made.files:
            before = 0
            for item in islice(items, work.size):
                end = before + item.end - item.first
                found[item.name].setdefault(item.first, []).append(PackedPart(path, before, end))
                before = end
        return cls({name: [*blocks.values()] for name, blocks in found.items()}, work.block)

    @property
    def names(self) -> dict[str, list[list[str]]]:
        """By name, the files of each block: their names say what they hold."""
        return {
            name: [[one.path.name for one in block] for block in blocks]
            for name, blocks in self.blocks.items()
        }

    def packed(self, name: str, first: int = 0, end: int | None = None) -> PackedFiles:
        """The texts of blocks ``first`` to ``end`` - 1, in their files; by default of all."""
        return PackedFiles(self.blocks[name][first:end], self.size)

    def read(self, name: str, first: int = 0, end: int | None = None) -> MultiVectors:
        """The same, their vectors held."""
        found = self.packed(name, first, end)
        return found.rows(0, len(found))

    def parts(self, name: str, size: int) -> Iterator[MultiVectors]:
        """The vectors of all texts, so many blocks at a time."""
        for first in range(0, len(self.blocks[name]), size):
            yield self.read(name, first, first + size)


@contextmanager
def encoded(
    texts: Loader[Mapping[str, Readable]],
    counts: Mapping[str, int],
    how: Making,
    block: int = BLOCK,
    shards: int = SHARDS,
    least: int = 1,
) -> Iterator[tuple[VectorFiles, Chunking]]:
    """Encode texts by name; the files are there inside the block.

    Args:
        texts: The texts.
        counts: How many these are, by name.
        how: How shards are made.
        block: Texts in a block, whose batches are cut by themselves.
        shards: How many there are at least, as far as there are batches and texts.
        least: Texts of a shard at least, as far as there are others: short blocks share one.

    Yields:
        The files, and where other shards can be kept.

    Raises:
        IncompleteError, MachineError, ArtifactError: See :func:`.make_chunks`.
    """
    most = -(-sum(counts.values()) // least)
    given = how.key, how.device, how.threads, how.tokens, block, max(1, min(shards, most))
    work = VectorsWork(texts, counts, *given)
    work = replace(work, size=max(1, work.total // max(1, most)))
    with how.chunking.made(work) as made:
        yield VectorFiles.of(work, made), replace(how.chunking, keep=True)
