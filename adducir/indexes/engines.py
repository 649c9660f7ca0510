"""The engines, by name: Lucene, the memory index, the dense one."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from adducir.core.artifacts import MANIFEST, Manifest, artifact_fingerprint, read_manifest
from adducir.core.errors import UsageError
from adducir.core.fingerprint import fingerprint
from adducir.indexes import lucene, memory
from adducir.indexes.index import Index

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.indexes.building import IndexSettings

EngineName = Literal["lucene", "memory"]
KINDS: dict[EngineName, str] = {"lucene": lucene.KIND, "memory": memory.KIND}
"""The kind of artifact that each engine builds."""


def open_index(
    path: Path | str, *, device: str = "auto", tokens: int | None = None, encoder: str | None = None
) -> Index:
    """Open an index of any engine.

    A dense index has an encoder: ``device`` is where it runs, ``tokens`` are the padded ones of a
    batch of queries, and ``encoder`` is its name, where it is not found under the one it had.

    Raises:
        UsageError: An encoder is named, and this is not a dense index.
        ArtifactError: No index, or a damaged one.
        MachineError: No Java.
    """
    path = Path(path)
    kind = read_manifest(path).kind if (path / MANIFEST).is_file() else None
    if encoder is not None and kind != "dense-index":
        raise UsageError("--encoder (in Python `encoder`) has no effect without a dense index.")
    if kind == memory.KIND:
        from adducir.indexes.memory.index import MemoryIndex

        return MemoryIndex(path)
    if kind == "dense-index":
        from adducir.indexes.dense import DenseIndex

        return DenseIndex(path, device=device, encoder=encoder, tokens=tokens)
    return lucene.LuceneIndex(path)


def builder(engine: EngineName) -> Callable[..., Manifest]:
    if engine == "lucene":
        return lucene.build_index
    from adducir.indexes.memory.build import build_memory_index  # with compiled kernels

    return build_memory_index


def fingerprint_of_index(engine: EngineName, corpus: "Corpus", settings: "IndexSettings") -> str:
    version = memory.BUILDER_VERSION if engine == "memory" else lucene.BUILDER_VERSION
    inputs = {"corpus": fingerprint(corpus.identity())}
    return artifact_fingerprint(KINDS[engine], settings.of(corpus).recipe(), inputs, version)
