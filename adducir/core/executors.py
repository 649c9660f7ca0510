"""Where chunks are computed: this process, local processes, Ray tasks, or Slurm jobs (submitit)."""

import logging
import os
import shutil
import socket
import tempfile
import threading
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from adducir.core.errors import Keyed, MachineError, UsageError, worded
from adducir.core.files import cache_folder
from adducir.core.packages import required
from adducir.core.processes import cores, keeping_fault_handlers, share_cores


@dataclass(frozen=True)
class Place:
    number: int = 0  # which of several GPUs it uses
    count: int = 1  # how many share the cores
    is_alone: bool = False  # alone in its process, so it may change global settings

    @classmethod
    def here(cls) -> "Place":
        return _place


_place = Place()


@dataclass(frozen=True)
class Execution:
    workers: int = 1  # processes on this machine; 1: this process itself
    ray: str | None = None  # the address of a Ray cluster: "auto", or HOST:PORT
    slurm: str | None = None  # settings of submitit: "partition=gpu,timeout_min=60"

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise UsageError(f"{worded('workers')} must be 1 or more, not {self.workers}.")
        if self.ray is not None and (self.slurm is not None or self.workers != 1):
            message = "{} cannot be combined with {} or {}: the cluster has its own workers."
            raise UsageError(Keyed(message, "ray", "slurm", "workers"))

    @property
    def is_here(self) -> bool:
        return self.workers == 1 and self.is_local

    @property
    def is_local(self) -> bool:
        return self.ray is None and self.slurm is None

    def executor(self) -> "Here | Processes | Cluster":
        """The executor; a MachineError if a package or the cluster is missing."""
        if self.ray is not None:
            return RayTasks(self.ray)
        if self.slurm is not None:
            return SlurmJobs(self.slurm, self.workers)
        return Here() if self.workers == 1 else Processes(self.workers)


HERE = Execution()
"""In this process."""


class Here(Executor):
    capacity = 0
    """How many calls to submit before one is done."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:  # noqa: BLE001  (the caller decides)
            future.set_exception(error)
        return future


class Processes(Executor):
    """Spawned processes of this machine: one per core, or one per GPU.

    They share nothing with this process (threads, GPU context, JVM), serve successive pieces of
    work until :func:`end_processes`, and end with this process.
    """

    def __init__(self, count: int) -> None:
        self.capacity, self._count = 2 * count, count

    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> "Future[Any]":
        try:
            return _pool(self._count).submit(function, *args)
        except BrokenExecutor:  # it lost a process: replace it
            end_processes()
            return _pool(self._count).submit(function, *args)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            end_processes()


_pools: dict[tuple[int, str], ProcessPoolExecutor] = {}
"""By the number of processes and the folder where they work."""


def _pool(count: int) -> ProcessPoolExecutor:
    key, spawn = (count, str(Path.cwd())), get_context("spawn")
    if key not in _pools:
        arguments = (spawn.Value("i", 0), *key)
        _pools[key] = ProcessPoolExecutor(count, spawn, _start_process, arguments)
    return _pools[key]


def end_processes() -> None:
    """End the processes kept for further work at once, even busy ones."""
    while _pools:
        _, pool = _pools.popitem()
        running = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()


def _start_process(started: Any, count: int, folder: str) -> None:
    with started.get_lock():
        number = started.value
        started.value += 1
    _settle(Place(number % count, count, is_alone=True), folder)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A killed parent cannot end its processes, so they end themselves, as if killed."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _settle(place: Place, folder: str) -> None:
    global _place
    if _place != place:
        _place = place
        share_cores(place.count)
    with suppress(OSError):  # another machine may not have it; paths may be absolute
        os.chdir(folder)


def _on_node(sharing: int, folder: str, function: Callable[..., Any], *args: Any) -> Any:
    """``sharing``: among how many calls the node's cores are divided; 0: each has one core."""
    _settle(Place(count=sharing or cores(), is_alone=True), folder)
    return function(*args)


def _outcome(*call: Any) -> tuple[bool, Any]:
    """A call's value, or its error, since submitit reports errors as text alone."""
    try:
        return True, _on_node(*call)
    except Exception as error:  # noqa: BLE001  (the caller raises it)
        return False, error


