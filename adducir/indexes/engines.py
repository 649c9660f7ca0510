"""Indexes of every kind, opened by folder or name."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adducir.core.errors import Keyed, UsageError
from adducir.core.manifests import MANIFEST, read_manifest, reading_again
from adducir.core.packages import imported
from adducir.core.texts import refuse_unless_path, typed
from adducir.indexes.index import Index
from adducir.indexes.kinds import INDEXES, OPENERS


@typed
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
        encoder: The new name of a dense index's encoder, if it has moved; of token weights, the
            encoder of queries.
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
    path = Path(path)
    if len(path.parts) == 1 and not path.exists():
        # Folders are named lucene-inverted.NAME.DATE.HASH.DIGEST.
        cache = Path(os.environ.get("PYSERINI_CACHE") or Path.home() / ".cache/pyserini")
        named = re.compile(rf"([^.]+\.)?{re.escape(path.name)}(\.\d{{8}}\..*)?")
        for folder in sorted((cache / "indexes").glob("*/")):
            path = folder if named.fullmatch(folder.name) else path
    options = {"device": device, "tokens": tokens, "encoder": encoder}
    opened = reading_again(path, lambda: _opened(path, stemmer, options))
    if encoder is not None and opened.default_model and not opened.takes_weights:
        needed = "a dense index, or one of token weights"
        raise UsageError(Keyed(f"{{}} has no effect without {needed}.", "encoder"))
    return opened


def _opened(path: Path, stemmer: str | None, options: Mapping[str, Any]) -> Index:
    kind = read_manifest(path).kind if (path / MANIFEST).is_file() else None
    if (path / "params.index.json").is_file():
        from adducir.indexes.bm25s import Bm25sIndex

        return Bm25sIndex(path, stemmer)
    if stemmer is not None:
        message = "{} has no effect without an index that bm25s saved."
        raise UsageError(Keyed(message, "stemmer"))
    if kind in OPENERS:
        opened: Index = imported(OPENERS[kind])(path)
        return opened
    for _, settings in INDEXES.each() if kind is not None else ():
        if settings.artifact == kind:
            return settings.open(path, **options)
    from adducir.indexes.lucene import LuceneIndex

    return LuceneIndex(path)
