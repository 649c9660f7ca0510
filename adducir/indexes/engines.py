"""The engines by name: Lucene, memory, dense."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adducir.core.artifacts import (
    MANIFEST,
    Manifest,
    artifact_fingerprint,
    build,
    read_manifest,
    reading_again,
)
from adducir.core.errors import MachineError, UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.processes import default_threads
from adducir.indexes.index import Index
from adducir.indexes.kinds import (
    DENSE,
    IMPACTS_VERSION,
    KINDS,
    VERSIONS,
    EngineName,
    holds_impacts,
)

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.indexes.building import IndexSettings


def open_index(
    path: Path | str,
    *,
    device: str = "auto",
    tokens: int | None = None,
    encoder: str | None = None,
    stemmer: str | None = None,
) -> Index:
    """Open an index of any engine by its folder or the name of a prebuilt one in Pyserini's cache.

    For a dense index, ``device`` is where its encoder runs, ``tokens`` the padded tokens per batch
    of queries, and ``encoder`` its new name if it has moved.
    ``stemmer`` is what bm25s stemmed the index with, such as ``english``.

    While other processes replace the folder, it is opened again.

    Raises:
        UsageError: An encoder or a stemmer is named, and the index is of another kind.
        ArtifactError: The index is missing or damaged.
        MachineError: Java is missing.
    """
    path, options = Path(path), (device, tokens, encoder, stemmer)
    if len(path.parts) == 1 and not path.exists():
        # Folders are named lucene-inverted.NAME.DATE.HASH.DIGEST.
        cache = Path(os.environ.get("PYSERINI_CACHE") or Path.home() / ".cache/pyserini")
        named = re.compile(rf"([^.]+\.)?{re.escape(path.name)}(\.\d{{8}}\..*)?")
        for folder in sorted((cache / "indexes").glob("*/")):
            path = folder if named.fullmatch(folder.name) else path
    return reading_again(path, lambda: _opened(path, *options))


def _opened(
    path: Path, device: str, tokens: int | None, encoder: str | None, stemmer: str | None
) -> Index:
    kind = read_manifest(path).kind if (path / MANIFEST).is_file() else None
    if encoder is not None and kind != DENSE:
        raise UsageError("--encoder (in Python `encoder`) has no effect without a dense index.")
    if (path / "params.index.json").is_file():
        from adducir.indexes.bm25s import Bm25sIndex

        return Bm25sIndex(path, stemmer)
    if stemmer is not None:
        raise UsageError("`stemmer` has no effect without an index that bm25s saved.")
    if kind == KINDS["memory"]:
        from adducir.indexes.memory.index import MemoryIndex

        return MemoryIndex(path)
    if kind == DENSE:
        from adducir.indexes.dense import DenseIndex

        return DenseIndex(path, device=device, encoder=encoder, tokens=tokens)
    from adducir.indexes.lucene import LuceneIndex

    return LuceneIndex(path)


def build_index(
    corpus: "Corpus",
    path: Path,
    settings: "IndexSettings | None" = None,
    *,
    engine: EngineName = "lucene",
    threads: int | None = None,
    rebuild: bool = False,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    Content and rankings do not depend on ``threads``. The manifest counts ``documents``,
    ``indexed``, ``empty`` (documents without text, which Anserini does not index either), ``terms``
    and ``tokens``. A memory index never has positions and always has document vectors and both
    kinds of length; ``accurate_length`` says which one searches use.

    Raises:
        InputError: A record is malformed, a docno is repeated, or a field is unknown.
        MachineError: Java or disk space is missing.
        ArtifactError: ``path`` exists and is not Adducir's.
        UsageError: The engine does not support a setting.
    """
    from adducir.indexes.building import IndexSettings, engine_versions

    own = (settings or IndexSettings()).of(corpus)
    if engine == "lucene" and own.weights is not None:
        hint = "Build a memory index from them."
        raise UsageError("Lucene's indexes do not support token weights.", hint=hint)

    def make(folder: Path) -> dict[str, Any]:
        if engine == "lucene":
            from adducir.indexes.lucene import write
        else:
            from adducir.indexes.memory.build import write  # with compiled kernels
        return write(corpus, folder, own, threads or default_threads())

    artifact = _artifact(engine, corpus, own)
    try:
        versions = engine_versions(uses_java=engine == "lucene" or own.analysis.own is None)
    except MachineError as error:
        if engine == "lucene" and own.analysis.own is not None:
            same = "The memory engine (--engine memory) gives the same ranks without it."
            raise MachineError(error.what, hint=f"{same} {error.hint}", absent=True) from error
        raise
    return build(
        path, **artifact, make=make, rebuild=rebuild, versions=versions, source=corpus.source
    )


def fingerprint_of_index(engine: EngineName, corpus: "Corpus", settings: "IndexSettings") -> str:
    return artifact_fingerprint(**_artifact(engine, corpus, settings.of(corpus)))


def _artifact(engine: EngineName, corpus: "Corpus", settings: "IndexSettings") -> dict[str, Any]:
    recipe = settings.recipe()
    return {
        "kind": KINDS[engine],
        "recipe": recipe,
        "inputs": {"corpus": fingerprint(corpus.identity())},
        "builder_version": IMPACTS_VERSION if holds_impacts(recipe) else VERSIONS[engine],
    }
