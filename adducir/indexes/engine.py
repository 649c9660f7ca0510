"""Opens an index of any engine: Lucene's, the memory index, the dense one."""

from pathlib import Path

from adducir.core.artifacts import MANIFEST, read_manifest
from adducir.core.errors import UsageError
from adducir.indexes.index import Index
from adducir.indexes.lucene import LuceneIndex


def remark_on(index: Index) -> str | None:
    """What a user should know of the engine: that a memory index is searched without numba."""
    if getattr(index, "backend", "") != "numpy":
        return None
    from adducir.indexes.memory import SLOWER

    return SLOWER


def open_index(
    path: Path | str,
    *,
    device: str = "auto",
    tokens: int | None = None,
    encoder: str | None = None,
) -> Index:
    """Open an index of any engine.

    Args:
        device: Where the encoder of a dense index runs.
        tokens: Padded tokens in a batch of its queries; by default what suits the device.
        encoder: The name of that encoder, where it is not found under the one it had.

    Raises:
        UsageError: An encoder is named, and this is not a dense index.
        ArtifactError: No index, or a damaged one.
        MachineError: No Java.
    """
    path = Path(path)
    kind = read_manifest(path).kind if (path / MANIFEST).is_file() else None
    if encoder is not None and kind != "dense-index":
        raise UsageError("--encoder (in Python `encoder`) has no effect without a dense index.")
    if kind == "memory-index":
        from adducir.indexes.memory.index import MemoryIndex

        return MemoryIndex(path)
    if kind == "dense-index":
        from adducir.indexes.dense.index import DenseIndex

        return DenseIndex(path, device=device, encoder=encoder, tokens=tokens)
    return LuceneIndex(path)
