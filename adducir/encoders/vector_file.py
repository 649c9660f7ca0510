"""Vectors of texts' tokens in a file: for more of them than memory holds."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.system_errors import explaining_writes
from adducir.core.text_file import nameless_file
from adducir.encoders.maxsim import Floats, MultiVectors


class _Place:
    """A file and where it ends; no cycle refers to it, so that it is gone when nobody reads it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file, self.end = folder, nameless_file(folder), 0


class VectorFile:
    """The vectors of several lists of texts, each under a key.

    The file has no name, so that nothing is left of it, whatever happens. In memory are eight bytes
    for each text.

    Args:
        folder: Where the file is; by default where the system has temporary files.

    Raises:
        MachineError: The folder cannot be written.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.place = _Place(folder or Path(tempfile.gettempdir()))
        self._kept: dict[int, FiledVectors] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._kept

    def __getitem__(self, key: int) -> "FiledVectors":
        return self._kept[key]

    def __setitem__(self, key: int, vectors: "FiledVectors") -> None:
        self._kept[key] = vectors


class FiledVectors:
    """The vectors of N texts in a file, which are written in any order; see :class:`MultiVectors`.

    Args:
        of: The file; nothing else is added to it until all vectors of these texts are written.
        counts: (N,) how many vectors each text has.

    Attributes:
        starts: (N + 1,) int64: where the vectors of each text begin.
    """

    def __init__(self, of: VectorFile, counts: Sequence[int] | NDArray[Any]) -> None:
        self._of, self._first, self._width = of.place, of.place.end, 0
        self.starts = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts, out=self.starts[1:])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def put(self, number: int, vectors: Floats) -> None:
        """Write the (T_i, D) vectors of a text, or of it and those behind it together.

        Raises:
            MachineError: The disk is full.
        """
        self._width = vectors.shape[1]
        size = 4 * self._width
        self._of.end = max(self._of.end, self._first + int(self.starts[-1]) * size)
        place = self._first + int(self.starts[number]) * size
        data = memoryview(np.ascontiguousarray(vectors, dtype=np.float32).tobytes())
        with explaining_writes(self._of.folder):
            while data:
                written = os.pwrite(self._of.file.fileno(), data, place)
                data, place = data[written:], place + written

    def rows(self, first: int, last: int) -> MultiVectors:
        """The texts ``first`` to ``last`` - 1, read from the file."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        values = np.empty((end - begin, self._width), dtype=np.float32)
        rest, place = values.reshape(-1).view(np.uint8).data, self._first + 4 * begin * self._width
        while rest:
            read = os.preadv(self._of.file.fileno(), [rest], place)
            if not read:
                raise OSError(f"the file of vectors in {self._of.folder} was cut off.")
            rest, place = rest[read:], place + read
        return MultiVectors(values, self.starts[first : last + 1] - begin)
