"""Shards are made as tasks of a Ray cluster, whose nodes share this machine's file system.

A task is one shard; the process that Ray runs it in keeps what it has loaded for the next. Ray's
own retries are off: a shard that was lost is reported, and given again by the caller, who counts.
Ray Data is not used, since it keeps neither the order of items nor the sizes of batches.
"""

import logging
import socket
from collections.abc import Generator, Sequence
from typing import Any

from adducir.core.cores import cores
from adducir.core.errors import AdducirError, MachineError
from adducir.core.fingerprint import fingerprint
from adducir.core.sharding.executors.processes import refuse_unsendable
from adducir.core.sharding.parts import Lost, Outcome, Report
from adducir.core.sharding.plan import Shard
from adducir.core.sharding.work import WorkerPlace
from adducir.core.sharding.worker import Job, Worker

_AHEAD = 2
"""Tasks that are submitted for each one that can run, so that none waits for the next."""

_SECONDS = 10.0
"""How long a cluster may take to answer."""


class RayTasks:
    """See the module's text.

    Args:
        address: Of the cluster: ``auto``, ``HOST:PORT`` or ``ray://HOST:PORT``.
    """

    def __init__(self, address: str) -> None:
        self._address, self.at_once = address, 1

    def run(self, job: Job, shards: Sequence[Shard]) -> Generator[Report, None, None]:
        """See :class:`.Executor`.

        Raises:
            MachineError: Ray is not installed, or there is no cluster; or its nodes do not share
                this machine's file system.
        """
        refuse_unsendable(job)
        ray = _connected(self._address)
        gpus = 1 if _has_gpus(ray) else 0
        make: Any = ray.remote(max_retries=0, num_cpus=1, num_gpus=gpus)(_make)
        sent = ray.put(job)
        key = fingerprint([str(job.folder), job.work.identity()])
        waiting = list(shards)[::-1]
        running: dict[Any, Shard] = {}
        while waiting or running:
            room = max(1, int(ray.cluster_resources().get("GPU" if gpus else "CPU", 1))) * _AHEAD
            self.at_once = max(room, self.at_once)
            while waiting and len(running) < room:
                shard = waiting.pop()
                running[make.remote(sent, key, shard)] = shard
            done, _ = ray.wait(list(running), num_returns=1)
            for reference in done:
                yield _checked(_report(ray, reference, running.pop(reference)), job)


def _connected(address: str) -> Any:
    try:
        import ray
    except ImportError as error:
        raise MachineError(
            "Ray is not installed.", hint="Install it: pip install ray", absent=True
        ) from error
    if not ray.is_initialized():
        try:
            _reach(address)
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            what = " ".join(str(error).split())
            raise MachineError(
                f"there is no Ray cluster at {address}: {what}.",
                hint="Start one (ray start --head), and give its address or 'auto'.",
            ) from error
    return ray


def _reach(address: str) -> None:
    """Fail at once where nobody listens: Ray itself tries for minutes.

    Raises:
        OSError: Nobody does.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), _SECONDS).close()


def _has_gpus(ray: Any) -> bool:
    return bool(ray.cluster_resources().get("GPU", 0) >= 1)


def _report(ray: Any, reference: Any, shard: Shard) -> Report:
    """What became of a task.

    Raises:
        AdducirError: As :meth:`.Worker.make`.
    """
    try:
        found: Report = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise cause if isinstance(cause, AdducirError) else error from error
    except ray.exceptions.RayError:  # the node or its process is gone, or out of memory
        return Lost(shard)
    return found


def _checked(report: Report, job: Job) -> Report:
    """The report, where this machine sees what was made.

    Raises:
        MachineError: The nodes write elsewhere.
    """
    if isinstance(report, Outcome) and not (job.folder / report.file).exists():
        raise MachineError(
            f"a node of the cluster ({report.worker}) wrote a shard that is not seen here.",
            path=job.folder,
            hint="Write to a folder that all nodes share.",
        )
    return report


_workers: dict[str, Worker] = {}
"""In a process of Ray's: what makes the shards of a job; of the last one only."""


def _make(job: Job, key: str, shard: Shard) -> Any:
    """In a process of Ray's: make a shard."""
    if key not in _workers:
        _workers.clear()
        # A task takes one core of its node, as if a worker of each other core stood beside it.
        _workers[key] = Worker(job, WorkerPlace(count=cores(), is_alone=True))
    return _workers[key].make(shard)
