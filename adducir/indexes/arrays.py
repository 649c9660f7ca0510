"""Memory-mapped arrays in files."""

import mmap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from adducir.core.errors import ArtifactError

Array = np.ndarray[tuple[int], np.dtype[Any]]


def damaged(path: Path) -> ArtifactError:
    return ArtifactError(
        "the index is damaged: this file does not match the others.",
        path=path,
        hint="Rebuild it with 'adducir index --rebuild'.",
    )


def save(path: Path, array: Array) -> None:
    """Like ``np.save``, which does not notice a full disk."""
    with path.open("wb") as file:
        np.lib.format.write_array(SimpleNamespace(write=file.write), array, allow_pickle=False)


def mapped(path: Path) -> Array:
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # headers are parsed as Python, which may raise anything
        raise damaged(path) from error
    if not isinstance(array, np.ndarray):
        raise damaged(path)
    return array


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
    return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(size,))


def let_go(*arrays: Array) -> None:
    """Return mapped pages to the system, which otherwise count as this process's memory."""
    for array in arrays:
        mapping = getattr(array, "_mmap", None)
        if isinstance(mapping, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)
