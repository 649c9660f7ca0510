"""Which process this is, whether another one still lives, and its share of the cores."""

import os
import platform
import zlib
from pathlib import Path

_around = 1
"""Processes that share the cores with the one that started this one, that one included."""
_sharing = 1
_TOKENIZERS = "RAYON_NUM_THREADS"


def here() -> str:
    """Eight hexadecimal digits for where process ids mean what they mean here.

    They differ between machines, and between containers on one machine.
    """
    namespace = Path("/proc/self/ns/pid")
    name = str(namespace.readlink()) if namespace.is_symlink() else ""
    return f"{zlib.crc32(f'{platform.node()} {name}'.encode()):08x}"


def describe_self() -> str:
    """This process in words: ``process 4711 on host``."""
    return f"process {os.getpid()} on {platform.node()}"


def is_alive(pid: int) -> bool:
    """Whether a process with this id runs here."""
    import psutil

    return psutil.pid_exists(pid)


def cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sharing() -> int:
    """How many processes share the cores, this one included."""
    return _sharing


def start_within(others: int) -> None:
    """Note in a new process how many shared the cores with the one that started it."""
    global _around, _sharing
    _around = _sharing = others


def share_cores(processes: int) -> None:
    """Note that so many processes share the cores of the process that started them.

    It holds for as long as this process lives, and for those that it starts.
    """
    global _sharing
    given = str(default_threads())  # what the process that started this one left it
    _sharing = _around * processes
    # Tokenizers take as many threads, unless the user has said otherwise.
    if os.environ.get(_TOKENIZERS, given) == given:
        os.environ[_TOKENIZERS] = str(default_threads())


def default_threads() -> int:
    """Threads to take where no number is given: one for each core of this process's share."""
    return max(1, cores() // _sharing)
