"""Arrays that grow on disk while they are written."""

import mmap
from pathlib import Path

import numpy as np

from adducir.indexes.arrays import Array


class Spool:
    """A file of numbers, written piece by piece; it widens its type when a piece needs more.

    Args:
        path: A new file; raw numbers, without a header.
        dtype: The narrowest type to begin with.
    """

    def __init__(self, path: Path, dtype: np.dtype | type) -> None:
        self._path = path
        self._file = path.open("xb")
        self.dtype = np.dtype(dtype)

    def append(self, values: Array) -> None:
        """Write more numbers."""
        if len(values) == 0:
            return
        needed = np.min_scalar_type(values.max()) if values.dtype.kind in "iu" else values.dtype
        wider = np.promote_types(self.dtype, needed)
        if wider != self.dtype:
            self._widen(wider)
        self._write(values)

    def close(self) -> Array:
        """End writing; returns the numbers, mapped."""
        self._file.close()
        if not self._path.stat().st_size:
            return np.empty(0, dtype=self.dtype)
        mapped: Array = np.memmap(self._path, dtype=self.dtype, mode="r")
        return mapped

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)

    def _widen(self, dtype: np.dtype) -> None:
        self._file.close()
        narrow = np.fromfile(self._path, dtype=self.dtype)
        self.dtype = dtype
        self._file = self._path.open("wb")
        self._write(narrow)

    def _write(self, values: Array) -> None:
        # Not by tofile(), which does not notice a disk that is full at the end.
        self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)


def let_go(*arrays: Array) -> None:
    """Give mapped files' pages back to the system; they are read again when they are needed.

    Pages that were written stay with the system until they are on disk. A mapped file counts as
    this process's memory page by page as it is used, and a long pass would use all of it.
    """
    for array in arrays:
        mapping = getattr(array, "_mmap", None)
        if isinstance(mapping, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)
