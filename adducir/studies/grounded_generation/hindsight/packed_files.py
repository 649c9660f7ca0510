"""Vectors of texts in the files of shards, written as they come and read by number.

A file has the vectors of some texts of one or several blocks, one text's behind the other's, then
two whole numbers for each text (its place, those of the next block behind those of the one before,
and how many vectors it has), then how many texts there are and the numbers of a vector. The values
are single precision, all else int64.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import explaining_writes
from adducir.encoders.maxsim import Floats, MultiVectors

Integers = NDArray[np.int64]


def write_packed(path: Path, texts: Iterable[tuple[int, Floats]]) -> None:
    """Write the vectors of texts; one text is held at a time.

    Args:
        texts: The place of each text, and its (T, D) vectors.

    Raises:
        MachineError: The disk is full, or the place cannot be written.
    """
    index: list[int] = []
    width = 0
    with explaining_writes(path.parent), path.open("wb") as file:
        for place, vectors in texts:
            width = vectors.shape[1]
            file.write(np.ascontiguousarray(vectors, dtype=np.float32).tobytes())
            index += place, len(vectors)
        file.write(np.array([*index, len(index) // 2, width], dtype=np.int64).tobytes())


class PackedPart(NamedTuple):
    """The texts of one block in a file: those at the places ``first`` to ``end`` - 1."""

    path: Path
    first: int
    end: int


@dataclass(frozen=True)
class _Piece:
    """The texts of a block in one file, read by their places in the block.

    Attributes:
        places: (n,) the texts' places in the block, rising.
        begins: (n,) where the vectors of each begin.
        counts: (n,) how many each has.
        width: Numbers of a vector.
    """

    path: Path
    places: Integers
    begins: Integers
    counts: Integers
    width: int

    @classmethod
    def of(cls, part: PackedPart) -> Self:
        """What the end of a file says."""
        with part.path.open("rb") as file:
            file.seek(-16, os.SEEK_END)
            texts, width = np.frombuffer(file.read(16), dtype=np.int64).tolist()
            file.seek(-16 * (texts + 1), os.SEEK_END)
            index = np.frombuffer(file.read(16 * texts), dtype=np.int64).reshape(-1, 2)
        begins = np.append(0, np.cumsum(index[:, 1]))[:-1]
        order = np.argsort(index[:, 0])
        order = order[slice(*np.searchsorted(index[order, 0], (part.first, part.end)))]
        places = index[order, 0] - part.first
        return cls(part.path, places, begins[order], index[order, 1], width)

    def read(self, first: int, last: int, starts: Integers, into: Floats) -> None:
        """Put the vectors of the texts ``first`` to ``last`` - 1 of the block where they belong.

        Args:
            starts: Where those of each of these texts begin.
        """
        some = slice(*np.searchsorted(self.places, (first, last)))
        sources, counts = self.begins[some], self.counts[some]
        targets, size = starts[self.places[some] - first], 4 * self.width
        # What lies together and belongs together is read at once.
        ends = (sources + counts)[:-1] != sources[1:], (targets + counts)[:-1] != targets[1:]
        cuts = np.flatnonzero(ends[0] | ends[1]) + 1
        with self.path.open("rb", buffering=0) as file:
            for run in np.split(np.arange(len(counts)), cuts) if len(counts) else ():
                begin, end = targets[run[0]], targets[run[-1]] + counts[run[-1]]
                _fill(into[begin:end], file, int(sources[run[0]]) * size)


def _fill(values: Floats, file: FileIO, place: int) -> None:
    """Read what stands at a place of a file."""
    rest = values.reshape(-1).view(np.uint8).data
    while rest:
        read = os.preadv(file.fileno(), [rest], place)
        if not read:
            raise OSError(f"{file.name} was cut off.")
        rest, place = rest[read:], place + read


class PackedFiles:
    """The vectors of N texts in files; see :class:`.Packed`.

    In memory are eight bytes for each text.

    Args:
        blocks: Where the texts of each block lie.
        size: Texts in a block; fewer in the last.

    Attributes:
        starts: (N + 1,) int64: where the vectors of each text begin.
    """

    def __init__(self, blocks: Sequence[Sequence[PackedPart]], size: int) -> None:
        self._blocks, self._size, self._width = blocks, size, 0
        self._latest: tuple[int, list[_Piece]] = (-1, [])
        counts = [np.zeros(0, dtype=np.int64)]
        for number in range(len(blocks)):
            pieces = self._pieces(number)
            counts.append(np.zeros(sum(len(one.places) for one in pieces), dtype=np.int64))
            for one in pieces:
                counts[-1][one.places] = one.counts
                self._width = max(self._width, one.width)
        self.starts = np.append(0, np.cumsum(np.concatenate(counts)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows(self, first: int, last: int) -> MultiVectors:
        """The texts ``first`` to ``last`` - 1, read from the files."""
        starts = self.starts[first : last + 1] - self.starts[first]
        values = np.empty((int(starts[-1]), self._width), dtype=np.float32)
        for number in range(first // self._size, -(-last // self._size)):
            begin = number * self._size
            low, high = max(first, begin), min(last, begin + self._size)
            for one in self._pieces(number):
                one.read(low - begin, high - begin, starts[low - first : high - first], values)
        return MultiVectors(values, starts)

    def _pieces(self, number: int) -> list[_Piece]:
        """The files of a block; what they say of their texts is held of the latest block alone."""
        if self._latest[0] != number:
            self._latest = number, [_Piece.of(part) for part in self._blocks[number]]
        return self._latest[1]


@dataclass(frozen=True)
class PackedRun:
    """Some texts of others: ``first`` to ``first + count`` - 1."""

    of: PackedFiles
    first: int
    count: int

    def __len__(self) -> int:
        return self.count

    def rows(self, first: int, last: int) -> MultiVectors:
        """The texts ``first`` to ``last`` - 1 of these."""
        return self.of.rows(self.first + first, self.first + last)
