"""Every error a user can cause, in one paragraph: what, where, and what to do.

Each class has its exit code; docs/troubleshooting.md lists them.
"""

import copyreg
import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from adducir.core import setting

T = TypeVar("T")

EXIT_PROBLEMS_FOUND = 1
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130

# Faults of the machine, whatever the file.
_FULL = ("no space is left on the disk.", "Free some space there, or write to another disk.")
_MACHINE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EIO: ("the disk reports an input/output error.", "Check the disk, or use another."),
    errno.EFBIG: (
        "the file would be larger than the file system or a limit (ulimit -f) allows.",
        "Raise the limit, or write to another disk.",
    ),
    errno.EMFILE: ("too many files are open.", "Raise the limit (ulimit -n)."),
    errno.ENFILE: ("too many files are open on this machine.", "Close other programs."),
    errno.ENOMEM: (
        "not enough memory.",
        "Close other programs, raise a limit (ulimit -v), use smaller batches, or use a machine "
        "with more memory.",
    ),
}
# Java, C++ and Rust libraries (safetensors, polars) report it in words; our own errors have it.
_WORDS = {
    errno.ENOSPC: re.compile(
        "No space left on device|Disk quota exceeded"
        "|PytorchStreamWriter failed writing|unexpected pos [0-9]+ vs"  # torch.save on a full disk
    ),
    errno.EMFILE: re.compile("Too many open files"),
    errno.ENOMEM: re.compile(
        "out of memory|can(?:'|no)t allocate memory|_ALLOC_FAILED|can't start new thread",
        re.IGNORECASE,
    ),
}
_IN_TEXT = re.compile(r"\(os error (\d{1,4})\)")
_DENIED = re.compile("[Pp]ermission denied|AccessDeniedException")
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


Wording = Callable[[str, str], str]
"""How a door writes a setting, given its key and its value, which may be empty."""


class Keyed(str):
    """A message that names settings, which each door writes as its users do (:func:`said`).

    As text, they are in backticks, as in experiment files: `key`, or `key: value`.
    """

    __slots__ = ("follows_key", "keys", "template")
    template: str  # with {} for each key
    keys: tuple[str | tuple[str, str], ...]  # keys, or keys with values
    follows_key: bool  # the message is about a key, which stands before it

    def __new__(
        cls, template: str, *keys: str | tuple[str, str], follows_key: bool = False
    ) -> Self:
        text = template.format(
            *(f"`{key if isinstance(key, str) else ': '.join(key)}`" for key in keys)
        )
        message = super().__new__(cls, text)
        message.template, message.keys, message.follows_key = template, keys, follows_key
        return message

    def worded(self, say: Wording) -> str:
        """The message with ``say(key, value)`` for each key; most have no value."""
        stated = [(key, "") if isinstance(key, str) else key for key in self.keys]
        return self.template.format(*(say(key, value) for key, value in stated))


def in_files(key: str, value: str) -> str:
    return f"`{key}: {value}`" if value else f"`{key}`"


def in_python(key: str, value: str) -> str:
    if key in _ONLY_IN_PYTHON:
        return _ONLY_IN_PYTHON[key]
    key, parts = _IN_PYTHON.get(key, key), value.split(",")
    literal = str(parts) if len(parts) > 1 else repr(value)
    literal = value.capitalize() if value in ("true", "false") or value.isdecimal() else literal
    return f"`{key}={literal}`" if value else f"`{key}`"


_IN_PYTHON = {"query_field": "field", "qrels_columns": "columns", "engine": "settings"}
"""Arguments that are not called as their options are."""
_ONLY_IN_PYTHON = {
    "allow_code": "`allow_code=True` or `with adducir.core.planning.allowing_code():`",
    "force": "`with adducir.core.artifacts.replacing_anything():`",
}
OF_A_CALL = frozenset({"allow_code", "force", "offline", "ray", "rebuild", "slurm", "workers"})
"""What a file cannot state: it is set where the work is called for, in the shell or in Python."""


