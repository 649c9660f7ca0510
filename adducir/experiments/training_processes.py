"""Several processes of this machine that train the model of one step together."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from adducir.core.cores import share_cores
from adducir.core.errors import MachineError
from adducir.core.pool import WorkerPool
from adducir.training.processes import PeerStoppedError

_Paths = tuple[str, ...]
Make = Callable[[_Paths], Sequence[str]]
"""Makes the steps of some paths, and returns what is to be reported."""


def make_together(start: Callable[[int], Make], path: Path, count: int) -> Sequence[str]:
    """Let processes make one step, all of them as :func:`adducir.training.train_model` wants it.

    When one fails, the others are ended.

    Args:
        start: Called in each new process with its number; gives what makes steps there.
        path: The step's.
        count: How many processes.

    Returns:
        What is to be reported.

    Raises:
        AdducirError: What the process raised that failed.
        MachineError: One was killed.
    """
    import torch.distributed as dist

    notes: list[str] = []
    stopped: Exception | None = None
    # Held here, where its port is never free for others before the processes meet.
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)  # type: ignore[attr-defined]
    join = partial(_joined, start, count, store.port)
    with WorkerPool[_Paths, Sequence[str]](count, join) as pool:
        for _ in range(count):
            pool.submit((str(path),))
        for _ in range(count):
            done = pool.next()
            if done.is_lost:
                raise MachineError(
                    f"one of {count} processes that trained together was killed, and the others "
                    "were ended.",
                    path=path,
                    hint="Was there too little memory? The training goes on from its last snapshot "
                    "when it is started again.",
                )
            if isinstance(done.error, PeerStoppedError):
                stopped = done.error  # the other one says why
            elif done.error is not None:
                raise done.error
            notes += done.result or ()
    if stopped is not None:
        raise stopped
    return notes


def _joined(start: Callable[[int], Make], count: int, port: int, number: int) -> Make:
    """In a new process: what torchrun would set there, and what makes steps."""
    share_cores(count)
    os.environ |= {
        "RANK": str(number),
        "LOCAL_RANK": str(number),
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_USE_AGENT_STORE": str(True),
    }
    return start(number)
