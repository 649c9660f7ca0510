"""Where chunks are made: this process, local processes, Ray tasks, or Slurm jobs by submitit."""

import logging
import os
import pickle
import shutil
import socket
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Self

from adducir.core.errors import AdducirError, MachineError, UsageError
from adducir.core.files import cache_folder
from adducir.core.processes import cores, share_cores, sharing, start_within

_SECONDS = 10.0
"""How long a cluster may take to answer."""
_POLL = 0.5


@dataclass(frozen=True)
class Place:
    """Where a worker stands among those that work side by side on one machine."""

    number: int = 0  # which of several GPUs it takes
    count: int = 1  # cores are divided among so many
    is_alone: bool = False  # it has its process to itself, and may settle how that computes

    @classmethod
    def here(cls) -> "Place":
        """That of this process."""
        return _place


_place = Place()


class Executor(ABC):
    """Makes chunks somewhere; all that it started ends with its ``with`` block."""

    capacity = 0
    """How many calls are worth submitting before one is done."""

    @abstractmethod
    def submit(self, function: Callable[..., Any], *args: Any) -> "Future[Any]":
        """Call a function there; BrokenExecutor stands for a worker that died."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:  # noqa: B027
        pass


@dataclass(frozen=True)
class Execution:
    """Who makes chunks: nothing of it determines a byte of them."""

    workers: int = 1  # processes on this machine; 1: this process itself
    ray: str | None = None  # the address of a Ray cluster: "auto", or HOST:PORT
    slurm: str | None = None  # settings of submitit: "partition=gpu,timeout_min=60"

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise UsageError(f"--workers is {self.workers}; it must be 1 or more.")
        if self.ray is not None and self.slurm is not None:
            raise UsageError("--ray and --slurm exclude each other.")
        if self.ray is not None and self.workers != 1:
            raise UsageError("--workers has no effect with --ray: the cluster has its own.")

    @property
    def is_here(self) -> bool:
        """Whether this process itself makes them, with what it has loaded."""
        return self.workers == 1 and self.ray is None and self.slurm is None

    @property
    def is_local(self) -> bool:
        """Whether all of it happens on this machine."""
        return self.ray is None and self.slurm is None

    def executor(self) -> Executor:
        """What makes chunks; a MachineError where a package or the cluster is missing."""
        if self.ray is not None:
            return RayTasks(self.ray)
        if self.slurm is not None:
            return SlurmJobs(self.slurm, self.workers)
        return Here() if self.workers == 1 else Processes(self.workers)


HERE = Execution()
"""In this process."""


class Here(Executor):
    """Calls in this process, one after the other."""

    def submit(self, function: Callable[..., Any], *args: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args))
        except Exception as error:  # noqa: BLE001  (the caller decides)
            future.set_exception(error)
        return future


class Processes(Executor):
    """Spawned processes of this machine: one per core, or one per GPU.

    They share nothing with this process (threads, a GPU's context, a JVM), and end when it does.
    """

    def __init__(self, count: int) -> None:
        self.capacity = 2 * count
        self._count = count
        self._pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        spawn = get_context("spawn")
        return ProcessPoolExecutor(
            self._count,
            mp_context=spawn,
            initializer=_start_process,
            initargs=(spawn.Value("i", 0), self._count, sharing(), str(Path.cwd())),
        )

    def submit(self, function: Callable[..., Any], *args: Any) -> "Future[Any]":
        try:
            return self._pool.submit(_in_process, function, *args)
        except BrokenExecutor:  # it lost a process, and is replaced
            self._pool.shutdown(wait=False)
            self._pool = self._started()
            return self._pool.submit(_in_process, function, *args)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        running = list((self._pool._processes or {}).values()) if kind is not None else []
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        for process in running:
            process.terminate()


def _in_process(function: Callable[..., Any], *args: Any) -> Any:
    # What cannot be read back from its pickle would be taken for a process that died.
    try:
        found = function(*args)
        pickle.loads(pickle.dumps(found))  # noqa: S301 (ours)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 (ours)
        except Exception:  # noqa: BLE001
            raise RuntimeError(f"{type(error).__name__}: {error}") from None
        raise
    return found


def _start_process(started: Any, count: int, others: int, folder: str) -> None:
    """In a new process: take a number, and end with the parent."""
    with started.get_lock():
        number = started.value
        started.value += 1
    start_within(others)
    _settle(Place(number % count, count, is_alone=True), folder)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _settle(place: Place, folder: str) -> None:
    global _place
    if _place != place:
        _place = place
        share_cores(place.count)
    with suppress(OSError):  # another machine may not have it: paths may be absolute
        os.chdir(folder)


def _end_with_parent() -> None:
    """A killed parent cannot end its processes; what they were making is left as if killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _on_node(is_ray: bool, folder: str, function: Callable[..., Any], *args: Any) -> Any:
    # Ray gives a task one core of its node; Slurm limits the cores that a job sees.
    _settle(Place(count=cores() if is_ray else 1, is_alone=True), folder)
    return function(*args)


class RayTasks(Executor):
    """Tasks of a Ray cluster (``auto``, ``HOST:PORT``) whose nodes share this file system."""

    def __init__(self, address: str) -> None:
        self._ray = _connected(address)
        resources = self._ray.cluster_resources()
        gpus = 1 if resources.get("GPU", 0) >= 1 else 0
        # Ray's own retries are off: the caller counts attempts.
        self._call = self._ray.remote(max_retries=0, num_cpus=1, num_gpus=gpus)(_on_node)
        self.capacity = 2 * max(1, int(resources.get("GPU" if gpus else "CPU", 1)))

    def submit(self, function: Callable[..., Any], *args: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        called: Future[Any] = self._call.remote(True, str(Path.cwd()), function, *args).future()
        called.add_done_callback(lambda found: self._forward(found, done))
        return done

    def _forward(self, called: "Future[Any]", done: "Future[Any]") -> None:
        error: Any = called.exception()
        if error is None:
            done.set_result(called.result())
        elif isinstance(error, self._ray.exceptions.RayTaskError):
            done.set_exception(error.cause if isinstance(error.cause, Exception) else error)
        elif isinstance(error, self._ray.exceptions.RayError):
            done.set_exception(BrokenExecutor(str(error)))  # its node or process is gone
        else:
            done.set_exception(error)


def _connected(address: str) -> Any:
    try:
        import ray
    except ImportError as error:
        raise MachineError(
            "Ray is not installed.", hint="Install it: pip install ray", absent=True
        ) from error
    if not ray.is_initialized():
        host, colon, port = address.removeprefix("ray://").rpartition(":")
        try:
            if colon and port.isdigit():  # Ray itself tries for minutes
                socket.create_connection((host, int(port)), _SECONDS).close()
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
            what = " ".join(str(error).split())
            raise MachineError(
                f"there is no Ray cluster at {address}: {what}.",
                hint="Start one (ray start --head), and give its address or 'auto'.",
            ) from error
    return ray


class SlurmJobs(Executor):
    """Slurm jobs, submitted by submitit; each makes one chunk, so many are queued at a time.

    ``settings`` are ``KEY=VALUE,…`` as submitit's ``update_parameters`` takes them;
    ``cluster=local`` runs jobs on this machine, ``folder=PATH`` says where calls and results lie:
    they are pickles, which can run code, and so the folder is one that only this user can write
    to, by default in the user's cache, which the nodes must see.
    """

    def __init__(self, settings: str, at_once: int) -> None:
        try:
            import submitit
        except ImportError as error:
            raise MachineError(
                "submitit is not installed.", hint="Install it: pip install submitit", absent=True
            ) from error
        given: dict[str, Any] = {}
        for one in filter(None, settings.split(",")):
            key, is_set, value = one.partition("=")
            if not is_set:
                raise UsageError(f"--slurm: {one!r} is not KEY=VALUE.")
            given[key.strip()] = int(value) if value.strip().isdigit() else value.strip()
        cluster = given.pop("cluster", None)
        self._folder = _private_folder(given.pop("folder", None))
        try:
            self._executor = submitit.AutoExecutor(self._folder, cluster=cluster)
            self._executor.update_parameters(**given)
        except (RuntimeError, NameError, TypeError, ValueError, AssertionError) as error:
            raise MachineError(
                f"Slurm jobs cannot be submitted: {error}.",
                hint="Run this where sbatch is, or give settings that submitit knows.",
            ) from error
        self.capacity = at_once if at_once > 1 else 64  # 1 is the default of --workers
        self._jobs: dict[Any, Future[Any]] = {}
        self._ended = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def submit(self, function: Callable[..., Any], *args: Any) -> "Future[Any]":
        job = self._executor.submit(_on_node, False, str(Path.cwd()), function, *args)
        future = self._jobs[job] = Future()
        return future

    def _watch(self) -> None:
        while not self._ended.wait(_POLL):
            for job in [one for one in list(self._jobs) if one.done()]:
                future = self._jobs.pop(job)
                try:
                    future.set_result(job.result())
                except AdducirError as error:
                    future.set_exception(error)
                except Exception as error:  # noqa: BLE001  (a lost job, or its own error as text)
                    future.set_exception(BrokenExecutor(str(error)))

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for job in self._jobs:
            job.cancel()
        shutil.rmtree(self._folder, ignore_errors=True)


def _private_folder(named: str | None) -> Path:
    """A new folder that nobody else can write to, below one that is this user's own."""
    above = cache_folder() if named is None else Path(named)
    hint = "Name a folder of your own that the nodes see: --slurm folder=PATH,..."
    if above is None:
        raise MachineError("there is no folder for the calls of Slurm jobs.", hint=hint)
    try:
        above.mkdir(parents=True, exist_ok=True)
        state = above.stat()
        if state.st_uid != os.getuid() or state.st_mode & 0o022:
            raise MachineError("others can write to this folder.", path=above, hint=hint)
        return Path(tempfile.mkdtemp(prefix="slurm-", dir=above))
    except OSError as error:
        raise MachineError(f"{error.strerror}.", path=above, hint=hint) from error
