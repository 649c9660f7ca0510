"""The cores that this process may use: all of the machine's, or its share as one of several."""

import os

_sharing = 1


def cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_cores(processes: int) -> None:
    """Note, for as long as this process lives, that so many processes share the cores."""
    global _sharing
    _sharing = processes
    # Tokenizers take as many threads, unless the user has said otherwise.
    os.environ.setdefault("RAYON_NUM_THREADS", str(default_threads()))


def default_threads() -> int:
    """Threads to take where no number is given: one for each core of this process's share."""
    return max(1, cores() // _sharing)
