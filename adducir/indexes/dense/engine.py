"""FAISS behind a few functions: the only place that imports it.

FAISS and torch each bring an OpenMP library. On Linux they run beside one another. On macOS two
such libraries in one process may crash as soon as both start threads (faiss-wheels issue 73): there
FAISS gets one thread, which starts none. Everywhere its threads are set for a call and then set
back, so that neither library takes all cores while the other does.
"""

import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.errors import ArtifactError, UsageError
from adducir.core.processes import default_threads
from adducir.indexes.dense.settings import DenseSettings

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]

_PART = 8


def version() -> str:
    """FAISS's version."""
    import faiss

    return str(faiss.__version__)


@contextmanager
def threads_of_faiss(count: int | None) -> Iterator[None]:
    """Let FAISS use ``count`` threads inside the block; None for one per core."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1 if sys.platform == "darwin" else count or default_threads())
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def new_index(settings: DenseSettings, count: int, width: int) -> Any:
    """An empty index for ``count`` vectors of ``width`` numbers, compared by inner product.

    Raises:
        UsageError: The settings do not fit the vectors.
    """
    import faiss

    metric = faiss.METRIC_INNER_PRODUCT
    if settings.kind == "flat":
        return faiss.IndexFlatIP(width)
    if settings.kind == "hnsw":
        graph = faiss.IndexHNSWFlat(width, settings.links, metric)
        graph.hnsw.efConstruction = settings.build
        graph.hnsw.efSearch = settings.search
        return graph
    lists = settings.lists or max(1, min(round(4 * math.sqrt(count)), count))
    parts = settings.parts or _parts(width)
    if width % parts:
        raise UsageError(
            f"vectors of {width} numbers cannot be cut into {parts} parts.",
            hint="Set `parts` to a divisor.",
        )
    least = max(lists, 1 << settings.bits)
    if count < least:
        raise UsageError(
            f"{count:,} vectors are too few for {lists:,} lists and {settings.bits} bits a part.",
            hint=f"That takes {least:,}; --set kind=flat is exact, and fast for so few.",
        )
    index: Any = faiss.index_factory(width, f"IVF{lists},PQ{parts}x{settings.bits}", metric)
    index.nprobe = settings.probes or max(1, lists // 16)
    # Few vectors a centroid are the user's choice: FAISS need not print about it.
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1
    return index


def _parts(width: int) -> int:
    """The number of parts, among the divisors of the width, whose size is nearest to 8."""
    divisors = [part for part in range(1, width + 1) if width % part == 0]
    return min(divisors, key=lambda parts: abs(width / parts - _PART))


def add_flat(index: Any, shards: Iterable[Floats], count: int) -> None:
    """Put vectors into a flat index shard by shard: all that is held is one shard beside it.

    Args:
        count: How many there are in all.
    """
    index.codes.resize(count * index.code_size)  # the place for all; growing would copy
    for vectors in shards:
        index.add(np.ascontiguousarray(vectors))


def search(index: Any, queries: Floats, depth: int) -> tuple[Floats, Integers]:
    """Scores and numbers of the best vectors, each (q, depth); -1 where there is none."""
    if hasattr(index, "hnsw"):
        index.hnsw.efSearch = max(index.hnsw.efSearch, depth)
    found: tuple[Floats, Integers] = index.search(np.ascontiguousarray(queries), depth)
    return found


def write(index: Any, path: Path) -> None:
    """Write an index into a file.

    Raises:
        OSError: The disk is full, or the place cannot be written.
    """
    import faiss

    try:
        faiss.write_index(index, str(path))
    except RuntimeError as error:
        raise OSError(f"FAISS could not write the index: {error}") from error


def read(path: Path) -> Any:
    """An index of a file.

    Raises:
        ArtifactError: It is none that FAISS can read.
    """
    import faiss

    try:
        return faiss.read_index(str(path))
    except RuntimeError as error:
        raise ArtifactError(
            "FAISS cannot read this index.",
            path=path,
            hint="Build it again with 'adducir index --rebuild'.",
        ) from error
