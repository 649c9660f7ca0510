"""Digests of files that were read before, in the user's cache folder.

What is kept of a file is its inode, size, times of change and the SHA-256 that was found. To lose
what is kept costs time only.
"""

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from adducir.core.errors import AdducirError
from adducir.core.files import MOST_SETTINGS, read_text, writing_text
from adducir.core.folders import cache_folder

Stamp = list[int | str]
"""Inode, size, times of change in nanoseconds, and the SHA-256 that was found."""

_SECOND = 1_000_000_000
_MOST_KEPT = 1000


def stamp(path: Path, digest: str = "") -> Stamp:
    """The stamp of a file as it is now.

    Raises:
        OSError: It cannot be looked up.
    """
    status = path.stat()
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, digest]


def is_settled(of: Stamp, read: int) -> bool:
    """Whether a later change would show: it would not within the grain of the file's times.

    Kernels count in ticks of some milliseconds; some file systems keep whole seconds only.

    Args:
        read: When its digest was begun, in nanoseconds.
    """
    times = int(of[2]), int(of[3])
    grain = 2 * _SECOND if any(one % _SECOND == 0 for one in times) else _SECOND // 20
    return max(times) < read - grain


def now() -> int:
    """The time for :func:`is_settled`."""
    return time.time_ns()


def kept_stamps(kind: str, folder: Path) -> dict[str, Stamp]:
    """The stamps that are kept of a folder's files, by name."""
    place = _place(kind, folder)
    if place is None or not place.is_file():
        return {}
    try:
        kept = json.loads(read_text(place, MOST_SETTINGS))
    except (AdducirError, ValueError, RecursionError):
        return {}
    files = kept.get("files") if isinstance(kept, dict) else None
    return files if isinstance(files, dict) else {}


def keep_stamps(kind: str, folder: Path, stamps: Mapping[str, Stamp]) -> None:
    """Keep the stamps of a folder's files, in place of those that were kept."""
    place = _place(kind, folder)
    if place is None or not stamps:
        return
    with suppress(AdducirError, OSError):
        place.parent.mkdir(exist_ok=True)
        _forget_oldest(place.parent.glob("*.json"))
        with writing_text(place) as handle:
            json.dump({"folder": str(folder), "files": stamps}, handle)


def _forget_oldest(kept: Iterable[Path]) -> None:
    paths = sorted(kept, key=lambda path: path.stat().st_mtime_ns)
    for path in paths[:-_MOST_KEPT]:
        path.unlink(missing_ok=True)


def _place(kind: str, folder: Path) -> Path | None:
    cache = cache_folder()
    name = sha256(os.fsencode(folder)).hexdigest()[:32]
    return None if cache is None else cache / kind / f"{name}.json"