class Cluster(Executor):
    """Calls on other machines, each waited for by a thread of this process."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._threads = ThreadPoolExecutor(capacity)

    def submit(self, function: Callable[..., Any], /, *args: Any, **_: Any) -> "Future[Any]":
        return self._threads.submit(self.call, str(Path.cwd()), function, *args)

    @abstractmethod
    def call(self, folder: str, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function there; BrokenExecutor means that its worker died."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._threads.shutdown(wait=kind is None, cancel_futures=True)


class RayTasks(Cluster):
    """Tasks of a Ray cluster (``auto``, ``HOST:PORT``) whose nodes share this file system."""

    def __init__(self, address: str) -> None:
        ray = required("ray")
        self._connected = not ray.is_initialized()
        if self._connected:
            host, colon, port = address.removeprefix("ray://").rpartition(":")
            try:
                if colon and port.isdigit():  # Ray itself tries for minutes
                    socket.create_connection((host, int(port)), timeout=10).close()
                with keeping_fault_handlers():
                    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
            except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
                message = (
                    f"cannot connect to a Ray cluster at {address}: {' '.join(str(error).split())}."
                )
                hint = "Start one (ray start --head) and give its address or 'auto'."
                raise MachineError(message, hint=hint) from error
        self._ray: Any = ray
        resources = self._ray.cluster_resources()
        gpus = 1 if resources.get("GPU", 0) >= 1 else 0
        # Ray's own retries are off: the caller counts attempts.
        self._call = self._ray.remote(max_retries=0, num_cpus=1, num_gpus=gpus)(_on_node)
        super().__init__(2 * max(1, int(resources.get("GPU" if gpus else "CPU", 1))))

    def call(self, folder: str, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return self._ray.get(self._call.remote(0, folder, function, *args))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from error
        except self._ray.exceptions.RayError as error:
            raise BrokenExecutor(str(error)) from error  # its node or process is gone

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._connected:
            with keeping_fault_handlers():
                self._ray.shutdown()


class SlurmJobs(Cluster):
    """Slurm jobs, submitted by submitit, one chunk each, many queued at a time.

    ``settings`` are ``KEY=VALUE,…`` as submitit's ``update_parameters`` takes them;
    ``cluster=local`` runs jobs on this machine; ``folder=PATH`` (by default in the user's cache)
    holds calls and results and must be visible to the nodes.
    """

    def __init__(self, settings: str, at_once: int) -> None:
        submitit = required("submitit")
        options: dict[str, Any] = {}
        for setting in filter(None, settings.split(",")):
            key, is_set, value = (part.strip() for part in setting.partition("="))
            if not is_set:
                raise UsageError(f"{worded('slurm')}: {setting!r} is not KEY=VALUE.")
            options[key] = int(value) if value.isdigit() else value
        cluster, above = options.pop("cluster", None), options.pop("folder", None) or cache_folder()
        if cluster is None and shutil.which("sbatch") is None:  # submitit would run it all here
            raise MachineError(
                "Slurm jobs cannot be submitted: sbatch is not available.",
                hint=f"Run this where it is, or use {worded('workers')} here.",
            )
        # Pickles can run code: nobody else may write there.
        self._folder = Path(tempfile.mkdtemp(prefix="slurm-", dir=above))
        try:
            self._executor = submitit.AutoExecutor(self._folder, cluster=cluster)
            self._executor.update_parameters(**options)
        except (RuntimeError, NameError, TypeError, ValueError, AssertionError) as error:
            shutil.rmtree(self._folder)
            raise MachineError(
                f"Slurm jobs cannot be submitted: {error}.",
                hint="Run this where sbatch is available, or give settings that submitit knows.",
            ) from error
        self._jobs: list[Any] = []
        super().__init__(at_once if at_once > 1 else 64)  # 1 is the default of --workers

    def call(self, folder: str, function: Callable[..., Any], *args: Any) -> Any:
        # Slurm limits the cores that a job sees.
        job = self._executor.submit(_outcome, 1, folder, function, *args)
        self._jobs.append(job)
        try:
            is_made, value = job.result()
        except Exception as error:  # a lost job
            raise BrokenExecutor(str(error)) from error
        if not is_made:
            raise value
        return value

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        for job in self._jobs if kind is not None else ():
            job.cancel()
        super().__exit__(kind, *details)
        shutil.rmtree(self._folder, ignore_errors=True)
