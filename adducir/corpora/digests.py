"""The content of files and texts as digests, so that a changed corpus is never mistaken."""

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

from adducir.core.files import file_digest

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's time stamp surely shows a later change."""

_known: dict[tuple[str, int, int, int], str] = {}


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hex.

    Remembered within this process for the file's size, inode and time of change; but not for a
    file that changed within the last two seconds, whose next change might bear the same time.
    """
    before = path.stat()
    key = (str(path.resolve()), before.st_size, before.st_mtime_ns, before.st_ino)
    if key in _known:
        return _known[key]
    found = file_digest(path)
    if time.time_ns() - before.st_mtime_ns > _SETTLED:
        _known[key] = found
    return found


def digest_of(texts: Iterable[str]) -> str:
    """The SHA-256 of a sequence of texts, in hex; each text is preceded by its length."""
    hasher = hashlib.sha256()
    for text in texts:
        data = text.encode()
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()
