"""Texts in a file of its own, read by number: for more of them than memory holds."""

import os
import tempfile
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import overload

from adducir.core.system_errors import explaining_writes


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
        with explaining_writes(self._folder):
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  (kept open)
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
