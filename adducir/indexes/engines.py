"""Indexes of every kind by folder and name: built, opened."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from adducir.core.errors import UsageError, worded
from adducir.core.manifests import MANIFEST, Manifest, read_manifest, reading_again
from adducir.core.packages import imported
from adducir.core.texts import refuse_unless_path
from adducir.indexes.index import Index
from adducir.indexes.kinds import INDEXES, KINDS, OPENERS

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.indexes.settings import IndexSettings


def open_index(
    path: Path | str,
    *,
    device: str = "auto",
    tokens: int | None = None,
    encoder: str | None = None,
    stemmer: str | None = None,
) -> Index:
    """Open an index of any engine by its folder or the name of a prebuilt one in Pyserini's cache.

    Args:
        path: The index's folder, or a name.
        device: Where the encoder of a dense index runs.
        tokens: Padded tokens per batch of a dense index's queries.
        encoder: The new name of a dense index's encoder, if it has moved.
        stemmer: What bm25s stemmed the index with, such as ``english``.

    While other processes replace the folder, it is opened again.

    Raises:
        UsageError: An encoder or a stemmer is named, and the index is of another kind.
        ArtifactError: The index is missing or damaged.
        MachineError: Java is missing.

    Example:
        >>> len(ad.open_index("pets"))
        3
    """
    refuse_unless_path(path, "an index")
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
    if encoder is not None and kind != KINDS["dense"]:
        raise UsageError(f"{worded('encoder')} has no effect without a dense index.")
    if (path / "params.index.json").is_file():
        from adducir.indexes.bm25s import Bm25sIndex

        return Bm25sIndex(path, stemmer)
    if stemmer is not None:
        raise UsageError("`stemmer` has no effect without an index that bm25s saved.")
    if kind in OPENERS:
        opened: Index = imported(OPENERS[kind])(path)
        return opened
    engines = [engine for engine, artifact in KINDS.items() if artifact == kind]
    others = INDEXES.kinds().values() if kind is not None and not engines else ()
    for settings in (*map(INDEXES.kind, engines), *others):
        if settings.artifact == kind:
            return settings.open(path, device=device, tokens=tokens, encoder=encoder)
    from adducir.indexes.lucene import LuceneIndex

    return LuceneIndex(path)


def build_index(
    corpus: "Corpus",
    path: Path | str,
    settings: "IndexSettings | str" = "lucene",
    *,
    threads: int | None = None,
    device: str = "auto",
    rebuild: bool = False,
) -> Manifest:
    """Build an index, unless ``path`` already holds the one that would be built.

    Content and rankings do not depend on how it is computed, except that device and batches affect
    the last digits of a network's vectors. The manifest counts ``documents``, ``indexed``,
    ``empty`` (documents without text, which Anserini does not index either), ``terms`` and
    ``tokens``; of a dense index ``documents``, ``width`` and perhaps ``recall``.

    Args:
        corpus: The documents.
        path: The index's folder.
        settings: An index's settings, or the name of a kind with its default ones.
        threads: Threads; by default one per core.
        device: Where the encoder of a dense index runs.
        rebuild: Whether to build it even if it is up to date.

    Raises:
        InputError: A record is malformed, a docno is repeated, or a field is unknown.
        MachineError: Java or disk space is missing.
        ArtifactError: ``path`` exists and is not Adducir's.
        UsageError: The kind is unknown.
    """
    from adducir.models.running import Running

    settings = INDEXES.chosen(settings)
    return settings.build(corpus, Path(path), Running(device, threads), rebuild=rebuild)
