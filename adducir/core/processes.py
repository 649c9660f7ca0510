"""A process's share of the cores, and locks for one process at a time per artifact."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from adducir.core.errors import explaining_writes
from adducir.core.progress import progress

T = TypeVar("T")
U = TypeVar("U")
SPAN = 64
"""Queries that a thread searches at a time."""
_SHARE = "_ADDUCIR_PROCESSES"  # processes that share the cores: those started from here inherit it
_around = int(os.environ.get(_SHARE, "1"))
_TOKENIZERS = "RAYON_NUM_THREADS"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_cores(processes: int) -> None:
    """Record how many processes share the cores of their parent."""
    share = str(default_threads())  # set by the parent process
    os.environ[_SHARE] = str(_around * processes)
    # Tokenizers use as many threads, unless the user has set it.
    if os.environ.get(_TOKENIZERS, share) == share:
        os.environ[_TOKENIZERS] = str(default_threads())


MOST_THREADS = 4_096
"""More than any machine has cores; Java and torch overflow where Python's integers do not."""


def default_threads() -> int:
    """The default number of threads: one per core of this process's share."""
    return max(1, cores() // int(os.environ.get(_SHARE, "1")))


@contextmanager
def keeping_fault_handlers() -> Iterator[None]:
    """Keep the handlers of faults in memory, which a library such as Ray replaces inside the block.

    A Java virtual machine handles faults in normal operation; without its handlers they kill it.
    """
    import ctypes

    if os.name != "posix":
        yield
        return
    libc = ctypes.CDLL(None)
    numbers = signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL
    kept = [(number, ctypes.create_string_buffer(256)) for number in numbers]  # of struct sigaction
    for number, action in kept:
        libc.sigaction(number, None, action)
    try:
        yield
    finally:
        for number, action in kept:
            libc.sigaction(number, action, None)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of ``path`` inside the block; without ``wait``, an OSError if it is taken.

    The lock is the hidden sibling ``.NAME.lock``, which stays: if it were removed, two processes
    could lock two files of the same name. Blocks for the same path can be nested.
    """
    from filelock import FileLock, Timeout  # here, so that --help does not load it

    with explaining_writes(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        place = Path(os.path.realpath(path.parent), f".{path.name}.lock")
        lock = FileLock(place, is_singleton=True)  # a thread can acquire it again
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if not wait:
                raise
            progress().note(f"{path}: waiting for another process that is working on it.")
            lock.acquire(poll_interval=0.1)
        try:
            yield
        finally:
            lock.release()


def in_threads(work: Callable[[int, int], None], count: int, threads: int) -> None:
    """Call ``work`` in threads with spans (first, last) that cover ``count`` queries."""
    size = SPAN if threads == 1 else max(1, min(SPAN, -(-count // (4 * threads))))
    spans = list(pairwise([*range(0, count, size), count]))
    if threads == 1 or len(spans) < 2:
        for span in spans:
            work(*span)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(threads, len(spans))) as pool:
        for _ in pool.map(lambda span: work(*span), spans):
            pass


def ahead(work: Callable[[T], U], items: Iterable[T], threads: int) -> Iterator[U]:
    """Results in the items' order; threads compute the next few while the caller takes one."""
    from concurrent.futures import Future, ThreadPoolExecutor

    pending: deque[Future[U]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > 2 * threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
