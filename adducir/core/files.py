r"""Read files with exact errors, write them whole or not at all; folders of a study.

Text is UTF-8, and a byte-order mark at the start is ignored. As in Python and Java, ``\n``,
``\r\n`` and ``\r`` end a line, mixed or not; other separators (U+0085, U+2028) are text.
Gzip and bzip2 are recognised by a file's first bytes; gzip is written if the name ends in ``.gz``.
A truncated or corrupt file is read up to the error, so that the error can name the line. All files
are read through this module.
"""

import bz2
import codecs
import glob
import gzip
import hashlib
import io
import os
import platform
import secrets
import shutil
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, TextIO, cast

from adducir.core import setting
from adducir.core.errors import InputError, MachineError, explaining_reads, explaining_writes
from adducir.core.planning import NotRead, reads
from adducir.core.texts import NAME_BYTES, visible

BLOCK = 1 << 17  # larger ones do not fit the processor's cache
_AGAIN = "Copy or download it again."
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"
_MAGIC = {".gz": _GZIP, ".bz2": _BZIP2}
_REPACK = "Decompress it, or compress it with gzip."
_TO_UTF_8 = "Convert the file to UTF-8, for example with iconv."
_WIDE = ((0, b"\xff\xfe"), (0, b"\xfe\xff"), (0, b"\0"), (1, b"\0"))  # with a mark or without
_FOREIGN = (
    (0, b"\xfd7zXZ", "compressed with xz", _REPACK),
    (0, b"\x28\xb5\x2f\xfd", "compressed with Zstandard", _REPACK),
    (0, b"PK\x03\x04", "compressed with zip", _REPACK),
    (0, b"\x04\x22\x4d\x18", "compressed with LZ4", _REPACK),
    (0, b"\x1f\x9d", "compressed with compress (.Z)", _REPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "compressed with 7-Zip", _REPACK),
    (0, b"Rar!\x1a\x07", "compressed with RAR", _REPACK),
    (257, b"ustar", "a tar archive", "Unpack it (tar -xf), and name a file in it."),
    (0, b"version https://git-lfs.github.com/", "a pointer of Git LFS", "Run git lfs pull."),
    (0, b"PAR1", "a Parquet file under another name", "Give it a name that ends in .parquet."),
    *((start, mark, "UTF-16 or UTF-32 text", _TO_UTF_8) for start, mark in _WIDE),
)
"""What is not UTF-8 text: where bytes show it, these bytes, what it is, and what to do."""
_READ_SO = {b"PAR1": (".parquet",), **{mark: (".html", ".htm") for _, mark in _WIDE}}
COMPRESSED = tuple(_MAGIC)
"""Suffixes of compressed files that can be read; ``.gz`` is written as well."""


class BrokenStream(InputError):  # noqa: N818
    """The rest cannot be read: truncated, corrupt, or another format."""

    open_line = False  # the fault is in the line after the whole ones read, not behind them

    def after(self, lines: int) -> InputError:
        line = (lines + self.open_line) or None
        return InputError(self.what, path=self.path, line=line, hint=self.hint)


def plain_name(name: str) -> str:
    stem, _, ending = name.rpartition(".")
    return stem if stem and f".{ending.lower()}" in COMPRESSED else name


def suffix_of(path: Path) -> str:
    """The suffix of a file's name in lower case, such as ``.jsonl``, without compression's."""
    return Path(plain_name(path.name.lower())).suffix


_pipes: ContextVar[dict[Path, bytes] | None] = ContextVar("what came through pipes", default=None)


def keeping_pipes() -> AbstractContextManager[dict[Path, bytes] | None]:
    """Inside the block, keep what is read from pipes, which can be read only once."""
    kept = _pipes.get()
    return setting(_pipes, {} if kept is None else kept)


def open_input(path: Path) -> io.BufferedReader:
    kept = _pipes.get()
    if kept is None or not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    if path not in kept:
        kept[path] = path.read_bytes()
    return io.BufferedReader(io.BytesIO(kept[path]))


def blocks(path: Path, *, whole: bool = False) -> Iterator[bytes]:
    """A file's decompressed bytes in blocks; ``whole``: a plain file in one block."""
    if not reads(path):
        raise NotRead(path)
    with explaining_reads(path), open_input(path) as handle:
        head = handle.peek(8)
        _refuse_foreign(head, path)
        if not head.startswith(_MAGIC.get(path.suffix, b"")):
            message = f"the name ends in {path.suffix}, but the file is not compressed."
            hint = f"Rename it if it is plain text; else {_AGAIN.lower()}"
            raise BrokenStream(message, path=path, hint=hint)
        if head.startswith(_GZIP):
            stream = _unpacked(gzip.GzipFile(fileobj=handle), "gzip", path)
        elif head.startswith(_BZIP2):
            stream = _unpacked(bz2.BZ2File(handle), "bzip2", path)
        else:
            if whole and handle.seekable():  # else the peeked bytes would be copied
                handle.seek(0, io.SEEK_END)
                handle.seek(0)
            size = -1 if whole else BLOCK
            stream = iter(lambda: handle.read(size), b"")
        first = next(stream, b"")
        _refuse_foreign(first, path)
        yield from filter(None, chain([first], stream))


