"""From packed indexes of ranges of documents to the index of them all.

They are merged into one piece (:mod:`.merging`), which has the very files of the index that is
built at once. Or they stay parts, each searched for itself (:mod:`.opened`), so that no more than
one of them is ever needed in memory; beside them lies what scores need of the whole
(:mod:`.numbering`).
"""

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from adducir.core.progress import Progress
from adducir.core.sharding.made import Made
from adducir.indexes.documents import FILES, TEXTS, DocumentWriter
from adducir.indexes.memory.fields import FIELDS
from adducir.indexes.memory.files import PARTS, Arrays
from adducir.indexes.memory.numbering import write_whole
from adducir.indexes.memory.packing import pack, unpack

_COUNTS = "counts.json"
_ADDED = ("documents", "indexed", "empty")


def pack_part(folder: Path, counts: dict[str, int], path: Path) -> None:
    """Write a folder that :mod:`.filling` filled, and its counts, into one file."""
    (folder / _COUNTS).write_text(json.dumps(counts), encoding="ascii")
    pack(folder, path)


def join(
    folder: Path, made: Made, keep: bool, store: DocumentWriter, progress: Progress
) -> dict[str, int]:
    """Fill the folder of an index from the packed indexes of its documents.

    Args:
        made: The packed indexes.
        keep: Keep them as parts.
        store: Where texts go.

    Returns:
        The counts of the index that is built at once.
    """
    is_one = len(made.files) == 1 and not keep
    parts = [folder if is_one else folder / PARTS / str(n + 1) for n in range(len(made.files))]
    counts: Counter[str] = Counter()
    progress.start("joining", len(parts), "parts")
    try:
        for path, part, docnos in zip(made.files, parts, made.names(), strict=True):
            counts.update(_unpack(path, part, docnos, store))
            progress.advance(1)
        if is_one:
            return dict(counts)
        whole = _write_all(folder, parts, merge=not keep)
    finally:
        progress.finish()
    if not keep:
        shutil.rmtree(folder / PARTS)
    return {name: counts[name] for name in _ADDED} | whole


def _unpack(path: Path, part: Path, docnos: Sequence[str], store: DocumentWriter) -> dict[str, int]:
    """Unpack a part, whose texts go to the store; its counts."""

    def take(name: str, content: IO[bytes]) -> bool:
        if name == TEXTS:
            store.extend(zip(docnos, content, strict=True))
        elif name == _COUNTS:
            counts.update(json.load(content))
        return name in (*FILES, _COUNTS)

    counts: dict[str, int] = {}
    unpack(path, part, take)
    return counts


def _fields(part: Path) -> list[Path]:
    """Where in a part the fields lie that it keeps by themselves."""
    return [path.relative_to(part) for path in sorted((part / FIELDS).glob("*"))]


def _write_all(folder: Path, sources: Sequence[Path], merge: bool) -> dict[str, int]:
    """Write what the whole has, and each of its fields."""
    for place in _fields(sources[0]):
        (folder / place).mkdir(parents=True)
        _write(folder / place, [source / place for source in sources], merge)
    return _write(folder, sources, merge)


def _write(folder: Path, sources: Sequence[Path], merge: bool) -> dict[str, int]:
    arrays = [Arrays.open(source) for source in sources]
    return write_whole(folder, arrays, None if merge else sources)
