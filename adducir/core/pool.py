"""Processes that each do one task at a time, and whose death costs no more than their own task.

The standard library's pools do not say which task a killed process had, and stop altogether when
one dies. Here each process has a pipe of its own: a task that was lost is reported as such, and
another process takes the dead one's place. Processes are spawned, so that they share nothing with
this one (threads, a GPU's context, a JVM), and they end when this one does, however it ends.
"""

import os
import pickle
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from adducir.core.cores import sharing, start_within

Task = TypeVar("Task")
Result = TypeVar("Result")
Handle = Callable[[Task], Result]

_SPAWN = get_context("spawn")
_SECONDS = 10.0
"""How long a process that is asked to end is waited for before it is killed."""


@dataclass(frozen=True)
class Retiring:
    """A result that is its process's last one: another process does what comes next."""

    result: Any


@dataclass(frozen=True)
class Done(Generic[Task, Result]):
    """What became of a task.

    Attributes:
        result: What the task gave; None where there is none.
        error: What it raised.
        is_lost: Whether its process died with it: killed, or out of memory.
    """

    task: Task
    result: Result | None = None
    error: Exception | None = None
    is_lost: bool = False


class WorkerPool(Generic[Task, Result]):
    """Several processes that do tasks, in the order in which these were submitted.

    Args:
        count: How many processes, at most; one is started when there is a task for it.
        start: Called in each new process with its number from 0 on; gives the function that does
            tasks there. Like tasks and results it must be possible to pickle it.
    """

    def __init__(self, count: int, start: Callable[[int], Handle[Task, Result]]) -> None:
        self._start = start
        self._free = list(range(count))[::-1]
        self._workers: list[_Worker[Task]] = []
        self._waiting: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        """Let a task be done as soon as a process is free."""
        self._waiting.append(task)
        self._assign()

    def next(self) -> Done[Task, Result]:
        """Wait for the next task that is done, or lost.

        Raises:
            ValueError: None was submitted that was not given back before.
        """
        if not any(worker.is_busy for worker in self._workers):
            raise ValueError("there is no task to wait for")
        while True:
            ready = wait([worker.pipe for worker in self._workers])
            for worker in [one for one in self._workers if one.pipe in ready]:
                found = self._received(worker)
                self._assign()
                if found is not None:
                    return found

    def close(self, *, kill: bool = False) -> None:
        """End all processes.

        Args:
            kill: Now; otherwise each when its task is done.
        """
        self._waiting.clear()
        for worker in self._workers:
            worker.pipe.close()
            if kill:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join(_SECONDS if kill else None)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(kill=kind is not None)

    def _assign(self) -> None:
        while self._waiting:
            worker = next((one for one in self._workers if not one.is_busy), None)
            if worker is None and self._free:
                worker = _Worker.started(self._free.pop(), self._start)
                self._workers.append(worker)
            if worker is None:
                return
            worker.give(self._waiting.popleft())

    def _received(self, worker: "_Worker[Task]") -> Done[Task, Result] | None:
        """What a process sent; None where one died that had no task."""
        try:
            kind, value = worker.pipe.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            self._replace(worker)
            return Done(worker.task[0], is_lost=True) if worker.task else None
        task = worker.task.pop()
        if kind == "error":
            return Done(task, error=value)
        if kind == "last":
            self._replace(worker)
        return Done(task, result=value)

    def _replace(self, worker: "_Worker[Task]") -> None:
        """Let another process have a process's place, when there is a task for it."""
        worker.pipe.close()
        worker.process.join(_SECONDS)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        self._workers.remove(worker)
        self._free.append(worker.number)


@dataclass(eq=False)
class _Worker(Generic[Task]):
    """A process, the pipe to it, and the task that it has."""

    number: int
    process: BaseProcess
    pipe: "Connection[Any, Any]"
    task: list[Task]

    @classmethod
    def started(cls, number: int, start: Callable[[int], Handle[Any, Any]]) -> "_Worker[Task]":
        ours, theirs = _SPAWN.Pipe()
        process = _SPAWN.Process(target=_serve, args=(theirs, start, number, sharing()))
        process.start()
        theirs.close()
        return cls(number, process, ours, [])

    @property
    def is_busy(self) -> bool:
        return bool(self.task)

    def give(self, task: Task) -> None:
        self.task.append(task)
        with suppress(OSError):  # where it died meanwhile, reading from it will show that
            self.pipe.send(task)


def _serve(
    pipe: "Connection[Any, Any]",
    start: Callable[[int], Handle[Any, Any]],
    number: int,
    others: int,
) -> None:
    """In a new process: do tasks until nobody sends any more."""
    start_within(others)
    Thread(target=_end_with_parent, daemon=True).start()
    handle: Handle[Any, Any] | None = None
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        except KeyboardInterrupt:
            return
        try:
            handle = handle or start(number)
            result = handle(task)
            if isinstance(result, Retiring):
                pipe.send(("last", result.result))
                return
            message: tuple[str, Any] = ("result", result)
        except KeyboardInterrupt:
            return
        except Exception as error:  # noqa: BLE001  (it is raised again in the other process)
            message = ("error", _sendable(error))
        try:
            pipe.send(message)
        except OSError:
            return


def _sendable(error: Exception) -> Exception:
    """The error, with its traceback as a note; another one of its words where it has no pickle."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  (our own bytes)
    except Exception:  # noqa: BLE001  (whatever its own methods raise)
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with_parent() -> None:
    """A killed parent cannot end its processes; what they were making is left as if killed."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