def _refuse_foreign(head: bytes, path: Path) -> None:
    """Refuse what is not text by its first bytes, packed or not."""
    for start, magic, name, hint in _FOREIGN:
        if head.startswith(magic, start) and suffix_of(path) not in _READ_SO.get(magic, ()):
            raise BrokenStream(f"this is {name}, which is not supported.", path=path, hint=hint)


def _unpacked(packed: gzip.GzipFile | bz2.BZ2File, name: str, path: Path) -> Iterator[bytes]:
    try:
        while block := packed.read1(BLOCK):
            yield block
    except EOFError as error:
        message = f"the {name} stream ends early: the file is truncated."
        raise BrokenStream(message, path=path, hint=_AGAIN) from error
    except (zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        message = f"the {name} stream is corrupt ({error})."
        raise BrokenStream(message, path=path, hint=_AGAIN) from error


# Level 6 takes a third of level 9's time; runs get 2 % larger.
_GZIP_LEVEL = 6
_LEFT_BEHIND = 24 * 3600  # seconds without a change: its writer is dead


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a plain or compressed text file with their 1-based numbers, in little memory.

    Lines before the first error (truncated, corrupt, not UTF-8) are yielded.
    """
    done = 0
    pending: list[str] = []
    try:
        for piece in read_pieces(path):
            lines = piece.split("\n")
            pending.append(lines[0])
            if len(lines) > 1:
                lines[0] = "".join(pending)
                pending = [lines.pop()]
                yield from enumerate(lines, done + 1)
                done += len(lines)
    except BrokenStream as broken:
        raise broken.after(done) from broken
    if last := "".join(pending):
        yield done + 1, last


def read_pieces(path: Path) -> Iterator[str]:
    r"""Read a text file in pieces, in constant memory even for very long lines.

    Every line ends in ``\n``. Raises BrokenStream; the caller finds the line.
    """
    utf_8 = codecs.getincrementaldecoder("utf-8-sig")()
    decode = io.IncrementalNewlineDecoder(utf_8, translate=True).decode
    for block in chain(blocks(path), [b""]):
        try:
            text = decode(block, not block)
        except UnicodeDecodeError as error:
            if error.start:
                text = error.object[: error.start].decode()
                yield text.replace("\r\n", "\n").replace("\r", "\n")
            raise _not_utf8(path, error) from None
        if text:
            yield text


def _not_utf8(path: Path, error: UnicodeDecodeError) -> BrokenStream:
    broken = BrokenStream(
        f"the byte 0x{error.object[error.start]:02x} in this line is not UTF-8.",
        path=path,
        hint=_TO_UTF_8,
    )
    broken.open_line = True
    return broken


def read_bytes(path: Path) -> bytes:
    """Read a whole UTF-8 text file as bytes, without a byte-order mark, for bulk parsers."""
    parts: list[bytes] = []
    try:
        parts.extend(blocks(path, whole=True))
    except BrokenStream as broken:
        raise broken.after(sum(part.count(b"\n") for part in parts)) from broken
    data = b"".join(parts).removeprefix(codecs.BOM_UTF8)
    # Runs and qrels are nearly always ASCII, which is checked at memory speed.
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            lines = max(data.count(end, 0, error.start) for end in (b"\n", b"\r"))
            raise _not_utf8(path, error).after(lines) from None
    return data


def read_text(path: Path) -> str:
    return read_bytes(path).decode().replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A temporary folder, removed at the end, or by the next call after the process was killed."""
    import fcntl

    parent = parent or Path(tempfile.gettempdir())
    for left in parent.glob(f"{_SCRATCH}[0-9]*"):
        with suppress(OSError, ValueError):
            _remove_unused(left)
    with TemporaryDirectory(
        prefix=f"{_SCRATCH}{os.getpid()}-", dir=parent, ignore_cleanup_errors=True
    ) as name:
        handle = os.open(name, os.O_RDONLY)
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Path(name)
        finally:
            os.close(handle)


_SCRATCH = ".adducir-scratch-"


def _remove_unused(folder: Path) -> None:
    """Remove the scratch folder of a dead process; a living one holds its lock."""
    import fcntl

    from psutil import pid_exists

    if folder.lstat().st_uid != os.getuid() or pid_exists(int(folder.name.split("-")[2])):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(handle)


@contextmanager
def publishing(path: Path) -> Iterator[Path]:
    """Write a file atomically, and only once it is complete.

    The block writes the hidden sibling it is given, which then replaces ``path``, or is removed if
    the block fails. Missing parent folders are created. A link is followed, anything but an
    ordinary file (a pipe) is written in place, and ``-`` is standard output. A new file inherits
    the mode of the one it replaces.
    """
    if is_standard_output(path):
        with scratch_folder() as folder:
            yield folder / "output"
            sys.stdout.flush()
            with (folder / "output").open("rb") as handle:
                if sys.stdout.isatty():  # which would obey control characters in docnos
                    for line in handle:
                        sys.stdout.write(visible(line.decode("utf-8", "backslashreplace")))
                else:
                    shutil.copyfileobj(handle, sys.stdout.buffer)
            sys.stdout.flush()
        return
    if path.is_dir():
        raise InputError("this is a folder, but a file would be written here.", path=path)
    if path.suffix == ".bz2":
        hint = "Use a name that ends in .gz or has neither suffix."
        raise InputError("bzip2 can be read but not written.", path=path, hint=hint)
    if path.exists() and not path.is_file():
        with explaining_writes(path):
            yield path
        return
    refuse_unwritable(path)
    target = Path(os.path.realpath(path))
    with explaining_writes(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        for temporary in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
            with suppress(OSError):
                if _is_left_behind(temporary):
                    temporary.unlink()
        writer = f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"
        hidden = target.with_name(f".{target.name}.{writer}.tmp")
        try:
            yield hidden
            hidden.chmod(target.stat().st_mode if target.exists() else _default_mode())
            sync(hidden)
            hidden.replace(target)
            sync(target.parent)
        finally:
            hidden.unlink(missing_ok=True)


@contextmanager
def writing_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file for bytes; gzip, without time or name, if its name ends in ``.gz``."""
    with publishing(path) as hidden, hidden.open("wb") as raw:
        if path.suffix != ".gz":
            yield raw
            return
        packed = gzip.GzipFile("", "wb", _GZIP_LEVEL, cast("BinaryIO", raw), mtime=0)
        with packed, io.BufferedWriter(cast("io.RawIOBase", packed), 1 << 17) as buffer:
            yield buffer


@contextmanager
def writing_text(path: Path) -> Iterator[TextIO]:
    try:
        with (
            writing_bytes(path) as handle,
            io.TextIOWrapper(handle, "utf-8", NAME_BYTES, newline="\n") as text,
        ):
            yield text
    except UnicodeEncodeError as error:
        raise InputError(
            f"a text contains {error.object[error.start]!r}, which cannot be written as UTF-8.",
            path=path,
            hint="Correct the text at its source.",
        ) from error


def _is_left_behind(hidden: Path) -> bool:
    from psutil import pid_exists

    start, _, writer = hidden.name.rpartition(f".{platform.node()}-")
    pid = writer.partition("-")[0]
    if start and pid.isdigit():
        return not pid_exists(int(pid))
    return time.time() - hidden.lstat().st_mtime > _LEFT_BEHIND


def require(path: Path) -> None:
    with explaining_reads(path):
        path.stat()


def file_digest(path: Path) -> str:
    with explaining_reads(path), open_input(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


FOLDERS = ("indexes", "deepct", "encoders", "rerankers", "experiments", "runs")
"""The folders of a study that hold recipes or artifacts."""
_STANDARD_OUTPUT = frozenset({"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"})


def study_folder(recipe: Path) -> Path:
    """The folder that holds ``experiments/`` or whichever folder the recipe lies in."""
    folder = Path(os.path.normpath(recipe.absolute())).parent
    return folder.parent if folder.name in (*FOLDERS, "llm") else folder


def cache_folder() -> Path | None:
    """The user's cache folder; None if it cannot be written."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adducir"
        cache.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return cache if os.access(cache, os.W_OK) else None


def is_standard_output(path: Path) -> bool:
    return str(path) in _STANDARD_OUTPUT


def is_stream(path: Path) -> bool:
    """Whether a path is standard output, a pipe or a device, with nothing beside it."""
    is_special = path.exists() and not path.is_file() and not path.is_dir()
    return is_standard_output(path) or is_special


def refuse_unwritable(path: Path) -> None:
    """Refuse a path that is not writable or read-only, even for root."""
    target = there = Path(os.path.realpath(path))
    with explaining_reads(path):
        while not there.exists():
            there = there.parent
    for place in {there, there.parent if there == target else there}:
        is_own = place.is_file() or place.is_dir()
        if is_own and not (place.stat().st_mode & 0o222 and os.access(place, os.W_OK)):
            hint = "Change its permissions (chmod u+w), or write to another path."
            message = "permission denied: this is read-only and is not overwritten."
            raise MachineError(message, path=place, hint=hint)


def give_default_rights(folder: Path) -> None:
    """Give every file in a new folder the default mode: safetensors writes 0600."""
    mode = _default_mode()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(mode)


@cache
def _default_mode() -> int:
    mask = os.umask(0)  # it can only be read by setting it, for all threads
    os.umask(mask)
    return 0o666 & ~mask


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def nameless_file(folder: Path) -> BinaryIO:
    """An unlinked open file, which disappears when it is closed or garbage-collected."""
    with explaining_writes(folder):
        return cast("BinaryIO", tempfile.TemporaryFile(dir=folder))
