"""What may be written where: refused before any work, and what a new file keeps of an old one."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from adducir.core.errors import AdducirError, InputError, MachineError

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_CHANGE = "Change its permissions (chmod u+w), or write to another place."


def refuse_unwritable(path: Path) -> None:
    """Refuse a place that cannot be written, or that is kept from being written.

    A file or folder without any right to write is read-only for everyone, for root as well, and
    though the folder around it would let it be replaced. A file of several names (hard links) is
    refused too: one rename would part the names, and writing in place could leave it half-written.

    Raises:
        MachineError: The file, the folder, or the nearest folder above it is read-only.
        InputError: The file has several names, or links lead in a circle.
    """
    target = Path(os.path.realpath(path))
    try:
        status = target.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError("symbolic links lead in a circle here.", path=path) from error
        status = None
    if status is None:
        above = next(folder for folder in target.parents if folder.exists())
        if above.is_dir() and not _may_write(above, above.stat()):
            raise _read_only("folder", above)
        return
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return
    if not _may_write(target, status):
        raise _read_only("folder" if stat.S_ISDIR(status.st_mode) else "file", target)
    if not _may_write(target.parent, target.parent.stat()):
        raise _read_only("folder", target.parent)
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise InputError(
            f"this file has {status.st_nlink} names (hard links), which writing it would part.",
            path=target,
            hint="Remove this name first, or write to another place.",
        )


def keep_rights(old: Path, new: Path) -> None:
    """Give ``new``, which is to take the place of ``old``, its mode and, if permitted, its owner.

    Where there is no ``old``, ``new`` gets the mode of any new file.

    Raises:
        OSError: The mode cannot be set.
    """
    try:
        status = old.stat()
    except OSError:
        _set_mode(new, 0o666 & ~umask())
        return
    mine = new.stat()
    if (status.st_uid, status.st_gid) != (mine.st_uid, mine.st_gid) and hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(new, status.st_uid, status.st_gid)
    _set_mode(new, stat.S_IMODE(status.st_mode))


def give_default_rights(folder: Path) -> None:
    """Give every file in a new folder the mode of any new file: safetensors writes 0600.

    Raises:
        OSError: A mode cannot be set.
    """
    mode = 0o666 & ~umask()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            _set_mode(path, mode)


def umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _set_mode(path: Path, mode: int) -> None:
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def _may_write(path: Path, status: os.stat_result) -> bool:
    return bool(status.st_mode & _WRITABLE) and os.access(path, os.W_OK)


def _read_only(what: str, path: Path) -> AdducirError:
    return MachineError(
        f"permission denied: this {what} is read-only, and is not replaced.",
        path=path,
        hint=_CHANGE,
    )
