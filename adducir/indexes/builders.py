"""The two engines, by name: how each builds its index."""

from collections.abc import Callable
from typing import Literal

from adducir.core.artifacts import Manifest, artifact_fingerprint
from adducir.core.fingerprint import fingerprint
from adducir.corpora.documents import Corpus
from adducir.indexes import lucene_builder as lucene
from adducir.indexes import memory
from adducir.indexes.jvm import INDEX_KIND
from adducir.indexes.lucene_builder import IndexSettings

EngineName = Literal["lucene", "memory"]
KINDS: dict[EngineName, str] = {"lucene": INDEX_KIND, "memory": memory.KIND}
"""The kind of artifact that each engine builds."""


def builder(engine: EngineName) -> Callable[..., Manifest]:
    """What builds an index of that engine; both take the same arguments."""
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
