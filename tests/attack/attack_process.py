"""Commands in processes of their own, which are forked from one that has imported everything.

A killed process must be a real one, and starting Python for each of some hundred kills would take
most of the time. So one server imports the packages once, without starting threads, Java or a
kernel, and forks a child for every command.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LIMIT = 180.0
"""Seconds after which a command counts as hanging."""

# The server of Python 3.11 finds what it is to import by the environment alone.
_HERE = str(Path(__file__).parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_HERE, os.environ.get("PYTHONPATH")]))
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["attack_preload"])


@dataclass(frozen=True)
class Order:
    """What a child is to do.

    Attributes:
        argv: The words of the command.
        folder: The working folder; outputs go to ``said`` and ``reported``, elsewhere.
        stop: The number of the rename, from 1, at which it kills itself; None for no such.
        is_before: Whether it does so before that rename rather than after.
        environment: Variables of its own.
        limits: Resource limits by name (``RLIMIT_FSIZE``).
        tag: Tells the outputs of commands at work in one folder apart.
    """

    argv: list[str]
    folder: Path
    stop: int | None = None
    is_before: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    tag: str = ""

    @property
    def stdout(self) -> Path:
        return self._beside("out")

    @property
    def stderr(self) -> Path:
        return self._beside("err")

    @property
    def renames(self) -> Path:
        return self._beside("renames")

    def _beside(self, ending: str) -> Path:
        folder = Path(tempfile.gettempdir()) / f"attack-{os.getuid()}"
        folder.mkdir(exist_ok=True)
        name = f"{self.folder}{self.tag}".replace("/", "-")[-180:]
        return folder / f"{name}.{ending}"


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal; its output; its seconds."""

    code: int
    stdout: str
    stderr: str
    renames: list[str]
    seconds: float

    @property
    def last(self) -> str:
        return self.stderr[-1500:]


class Running:
    """A command that runs."""

    def __init__(
        self, order: Order, target: Callable[..., int | None] | None = None, *args: Any
    ) -> None:
        self.order = order
        for path in (order.stdout, order.stderr, order.renames):
            path.unlink(missing_ok=True)
        self.process = _CONTEXT.Process(target=obey, args=(order, target, args))
        self.started = time.monotonic()
        self.process.start()

    def kill_after(self, seconds: float) -> None:
        """Send SIGKILL after some seconds, unless it has ended."""
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()

    def ended(self, limit: float = LIMIT) -> Ended:
        """Wait for the end; a command that hangs is killed and fails the test."""
        self.process.join(limit)
        is_hanging = self.process.is_alive()
        if is_hanging:
            self.process.kill()
            self.process.join()
        seconds = time.monotonic() - self.started
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        code = self.process.exitcode
        assert code is not None
        self.process.close()
        assert not is_hanging, f"{self.order.argv} did not end within {limit:g} s"
        return Ended(
            code,
            _text(self.order.stdout),
            _text(self.order.stderr),
            _text(self.order.renames).splitlines(),
            seconds,
        )


def run(argv: list[str], folder: Path, **options: Any) -> Ended:
    """Run a command to its end."""
    return Running(Order(argv, folder, **options)).ended()


def call(target: Callable[..., int | None], folder: Path, *args: Any, limit: float = 3600) -> Ended:
    """Call a function in a process of its own, with ``folder`` as its working folder."""
    return Running(Order([], folder), target, *args).ended(limit)


def obey(order: Order, target: Callable[..., int | None] | None, args: tuple[Any, ...]) -> None:
    """In the child: run the command, or the function, and end with its exit code."""
    os.setsid()
    os.chdir(order.folder)
    os.environ["XDG_CACHE_HOME"] = str(order.stdout.with_name("cache"))
    os.environ.update(order.environment)
    reading = _redirected(order)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    _limit(order.limits)
    _watch_renames(order)
    if target is None:
        from adducir.cli.app import main

        code = main(order.argv)
    else:
        try:
            code = target(*args) or 0
        except BaseException:
            traceback.print_exc()
            code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    if reading is not None:
        with contextlib.suppress(OSError):
            order.stderr.write_bytes(os.read(reading, 1 << 16))
    os._exit(code)


def _redirected(order: Order) -> int | None:
    """Lead both outputs to their files; with limits, which would hold for these, to a pipe.

    Returns:
        The pipe's end to read from, if there is one.
    """
    if order.limits:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        return reading
    for path, stream in ((order.stdout, 1), (order.stderr, 2)):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(handle, stream)
        os.close(handle)
    return None


def _limit(limits: Mapping[str, int]) -> None:
    import resource

    for name, value in limits.items():
        resource.setrlimit(getattr(resource, name), (value, value))


def _watch_renames(order: Order) -> None:
    """Note every rename, and die at the one that is asked for."""
    count = 0

    def watched(real: Callable[..., None]) -> Callable[..., None]:
        def call(source: Any, target: Any, *rest: Any, **options: Any) -> None:
            nonlocal count
            if not Path(target).absolute().is_relative_to(order.folder):
                real(source, target, *rest, **options)  # compiled kernels, for example
                return
            count += 1
            with order.renames.open("a") as notes:
                notes.write(f"{os.fspath(source)} -> {os.fspath(target)}\n")
            if count == order.stop and order.is_before:
                os.kill(os.getpid(), signal.SIGKILL)
            real(source, target, *rest, **options)
            if count == order.stop:
                os.kill(os.getpid(), signal.SIGKILL)

        return call

    os.rename, os.replace = watched(os.rename), watched(os.replace)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
