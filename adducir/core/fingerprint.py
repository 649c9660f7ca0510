"""One digest for equal values, and the SHA-256 of files, each read once per machine.

The canonical form of a value is JSON (RFC 8259) in ASCII: keys sorted by code point, no spaces,
floats in Python's shortest round-trip form. The inode, size, times of change and digest of each
file read are kept in the user's cache folder: while the others stay the same, it is not read
again. Losing that table only costs time.
"""

import json
import numbers
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any

from adducir.core.errors import explaining_reads
from adducir.core.files import cache_folder, file_digest
from adducir.core.planning import reads

UNREAD = "~not known~"
"""Stands for the digest of a file that a dry run does not read."""


def canonical(value: Any) -> str:
    """The canonical JSON of a value; a ValueError for a number that is not finite."""
    options: Any = {"separators": (",", ":"), "allow_nan": False, "default": _plain}
    return json.dumps(value, sort_keys=True, **options)


def _plain(value: Any) -> Any:
    match value:
        case PurePath():
            return value.as_posix()
        case numbers.Integral():
            return int(value)
        case numbers.Real():
            return float(value)
        case Mapping():
            return dict(value)
    raise TypeError(f"{value!r} has type {type(value).__name__}, which has no canonical form")


def fingerprint(value: Any) -> str:
    """The SHA-256 of :func:`canonical` in hexadecimal; not known if a digest in it is not."""
    text = canonical(value)
    return UNREAD * (UNREAD in text) + sha256(text.encode("ascii")).hexdigest()


def digest_of(parts: Iterable[str | bytes]) -> str:
    hasher = sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hasher.update(len(data).to_bytes(8, "little") + data)
    return hasher.hexdigest()


def is_known(fingerprint: str) -> bool:
    return UNREAD not in fingerprint


VERIFY_VARIABLE = "ADDUCIR_VERIFY"
"""If 1, processes read every file of what they open; ``--verify`` sets it."""
READERS = 4  # hashing releases Python's lock
_SECOND = 1_000_000_000
_MOST_KEPT = 100_000
_known: dict[str, tuple[str, str]] = {}
"""By file: inode, size, times of change, and the SHA-256 of its content then."""


def source_digest(path: Path) -> str:
    return source_digests([path])[0]


def source_digests(paths: Sequence[Path]) -> list[str]:
    """The SHA-256 of each file of one source; :data:`UNREAD` where a dry run does not read it."""
    return [digest or UNREAD for digest in known_digests(paths)]


def known_digests(paths: Sequence[Path]) -> list[str | None]:
    """The digest of each file; None for one that a dry run would have to read."""
    begun, places = time.time_ns(), list(map(os.path.realpath, paths))
    stamps = dict[str, list[int]]()
    for path, place in zip(paths, places, strict=True):
        with explaining_reads(path):
            status = path.stat()
        times = status.st_mtime_ns, status.st_ctime_ns
        stamps[place] = [status.st_ino, status.st_size, *times]
    if os.environ.get(VERIFY_VARIABLE) != "1":
        new = list(zip(stamps.keys() - _known.keys(), strict=True))
        for place, kept, digest in _cached("SELECT * FROM files WHERE path = ?", new):
            _known[place] = kept, digest
    digests, unread = dict[str, str](), list[Path]()
    for place, stamp in stamps.items():
        if place in _known and _known[place][0] == str(stamp):
            digests[place] = _known[place][1]
        else:
            unread.append(Path(place))
    if unread and reads(*unread):
        sure = list[tuple[str, ...]]()
        with ThreadPoolExecutor(READERS) as readers:
            for path, digest in zip(unread, readers.map(file_digest, unread), strict=True):
                stamp = stamps[str(path)]
                digests[str(path)] = digest
                # Kept only if a later change would show: kernels count time in ticks of some
                # milliseconds, some file systems in whole seconds.
                grain = 2 * _SECOND if any(t % _SECOND == 0 for t in stamp[2:]) else _SECOND // 20
                if max(stamp[2:]) < begun - grain:
                    _known[str(path)] = str(stamp), digest
                    sure.append((str(path), str(stamp), digest))
        _cached("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", sure)
    return list(map(digests.get, places))


def _cached(sql: str, rows: Sequence[tuple[str, ...]]) -> list[tuple[str, str, str]]:
    import sqlite3

    folder, cached_rows = cache_folder(), list[tuple[str, str, str]]()
    if folder is None or not rows:
        return []
    try:
        with closing(sqlite3.connect(folder / "digests.sqlite", timeout=0.2)) as base, base:
            base.execute("CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, stamp, sha256)")
            for row in rows:
                cached_rows += base.execute(sql, row)
            if sql.startswith("INSERT"):
                oldest = "DELETE FROM files WHERE rowid <= (SELECT max(rowid) FROM files) - ?"
                base.execute(oldest, [_MOST_KEPT])
            return cached_rows
    except (sqlite3.Error, UnicodeEncodeError):
        return []
