"""Opens an index of any engine: Lucene's, the memory index, the dense one."""

from pathlib import Path

from adducir.core.artifacts import MANIFEST, read_manifest
from adducir.indexes.index import Index
from adducir.indexes.lucene import LuceneIndex


def remark_on(index: Index) -> str | None:
    """What a user should know of the engine: that a memory index is searched without numba."""
    from adducir.indexes.memory import SLOWER

    return SLOWER if getattr(index, "backend", "") == "numpy" else None


def open_index(path: Path | str, *, device: str = "auto", tokens: int | None = None) -> Index:
    """Open an index of any engine.

    Args:
        device: Where the encoder of a dense index runs.
        tokens: Padded tokens in a batch of its queries; by default what suits the device.

    Raises:
        ArtifactError: No index, or a damaged one.
        MachineError: No Java.
    """
    path = Path(path)
    kind = read_manifest(path).kind if (path / MANIFEST).is_file() else None
    if kind == "memory-index":
        from adducir.indexes.memory.index import MemoryIndex

        return MemoryIndex(path)
    if kind == "dense-index":
        from adducir.indexes.dense.index import DenseIndex

        return DenseIndex(path, device=device, tokens=tokens)
    return LuceneIndex(path)
