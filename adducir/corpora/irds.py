"""The door to ir_datasets: its documents, topics and judgements, quietly.

What ir_datasets would write to the terminal goes to the caller's :class:`Progress` and to
Python's logging under ``adducir.ir_datasets``. A data set that cannot be downloaded becomes a
:class:`MachineError`.
"""

import difflib
import io
import logging
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from types import SimpleNamespace
from typing import Any

from adducir.core.absent import may_download, without_downloads
from adducir.core.errors import InputError, MachineError
from adducir.core.progress import Progress, progress

_PARTS = {"docs": "documents", "queries": "topics", "qrels": "judgements"}

_ERRORS = (
    *(OSError, RuntimeError, ImportError, ValueError, KeyError, EOFError, AssertionError),
    *(SyntaxError, zipfile.BadZipFile, tarfile.TarError, zlib.error),
)
"""What ir_datasets and its parsers raise over a network, a disk or a broken download."""

_log = logging.getLogger("adducir.ir_datasets")
_log.addHandler(logging.NullHandler())


class _Notes(logging.Handler):
    """Passes log records on, and keeps the last hint about placing a file by hand."""

    def __init__(self, home: str) -> None:
        super().__init__()
        self.home = home
        self.hint: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        message = " ".join(record.getMessage().split())
        if self.home in message:
            self.hint = message.rstrip(".")
        if may_download():
            progress().note(f"ir_datasets: {message}")
        _log.handle(record)


@contextmanager
def quietly() -> Iterator[_Notes]:
    """Route what ir_datasets logs, and keep its progress bars off the terminal."""
    import ir_datasets
    from ir_datasets import lazy_libs

    logger = ir_datasets.log.easy().logger()
    notes = _Notes(str(ir_datasets.util.home_path()))
    handlers, logger.handlers = logger.handlers, [notes]
    library, network = lazy_libs.tqdm, lazy_libs.requests
    silent = SimpleNamespace(tqdm=partial(library().tqdm, disable=True))
    lazy_libs.tqdm = lambda: silent
    if not may_download():
        lazy_libs.requests = _refuse_to_download
    try:
        yield notes
    finally:
        logger.handlers = handlers
        lazy_libs.tqdm, lazy_libs.requests = library, network


def _refuse_to_download() -> Any:
    raise OSError("not downloaded yet")


def open_dataset(name: str, part: str) -> Any:
    """The ir_datasets object of an id; nothing is downloaded yet.

    Args:
        part: What it must have: ``docs``, ``queries`` or ``qrels``.

    Raises:
        InputError: There is no such id, or it lacks the part; near ids are named.
        MachineError: ir_datasets cannot be used here.
    """
    try:
        import ir_datasets
    except (ImportError, OSError) as error:
        raise MachineError(
            f"ir_datasets cannot be used: {error}.",
            hint="Its folder must be writable; IR_DATASETS_HOME names another.",
        ) from error
    with quietly() as notes:
        try:
            dataset = ir_datasets.load(name)
        except KeyError:
            what = f"{name!r} is neither a file here nor an ir_datasets id."
            raise InputError(what, hint=_near(name, part)) from None
        except _ERRORS as error:  # some ids download a list of files at once
            raise _unavailable(name, part, error, notes) from error
        if not dataset.has(part):
            what = f"{name} of ir_datasets has no {_PARTS[part]}."
            raise InputError(what, hint=_near(name, part))
    return dataset


def _near(name: str, part: str) -> str:
    """Name the ids near to this one that have the part, those within it first."""
    from ir_datasets import registry

    with Progress(), quietly():
        known = [other for other in registry if registry[other].has(part)]
    inside = [other for other in known if other.startswith(f"{name}/")]
    near = inside[:5] or difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    return f"Near it: {', '.join(near)}." if near else "See https://ir-datasets.com for the ids."


def records(dataset: Any, name: str, part: str) -> Iterator[Any]:
    """The documents, topics or judgements of a data set, downloading what is missing.

    Raises:
        MachineError: They could not be downloaded or read.
    """
    with quietly() as notes:
        try:
            with redirect_stdout(io.StringIO()):
                iterator = iter(getattr(dataset, f"{part}_iter")())
        except _ERRORS as error:
            raise _unavailable(name, part, error, notes) from error
        while True:
            try:
                with redirect_stdout(io.StringIO()):  # its Touché prints a debug line
                    record = next(iterator)
            except StopIteration:
                return
            except _ERRORS as error:
                raise _unavailable(name, part, error, notes) from error
            yield record


def is_here(dataset: Any, name: str, part: str) -> bool:
    """Whether a part of a data set can be read without a download."""
    try:
        with without_downloads():
            next(records(dataset, name, part), None)
    except MachineError:
        return False
    return True


def _unavailable(name: str, part: str, error: Exception, notes: _Notes) -> MachineError:
    if not may_download():
        what = f"the {_PARTS[part]} of {name}, which ir_datasets downloads."
        return MachineError(what, absent=True)
    text = textwrap.shorten(str(error), 200, placeholder=" ...")
    if isinstance(error, ImportError):
        return MachineError(
            f"the {_PARTS[part]} of {name} need a package that is not installed: {text}",
            hint="Install it, or name a local file instead of the id.",
        )
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    hint = f"{notes.hint}; " if notes.hint else "Check the network, "
    return MachineError(
        f"the {_PARTS[part]} of {name} could not be had from ir_datasets ({reason}).",
        hint=f"{hint}or name a local file instead of the id.",
        absent=True,
    )
