"""Paths: of a study and the user's cache, standard output as one, what may be written where."""

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adducir.core.errors import InputError, MachineError

FOLDERS = ("indexes", "deepct", "encoders", "rerankers", "experiments", "runs")
"""The folders of a study that hold recipes or artifacts."""
_STANDARD_OUTPUT = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def study_folder(recipe: Path) -> Path:
    """The study that a recipe belongs to: relative paths in it start there.

    It is the folder that holds ``experiments/``, ``deepct/`` or whichever folder the recipe lies
    in, or else the recipe's own folder. Links are not followed: a recipe that is linked into a
    study belongs to that study.
    """
    folder = Path(os.path.normpath(recipe.absolute())).parent
    return folder.parent if folder.name in FOLDERS else folder


def results_folder(recipe: Path) -> Path:
    """Where the tables of an experiment file go: ``experiments/demo`` of the study."""
    return study_folder(recipe) / "experiments" / recipe.stem


def name_in_study(recipe: Path) -> str:
    """A recipe's path from the folder of its study, such as ``experiments/demo.yaml``."""
    whole = Path(os.path.normpath(recipe.absolute()))
    return whole.relative_to(study_folder(recipe)).as_posix()


def cache_folder() -> Path | None:
    """The user's folder for what can be made again; None where it cannot be written."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adducir"
        cache.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return cache if os.access(cache, os.W_OK) else None


def is_standard_output(path: Path) -> bool:
    """Whether a file's name means standard output: ``-``, or the device."""
    return str(path) in _STANDARD_OUTPUT


def is_stream(path: Path) -> bool:
    """Whether nothing can be kept beside a path: standard output, a pipe, a device."""
    is_special = path.exists() and not path.is_file() and not path.is_dir()
    return is_standard_output(path) or is_special


@contextmanager
def to_standard_output() -> Iterator[Path]:
    """A file whose bytes go to standard output when the block ends well."""
    with tempfile.TemporaryDirectory(prefix="adducir-") as folder:
        hidden = Path(folder) / "output"
        yield hidden
        sys.stdout.flush()
        with hidden.open("rb") as handle:
            shutil.copyfileobj(handle, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def refuse_unwritable(path: Path) -> None:
    """Refuse a place that cannot be written, or that is kept from being written.

    A file or folder without any right to write is read-only for everyone, for root as well, and
    though the folder around it would let it be replaced. A file of several names (hard links) is
    refused too: one rename would part the names, and writing in place could leave it half-written.
    """
    target = Path(os.path.realpath(path))
    try:
        status = target.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError("symbolic links lead in a circle here.", path=path) from error
        above = next(folder for folder in target.parents if folder.exists())
        if above.is_dir():
            _refuse_read_only(above)
        return
    if not (target.is_file() or target.is_dir()):
        return
    _refuse_read_only(target)
    _refuse_read_only(target.parent)
    if target.is_file() and status.st_nlink > 1:
        raise InputError(
            f"this file has {status.st_nlink} names (hard links), which writing it would part.",
            path=target,
            hint="Remove this name first, or write to another place.",
        )


def _refuse_read_only(path: Path) -> None:
    if not path.stat().st_mode & _WRITABLE or not os.access(path, os.W_OK):
        what = "folder" if path.is_dir() else "file"
        raise MachineError(
            f"permission denied: this {what} is read-only, and is not replaced.",
            path=path,
            hint="Change its permissions (chmod u+w), or write to another place.",
        )


def keep_rights(old: Path, new: Path) -> None:
    """Give ``new``, which is to take the place of ``old``, its mode and, if permitted, its owner.

    Where there is no ``old``, ``new`` gets the mode of any new file.
    """
    try:
        status = old.stat()
    except OSError:
        _set_mode(new, 0o666 & ~_umask())
        return
    mine = new.stat()
    if (status.st_uid, status.st_gid) != (mine.st_uid, mine.st_gid) and hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(new, status.st_uid, status.st_gid)
    _set_mode(new, stat.S_IMODE(status.st_mode))


def give_default_rights(folder: Path) -> None:
    """Give every file in a new folder the mode of any new file: safetensors writes 0600."""
    mode = 0o666 & ~_umask()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            _set_mode(path, mode)


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _set_mode(path: Path, mode: int) -> None:
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def sync(path: Path) -> None:
    """Force a file or folder to the disk, where the file system can."""
    if os.name == "nt":
        return  # Windows neither opens folders nor syncs read-only handles.
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
