"""Reading mutated files one after another in one process, each within bounds."""

import os
import random
import resource
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attack_mutations import mutated
from attack_readers import READERS, Call

SECONDS = 10.0
"""Processor seconds that a case may take: files are below 400 kB."""
MEMORY = 2 << 30
"""Bytes that a case may take beyond what the process has."""


class TooSlow(BaseException):
    """A case took longer than it may; no reader catches this."""


def _too_slow(signum: int, frame: Any) -> None:
    raise TooSlow


@contextmanager
def bounded(seconds: float = SECONDS, memory: int | None = MEMORY) -> Iterator[None]:
    """Bound the time and the memory of what runs inside the block."""
    if memory is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        allowed = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (allowed, resource.RLIM_INFINITY))
    signal.signal(signal.SIGVTALRM, _too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def error_of(call: Call, path: Path) -> str | None:
    """What is wrong with how a reader ends: nothing, for a result or an error with its file."""
    from adducir.core.errors import AdducirError, InputError

    try:
        with bounded():
            call(path)
    except InputError as error:
        return None if error.path is not None else f"an InputError without a path: {error.what}"
    except AdducirError as error:
        return None if error.exit_code != 70 else f"exit code 70: {error.what}"
    except TooSlow:
        return f"more than {SECONDS:g} s of processor time"
    except BaseException as error:
        places = traceback.extract_tb(error.__traceback__)
        own = [place for place in places if "/adducir/" in place.filename]
        place = own[-1] if own else places[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return f"{type(error).__name__} at {where}: {str(error)[:150]}"
    return None


def fuzz(name: str, samples: list[bytes], folder: Path, first: int, last: int, seed: int) -> None:
    """Read the cases ``first`` to ``last`` of a reader; write what fails to ``errors``.

    The case that is at work stands in its file, so that a crash leaves it behind.
    """
    for number in range(first, last):
        draw = random.Random(f"{seed}:{name}:{number}")
        path = folder / name
        path.write_bytes(mutated(draw.choice(samples), samples, draw))
        for call in READERS[name]:
            problem = error_of(call, path)
            if problem is not None:
                kept = folder / f"{number}-{name}"
                kept.write_bytes(path.read_bytes())
                with (folder / "errors").open("a") as notes:
                    notes.write(f"case {number} ({path.stat().st_size:,} bytes): {problem}\n")
    os.close(os.open(folder / "done", os.O_CREAT | os.O_WRONLY))
