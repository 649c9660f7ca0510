"""Texts in a file of its own, read by number: for more of them than memory holds."""

import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast, overload

from adducir.core.system_errors import explaining_writes

T = TypeVar("T")


def nameless_file(folder: Path) -> BinaryIO:
    """An open file that no name leads to: it is gone when it is closed, or nothing refers to it.

    Raises:
        MachineError: The folder cannot be written.
    """
    with explaining_writes(folder):
        return cast("BinaryIO", tempfile.TemporaryFile(dir=folder))


class TextFile(Sequence[str]):
    """Texts that are added one by one; eight bytes of memory each.

    The file has no name, so that nothing is left of it, whatever happens.

    Args:
        folder: Where the file is; by default where the system has temporary files.

    Raises:
        MachineError: The folder cannot be written.
    """

    def __init__(self, folder: Path | None = None, texts: Iterable[str] = ()) -> None:
        self._folder = folder or Path(tempfile.gettempdir())
        self._file = nameless_file(self._folder)
        self._starts = array("q", [0])
        self._unwritten = False
        for text in texts:
            self.append(text)

    def append(self, text: str) -> None:
        """Add a text.

        Raises:
            MachineError: The disk is full.
        """
        data = text.encode("utf-8", "surrogatepass")
        with explaining_writes(self._folder):
            self._file.write(data)
        self._starts.append(self._starts[-1] + len(data))
        self._unwritten = True

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        if self._unwritten:
            with explaining_writes(self._folder):
                self._file.flush()
            self._unwritten = False
        place %= len(self)
        first, end = self._starts[place], self._starts[place + 1]
        data = os.pread(self._file.fileno(), end - first, first)
        return data.decode("utf-8", "surrogatepass")


class MadeTexts(Sequence[str]):
    """Texts that are made anew whenever they are asked for, such as passages of a text.

    Args:
        count: How many there are.
        make: Makes the text of a number.
    """

    def __init__(self, count: int, make: Callable[[int], str]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self._make(number) for number in range(*place.indices(self._count))]
        if not -self._count <= place < self._count:
            raise IndexError(place)
        return self._make(int(place) % self._count)


class _ReadWhenNeeded(Sequence[T]):
    """What is made of texts, anew whenever it is asked for."""

    def __init__(self, texts: TextFile, read: Callable[[list[str]], Sequence[T]]) -> None:
        self._texts, self._read = texts, read

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self._read(self._texts[place])
        return self._read([self._texts[int(place)]])[0]


def read_texts(texts: Sequence[str], read: Callable[[list[str]], Sequence[T]]) -> Sequence[T]:
    """What is made of each text: at once, or of texts in a file whenever it is asked for.

    Args:
        texts: The texts.
        read: Makes something of some texts, of each by itself.
    """
    return _ReadWhenNeeded(texts, read) if isinstance(texts, TextFile) else read(list(texts))
