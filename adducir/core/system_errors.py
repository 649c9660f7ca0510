"""What an operating system's error means to a user: one of Adducir's errors."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adducir.core.errors import AdducirError, InputError, MachineError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# What the machine lacks or does, whatever file is concerned; where an open file fails, the system
# names none.
_MACHINE = {
    errno.EIO: ("the disk reports an input/output error.", "Check the disk, or use another."),
    errno.EFBIG: (
        "the file would be larger than the file system or a limit (ulimit -f) allows.",
        "Raise the limit, or write to another disk.",
    ),
    errno.EMFILE: ("too many files are open.", "Raise the limit (ulimit -n)."),
    errno.ENFILE: ("too many files are open on this machine.", "Close other programs."),
    errno.ENOMEM: (
        "not enough memory.",
        "Close other programs, let networks compute smaller batches, or use a machine with more.",
    ),
}
_FULL_TEXTS = ("No space left on device", "Disk quota exceeded", "os error 28")
_IN_TEXT = re.compile(r"\bos error (\d{1,4})\b")
"""How libraries written in Rust (safetensors, polars, orjson) give the system's number."""
_NO_MEMORY = re.compile(r"out of memory|can(?:'|no)t allocate memory|_ALLOC_FAILED", re.IGNORECASE)
"""How torch says that its device's memory, or the machine's, does not suffice."""
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def is_disk_full(error: BaseException) -> bool:
    """Whether ``error`` says that a disk or a quota is used up.

    Engines (Java, Rust, C++) report a full disk as errors of their own, which
    only the operating system's words in their text give away.
    """
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return any(text in str(error) for text in _FULL_TEXTS)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether ``error`` says that a device's or the machine's memory did not suffice."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and _NO_MEMORY.search(str(error)) is not None
    )


def machine_error(error: BaseException, path: Path | None = None) -> MachineError | None:
    """The error for what the machine could not do; None where it is not the machine's."""
    match = _IN_TEXT.search(str(error))
    number = error.errno if isinstance(error, OSError) else match and int(match[1])
    if is_out_of_memory(error):
        number, path = errno.ENOMEM, None
    if number not in _MACHINE:
        return None
    what, hint = _MACHINE[number]
    return MachineError(what, path=path, hint=hint)


def disk_full(path: Path) -> MachineError:
    """The error for a disk that was full while ``path`` was written."""
    return MachineError(
        "no space left on the disk: nothing was written.",
        path=path,
        hint="Free some space there, or write to another disk.",
    )


def reading_error(error: OSError, path: Path) -> AdducirError:
    """The error for a file that cannot be opened or read."""
    if (own := machine_error(error, path)) is not None:
        return own
    if isinstance(error, FileNotFoundError):
        folder = path.parent
        if str(path) and not folder.is_dir():
            what = f"no such file: the folder {folder} does not exist."
            return InputError(what, path=path, absent=True)
        return InputError("no such file.", path=path, absent=True)
    if isinstance(error, IsADirectoryError):
        return InputError("this is a folder, where a file is needed.", path=path)
    if error.errno in _FORBIDDEN:
        return InputError(
            "permission denied: the file cannot be read.",
            path=path,
            hint="Change its permissions, or copy it to where you may read it.",
        )
    return InputError(f"the file cannot be read: {error.strerror or error}.", path=path)


def writing_error(error: OSError, path: Path) -> AdducirError:
    """The error for a file or folder that cannot be written."""
    if is_disk_full(error):
        return disk_full(path)
    if (own := machine_error(error, path)) is not None:
        return own
    if isinstance(error, FileExistsError | NotADirectoryError):
        return InputError("a file stands where a folder is needed.", path=path)
    if error.errno in _FORBIDDEN:
        return MachineError(
            "permission denied: this place cannot be written.",
            path=path,
            hint="Write to another folder, or change its permissions.",
        )
    return MachineError(f"this cannot be written: {error.strerror or error}.", path=path)


@contextmanager
def explaining_writes(path: Path) -> Iterator[None]:
    """Turn the errors of writing ``path`` inside the block into Adducir's own.

    Errors that concern files elsewhere pass through as they are, except that
    a full disk is always reported as such.

    Raises:
        MachineError: The disk is full, or the place cannot be written.
    """
    try:
        yield
    except AdducirError:
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        nameless = error.filename is None and machine_error(error) is not None
        if is_disk_full(error) or nameless or _concerns(error, path):
            raise writing_error(error, path) from error
        raise
    except Exception as error:
        if is_disk_full(error):
            raise disk_full(path) from error
        if (own := machine_error(error, path)) is not None:
            raise own from error
        raise


def _concerns(error: OSError, path: Path) -> bool:
    """Whether ``error`` says that ``path`` cannot be written.

    It does if it names ``path``, a hidden sibling (``.NAME.…``) or something in
    one of the two, or if a folder above cannot be made. A missing file is left
    to its cause: something was to be read, and it was not there.
    """
    if not isinstance(error.filename, str | bytes) or isinstance(error, FileNotFoundError):
        return False
    culprit = Path(os.fsdecode(error.filename))
    if isinstance(error, FileExistsError | NotADirectoryError):
        return culprit in path.parents
    inside = any(
        part.parent == path.parent
        and (part.name == path.name or part.name.startswith(f".{path.name}."))
        for part in (culprit, *culprit.parents)
    )
    return inside or culprit in path.parents
