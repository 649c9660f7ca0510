"""The two engines, by name: how each builds its index."""

from pathlib import Path
from typing import Literal, Protocol

from adducir.core.artifacts import Manifest, artifact_fingerprint
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import SILENT, Progress
from adducir.corpora.documents import Corpus
from adducir.indexes import lucene_builder as lucene
from adducir.indexes.lucene_builder import IndexSettings
from adducir.indexes.memory import files as memory

EngineName = Literal["lucene", "memory"]
KINDS: dict[EngineName, str] = {"lucene": lucene.KIND, "memory": memory.KIND}
"""The kind of artifact that each engine builds."""


class Builder(Protocol):
    """:func:`adducir.indexes.lucene_builder.build_index`, or its like of another engine."""

    def __call__(
        self,
        corpus: Corpus,
        path: Path,
        settings: IndexSettings | None = None,
        *,
        threads: int | None = None,
        rebuild: bool = False,
        progress: Progress = SILENT,
    ) -> Manifest:
        """Build an index unless it is there; see the functions."""


def builder(engine: EngineName) -> Builder:
    """What builds an index of that engine."""
    if engine == "lucene":
        return lucene.build_index
    from adducir.indexes.memory.builder import build_memory_index  # with compiled kernels

    return build_memory_index


def fingerprint_of_index(engine: EngineName, corpus: Corpus, settings: IndexSettings) -> str:
    """The fingerprint of the index that :func:`builder` would build."""
    recipe = lucene.settled(corpus, settings).recipe()
    version = memory.BUILDER_VERSION if engine == "memory" else lucene.BUILDER_VERSION
    inputs = {"corpus": fingerprint(corpus.identity())}
    return artifact_fingerprint(KINDS[engine], recipe, inputs, version)