_wording: ContextVar[Wording] = ContextVar("how settings are written", default=in_python)


@contextmanager
def speaking(wording: Wording) -> Iterator[None]:
    """Inside the block, write settings in messages as this door's users do."""
    caller = _wording.get()

    def of_a_file(key: str, value: str) -> str:
        return caller(key, value) if key in OF_A_CALL else in_files(key, value)

    with setting(_wording, of_a_file if wording is in_files else wording):
        yield


def speaks_python() -> bool:
    """Whether the current door is Python, where None is not empty and a dict not lines."""
    return _wording.get() is in_python


def said(message: str) -> str:
    """A message in the words of the current door."""
    return message.worded(_wording.get()) if isinstance(message, Keyed) else message


def worded(key: str, value: str = "") -> str:
    """A setting as the users of the current door write it, such as ``--key value``."""
    return _wording.get()(key, value)


class AdducirError(Exception):
    """An error shown as one paragraph without a traceback: what is wrong, where, what to do.

    ``line`` is 1-based; ``what`` and ``hint`` are one sentence each; ``absent``: the only problem
    is that something is not available (a file, a download, an optional package).

    Example:
        >>> try:
        ...     ad.open_index("nowhere")
        ... except ad.AdducirError as error:
        ...     print(type(error).__name__)
        ArtifactError
    """

    exit_code = EXIT_INTERNAL

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        hint: str | None = None,
        absent: bool = False,
    ) -> None:
        self.what = said(message)
        self.path = None if path is None else Path(path)
        self.line = line
        self.hint = None if hint is None else said(hint)
        self.absent = absent
        self._parts: tuple[AdducirError, ...] = ()
        super().__init__(self.paragraph())

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, pickled exceptions carry only their arguments.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    @property
    def parts(self) -> "tuple[AdducirError, ...]":
        return self._parts or (self,)

    @classmethod
    def united(cls, errors: Sequence["AdducirError"]) -> "AdducirError":
        parts = list({error.paragraph(): error for error in errors}.values())
        if len(parts) == 1:
            return parts[0]
        kind = MachineError if all(isinstance(part, MachineError) for part in parts) else InputError
        listed = "\n  ".join(error.paragraph() for error in parts)
        error = kind(f"{len(parts)} things are not available:\n  {listed}", absent=True)
        error._parts = tuple(parts)
        return error

    def paragraph(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        where = "" if self.path is None else f"{self.path}{line}: "
        return " ".join(part.rstrip() for part in (f"{where}{self.what}", self.hint) if part)


@contextmanager
def gathering() -> Iterator[Callable[[Callable[[], T]], T]]:
    """Open several things; raises once for all that are not available."""
    missing: list[AdducirError] = []

    def each(opener: Callable[[], T]) -> T:
        try:
            return opener()
        except AdducirError as error:
            if not error.absent:
                raise
            missing.extend(error.parts)
            return cast("T", None)

    yield each
    if missing:
        raise AdducirError.united(missing)


class UsageError(AdducirError):
    """The command line or the arguments of a Python call are wrong."""

    exit_code = 2


class InputError(AdducirError):
    """A user's file cannot be used as it is."""

    exit_code = 3


class MachineError(AdducirError):
    """The machine lacks something: Java, disk space, an optional package."""

    exit_code = 4
    number: int | None = None
    """The number of an operating system's error, as in ``errno``."""


class ArtifactError(AdducirError):
    """An artifact (such as an index) is missing, out of date, in use, or not Adducir's."""

    exit_code = 5


class ReplacedError(ArtifactError):
    """Another process replaced an artifact while it was in use here."""


class IncompleteError(AdducirError):
    """Part of the work failed; the rest is kept and not repeated."""

    exit_code = 6


def machine_error(error: BaseException, path: Path | None = None) -> MachineError | None:
    """The error for a fault of the machine; None for any other."""
    number = _number(error)
    if number not in _MACHINE:
        return None
    message, hint = _MACHINE[number]
    is_anywhere = number == errno.ENOMEM and not isinstance(error, OSError)
    fault = MachineError(message, path=None if is_anywhere else path, hint=hint)
    fault.number = number
    return fault


def _number(error: BaseException) -> int | None:
    """The operating system's number of an error; libraries that lose it are read for it."""
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if isinstance(error, AdducirError | ValueError | LookupError | TypeError):
        return None  # these are about data, which they may quote
    text = str(error)
    if match := _IN_TEXT.search(text):
        return int(match[1])
    words = _WORDS if isinstance(error, RuntimeError | OSError) else {}
    return next((code for code, pattern in words.items() if pattern.search(text)), None)


def sorted_error(error: BaseException, path: Path, otherwise: AdducirError) -> AdducirError:
    """The machine's fault or refusal behind an error of reading ``path``; else ``otherwise``.

    Only what remains may be called damaged: nothing has to be built again for too many open files.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MachineError):
            return cause
        if fault := machine_error(cause, path):
            return fault
        is_named = not isinstance(cause, AdducirError) and _DENIED.search(str(cause))
        if is_named or isinstance(cause, PermissionError) or _number(cause) == errno.EACCES:
            return reading_error(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), path)
        cause = cause.__cause__
    return otherwise


def is_out_of_memory(error: BaseException) -> bool:
    fault = machine_error(error)
    return fault is not None and fault.number == errno.ENOMEM


def reading_error(error: OSError, path: Path) -> AdducirError:
    if (fault := machine_error(error, path)) is not None:
        return fault
    if isinstance(error, FileNotFoundError):
        folder = path.parent
        if str(path) and not folder.is_dir():
            message = f"no such file: the folder {folder} does not exist."
            return InputError(message, path=path, absent=True)
        return InputError("no such file.", path=path, absent=True)
    if isinstance(error, IsADirectoryError):
        return InputError("this is a folder, but a file is needed.", path=path)
    if error.errno in _FORBIDDEN:
        return InputError(
            "permission denied: the file cannot be read.",
            path=path,
            hint="Change its permissions, or copy it to where you may read it.",
        )
    return InputError(f"the file cannot be read: {error.strerror or error}.", path=path)


@contextmanager
def explaining_reads(path: Path) -> Iterator[None]:
    """Turn errors of reading ``path`` into Adducir's own."""
    try:
        yield
    except OSError as error:
        raise reading_error(error, path) from error


@contextmanager
def explaining_writes(path: Path) -> Iterator[None]:
    """Turn errors of writing ``path``, and those of a full disk anywhere, into Adducir's own."""
    try:
        yield
    except (AdducirError, BrokenPipeError):
        raise
    except Exception as error:
        is_named = isinstance(error, OSError) and error.filename is not None
        fault = machine_error(error, path)
        if fault is not None and (
            not is_named or fault.number in (errno.ENOSPC, errno.EDQUOT) or _concerns(error, path)
        ):
            raise fault from error
        if not isinstance(error, OSError) or not _concerns(error, path):
            raise
        if isinstance(error, FileExistsError | NotADirectoryError):
            raise InputError("this is a file, but a folder is needed.", path=path) from error
        message = f"this cannot be written: {error.strerror or error}."
        if error.errno in _FORBIDDEN:
            message = "permission denied: this path cannot be written."
        hint = "Write to another folder, or change its permissions."
        raise MachineError(message, path=path, hint=hint) from error


def _concerns(error: Exception, path: Path) -> bool:
    name = getattr(error, "filename", None)
    if not isinstance(name, str | bytes) or isinstance(error, FileNotFoundError):
        return False
    culprit = Path(os.fsdecode(name))
    if isinstance(error, FileExistsError | NotADirectoryError):
        return culprit in path.parents
    return culprit.is_relative_to(path.parent) or culprit in path.parents
