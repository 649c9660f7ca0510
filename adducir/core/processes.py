"""Which process this is, its share of the cores, and one process at a time at one artifact."""

import os
import platform
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from adducir.core.errors import explaining_writes
from adducir.core.progress import progress

if TYPE_CHECKING:
    from filelock import BaseFileLock

_SHARE = "_ADDUCIR_PROCESSES"  # processes that share the cores: those started from here inherit it
_around = int(os.environ.get(_SHARE, "1"))
_TOKENIZERS = "RAYON_NUM_THREADS"


def here() -> str:
    """Eight hexadecimal digits for where process ids mean what they mean here.

    They differ between machines, and between containers on one machine.
    """
    namespace = Path("/proc/self/ns/pid")
    name = str(namespace.readlink()) if namespace.is_symlink() else ""
    return f"{zlib.crc32(f'{platform.node()} {name}'.encode()):08x}"


def is_alive(pid: int) -> bool:
    """Whether a process with this id runs here."""
    import psutil

    return psutil.pid_exists(pid)


def cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_cores(processes: int) -> None:
    """Note that so many processes share the cores of the process that started them."""
    given = str(default_threads())  # what the process that started this one left it
    os.environ[_SHARE] = str(_around * processes)
    # Tokenizers take as many threads, unless the user has said otherwise.
    if os.environ.get(_TOKENIZERS, given) == given:
        os.environ[_TOKENIZERS] = str(default_threads())


def default_threads() -> int:
    """Threads to take where no number is given: one for each core of this process's share."""
    return max(1, cores() // int(os.environ.get(_SHARE, "1")))


_POLL_SECONDS = 0.1
_held_here: ContextVar[frozenset[str]] = ContextVar("locks held here", default=frozenset())
"""The files of locks that this thread holds: it may enter their blocks again."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of ``path`` inside the block, waiting for it as long as it takes.

    The lock is the hidden sibling ``.NAME.lock``, which stays: removing it would let two processes
    hold locks on two files of one name. The system frees it when its holder, who is named in
    ``.NAME.lock.holder``, ends. Blocks of one path can stand inside one another.
    """
    from filelock import Timeout

    lock = _lock(path)
    if lock.lock_file in _held_here.get():
        yield
        return
    with explaining_writes(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            try:
                holder = holder_of(path).read_text(encoding="utf-8") or "another process"
            except (OSError, UnicodeDecodeError):
                holder = "another process"
            progress().note(f"{path}: waiting for {holder}, which is at work on it.")
            lock.acquire(poll_interval=_POLL_SECONDS)
        with _held(lock, path):
            yield


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock of ``path`` inside the block if nobody does; yields whether it is held."""
    from filelock import Timeout

    lock = _lock(path)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        yield False
        return
    with _held(lock, path):
        yield True


def _lock(path: Path) -> "BaseFileLock":
    from filelock import FileLock  # here, as help shall not load it

    return FileLock(Path(os.path.realpath(path.parent), f".{path.name}.lock"))


@contextmanager
def _held(lock: "BaseFileLock", path: Path) -> Iterator[None]:
    """Name the holder inside the block, release the lock at its end."""
    holder = holder_of(path)
    before = _held_here.set(_held_here.get() | {lock.lock_file})
    try:
        # Only a courtesy to those who wait: it must not stop the work.
        with suppress(OSError):
            holder.write_text(f"process {os.getpid()} on {platform.node()}", encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            holder.unlink()
        _held_here.reset(before)
        lock.release()


def holder_of(path: Path) -> Path:
    """The file that names who holds the lock of ``path``; a killed holder leaves it."""
    return path.with_name(f".{path.name}.lock.holder")
