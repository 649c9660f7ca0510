"""Arrays in files, which are mapped, not read."""

import mmap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from adducir.core.errors import ArtifactError

Array = np.ndarray[tuple[int], np.dtype[Any]]


def damaged(path: Path) -> ArtifactError:
    return ArtifactError(
        "the index is damaged: this file does not fit the others.",
        path=path,
        hint="Build it again with 'adducir index --rebuild'.",
    )


def save(path: Path, array: Array) -> None:
    """Write an array as ``np.save`` does, which does not notice that the disk is full."""
    with path.open("wb") as file:
        np.lib.format.write_array(SimpleNamespace(write=file.write), array, allow_pickle=False)


def mapped(path: Path) -> Array:
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a header is parsed as Python: any of its errors may come
        raise damaged(path) from error
    if not isinstance(array, np.ndarray):
        raise damaged(path)
    return array


def is_rising(offsets: Array, count: int, end: int) -> bool:
    """Whether (count + 1,) offsets go from 0 to ``end`` and never fall."""
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
    return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(size,))


def let_go(*arrays: Array) -> None:
    """Give pages back to the system, which count as this process's memory as they are used."""
    for array in arrays:
        mapping = getattr(array, "_mmap", None)
        if isinstance(mapping, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)
