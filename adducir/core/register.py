"""The user's register of written files: which command made them, and from which sources.

A table or a collection does not show who made it, so that is kept in the user's cache, one small
file for each path. A path's entry holds only as long as the file there is the one that was written
(inode, size and time): a file that was changed or put there since is not Adducir's. An entry is
made before the work and completed after it, so that what a killed command left is known as well.
Where the register is lost, users are asked for ``--force`` once more, and nothing else happens.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from adducir.core.folders import cache_folder
from adducir.core.origins import Origin

_MOST = 5000
_CLOCK = 1_000_000_000
"""How far (in nanoseconds) a file system's clock may be behind the process's."""


@contextmanager
def held(path: Path, when_waiting: Callable[[], None]) -> Iterator[None]:
    """Let no other process of this user write ``path`` inside the block.

    Without a lock, one process would check and replace what another is about to write.

    Args:
        path: A file to write.
        when_waiting: Called once if another process has to be waited for.
    """
    place = _place(path)
    if place is None:
        yield
        return
    lock = FileLock(place.with_suffix(".lock"))
    try:
        place.parent.mkdir(exist_ok=True)
        try:
            lock.acquire(timeout=0.5)
        except Timeout:
            when_waiting()
            lock.acquire()
    except OSError:  # a cache that cannot be written costs the waiting, nothing else
        yield
        return
    try:
        yield
    finally:
        lock.release()


def origin_of(path: Path) -> Origin | None:
    """The origin of the file or folder at ``path``; None where it is not known."""
    known = _read(path)
    if known is None:
        return None
    now = _identity(path)
    begun = known.get("begun")
    written_since = isinstance(begun, int) and now is not None and now[2] >= begun - _CLOCK
    if not written_since and (now is None or known.get("identity") != now):
        return None
    sources = {role: tuple(map(str, ones)) for role, ones in known["sources"].items()}
    return Origin(str(known["builder"]), sources)


def begin(path: Path, origin: Origin) -> Callable[[], None]:
    """Note that ``origin`` is about to write ``path``, whose present content it may replace.

    Returns:
        To be called when the work has ended, well or not: notes what became of the file.
    """
    before, old = _identity(path), _entry(path)
    _write(path, origin, begun=time.time_ns())

    def end() -> None:
        if _identity(path) != before:
            _write(path, origin, begun=None)
        else:
            _restore(path, old)

    return end


def _restore(path: Path, old: bytes | None) -> None:
    place = _place(path)
    if place is None:
        return
    with suppress(OSError):
        if old is None:
            place.unlink(missing_ok=True)
        else:
            _replace(place, old)


def _entry(path: Path) -> bytes | None:
    """The entry of ``path`` as it is kept; None where there is none."""
    place = _place(path)
    try:
        return place.read_bytes() if place is not None else None
    except OSError:
        return None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        known = json.loads(_entry(path) or b"null")
    except (ValueError, RecursionError):
        return None
    sources = known.get("sources") if isinstance(known, dict) else None
    is_entry = isinstance(sources, dict) and all(isinstance(one, list) for one in sources.values())
    return known if is_entry and "builder" in known else None


def _write(path: Path, origin: Origin, begun: int | None) -> None:
    place = _place(path)
    if place is None:
        return
    known = {
        "path": os.path.realpath(path),
        "builder": origin.builder,
        "sources": origin.sources,
        "identity": _identity(path),
        "begun": begun,
    }
    with suppress(OSError):
        place.parent.mkdir(exist_ok=True)
        _replace(place, json.dumps(known).encode("utf-8", "surrogatepass"))
        _prune(place.parent)


def _replace(place: Path, content: bytes) -> None:
    hidden = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        hidden.write_bytes(content)
        hidden.replace(place)
    finally:
        hidden.unlink(missing_ok=True)


def _prune(folder: Path) -> None:
    """Drop the older half of too many entries."""
    with os.scandir(folder) as found:
        entries = [(one.stat().st_mtime_ns, one.path) for one in found]
    if len(entries) > _MOST:
        for _, old in sorted(entries)[: len(entries) // 2]:
            Path(old).unlink(missing_ok=True)


def _place(path: Path) -> Path | None:
    cache = cache_folder()
    if cache is None:
        return None
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]
    return cache / "written" / f"{name}.json"


def _identity(path: Path) -> list[int] | None:
    """What identifies a file, should another take its place: inode, size, time of change."""
    try:
        found = path.stat()
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns]
