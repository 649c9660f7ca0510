"""Memory-mapped arrays in files."""

import ctypes
import errno
import functools
import mmap
import os
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from adducir.core.errors import AdducirError, ArtifactError, sorted_error, worded

Array = np.ndarray[tuple[int], np.dtype[Any]]


def damaged(path: Path, error: BaseException | None = None) -> AdducirError:
    """That the index is damaged, unless ``error`` is a fault of the machine."""
    damage = ArtifactError(
        "the index is damaged: this file does not match the others.",
        path=path,
        hint=f"Build it again ({worded('rebuild', 'true')}).",
    )
    return damage if error is None else sorted_error(error, path, damage)


def save(path: Path, array: Array) -> None:
    """Like ``np.save``, which does not notice a full disk."""
    with path.open("wb") as file:
        np.lib.format.write_array(SimpleNamespace(write=file.write), array, allow_pickle=False)


def mapped(path: Path) -> Array:
    """The read-only array in a file of :func:`save`; it keeps no file open, unlike ``np.load``."""
    try:
        with path.open("rb") as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError("another version of NumPy's format")  # noqa: TRY301
            shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
            start, size = file.tell(), os.fstat(file.fileno()).st_size
            if (
                dtype.hasobject
                or is_fortran
                or start + dtype.itemsize * int(np.prod(shape)) != size
            ):
                raise ValueError("not as large as its header says")  # noqa: TRY301
            mapping = _mapping(file.fileno(), size)
            array: Array = np.ndarray(shape, dtype, cast("Any", mapping), start)
            array.flags.writeable = False
            return array
    except Exception as error:  # headers are parsed as Python, which may raise anything
        raise damaged(path, error) from error


def _mapping(file: int, size: int) -> "ctypes.Array[ctypes.c_ubyte]":
    """A file's bytes, unmapped with the last view of them; mmap.mmap would duplicate ``file``."""
    system = _system()
    address = system.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    if address == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    view = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(view, system.munmap, address, size).atexit = False
    return view


@functools.cache
def _system() -> Any:
    system = ctypes.CDLL(None, use_errno=True)
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    system.mmap.restype = pointer
    system.mmap.argtypes = [pointer, size, *[ctypes.c_int] * 3, ctypes.c_ssize_t]
    system.munmap.argtypes = [pointer, size]
    return system


def is_rising(offsets: Array, count: int, end: int) -> bool:
    """Whether (count + 1,) offsets go from 0 to ``end`` and never decrease."""
    return (
        count >= 0
        and offsets.shape == (count + 1,)
        and offsets.dtype == np.int64
        and offsets[0] == 0
        and offsets[-1] == end
        and bool((offsets[1:] >= offsets[:-1]).all())
    )


def new_array(path: Path, dtype: np.dtype | type, size: int) -> Array:
    if size == 0:  # an empty file cannot be mapped
        save(path, np.empty(0, dtype=dtype))
        return np.empty(0, dtype=dtype)
    array: Any = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(size,))
    with path.open("r+b") as file:
        _allocate(file.fileno(), array.offset, array.offset + array.nbytes)
    return cast("Array", array)


def _allocate(file: int, first: int, end: int) -> None:
    """Take the disk's blocks now: a write to a mapping on a full disk kills the process."""
    if hasattr(os, "posix_fallocate"):  # not on macOS
        try:
            os.posix_fallocate(file, 0, end)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # the file system cannot
                raise
        else:
            return
    zeros = bytes(min(1 << 20, end))
    for place in range(first, end, len(zeros)):
        os.pwrite(file, zeros[: end - place], place)


def let_go(*arrays: Array) -> None:
    """Return mapped pages to the system, which otherwise count as this process's memory."""
    for array in arrays:
        mapping = getattr(array, "_mmap", None)
        if isinstance(mapping, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)
