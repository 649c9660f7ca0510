"""Millions of texts in little memory: kept in a file, or computed on demand."""

import os
import tempfile
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from adducir.core.errors import explaining_writes
from adducir.core.files import nameless_file

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """Items computed on demand, such as passages of a text."""

    def __init__(self, count: int, make: Callable[[range], Sequence[T]]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        numbers = range(len(self))[place]  # an IndexError if out of range
        if isinstance(numbers, range):
            return self._make(numbers)
        return self._make(range(numbers, numbers + 1))[0]


class TextFile(LazySequence[str]):
    """Texts appended to an unnamed file; eight bytes of memory each."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir())
        self._file = nameless_file(self._folder)
        self._starts, self._readable = array("q", [0]), 0

    def append(self, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        with explaining_writes(self._folder):
            self._file.write(data)
        self._starts.append(self._starts[-1] + len(data))

    def __len__(self) -> int:
        return len(self._starts) - 1

    def _make(self, numbers: range) -> list[str]:
        if self._readable < len(self):
            with explaining_writes(self._folder):
                self._file.flush()
            self._readable = len(self)
        file, starts = self._file.fileno(), self._starts
        blocks = (os.pread(file, starts[n + 1] - starts[n], starts[n]) for n in numbers)
        return [data.decode("utf-8", "surrogatepass") for data in blocks]


def read_texts(texts: Sequence[str], read: Callable[[list[str]], Sequence[T]]) -> Sequence[T]:
    """A function of each text: applied at once, or on demand to texts in a file."""
    if not isinstance(texts, TextFile):
        return read(list(texts))
    return LazySequence(len(texts), lambda numbers: read([texts[n] for n in numbers]))
