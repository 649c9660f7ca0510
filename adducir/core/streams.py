"""A file's bytes in blocks, decompressed, with errors that name the cause.

Gzip and bzip2 are recognised by a file's first bytes. Of a file that is truncated or corrupt every
byte before the error is read, so that the error can name the line. Whatever is read anywhere passes
through here.
"""

import bz2
import gzip
import io
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from adducir.core.errors import InputError, reading_error
from adducir.core.planning import NotRead, reads

BLOCK = 1 << 17  # larger ones fall out of the processor's cache
_AGAIN = "Copy or download it again."
_GZIP, _BZIP2 = b"\x1f\x8b", b"BZh"
_MAGIC = {".gz": _GZIP, ".bz2": _BZIP2}
_UNREADABLE = {b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "zip"}
_PARQUET = b"PAR1"
COMPRESSED = tuple(_MAGIC)
"""The endings of compressed files that can be read; ``.gz`` is written as well."""


class BrokenStream(InputError):  # noqa: N818
    """The bytes are not available from here on: truncated, corrupt, of another form."""

    open_line = False  # the fault is in the line that follows the whole ones read, not behind them

    def after(self, lines: int) -> InputError:
        line = (lines + self.open_line) or None
        return InputError(self.what, path=self.path, line=line, hint=self.hint)


def plain_name(name: str) -> str:
    """A file's name without the ending that shows its compression."""
    stem, _, ending = name.rpartition(".")
    return stem if stem and f".{ending.lower()}" in COMPRESSED else name


def suffix_of(path: Path) -> str:
    """The ending of a file's name in lower case, such as ``.jsonl``, that of compression apart."""
    return Path(plain_name(path.name.lower())).suffix


_pipes: ContextVar[dict[Path, bytes] | None] = ContextVar("what came through pipes", default=None)


@contextmanager
def keeping_pipes() -> Iterator[None]:
    """Inside the block, keep what comes through pipes, which can be read only once."""
    token = _pipes.set({})
    try:
        yield
    finally:
        _pipes.reset(token)


def open_input(path: Path) -> io.BufferedReader:
    """Open a file to read it; a pipe that was read before is not opened again."""
    kept = _pipes.get()
    if kept is None or not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb")
    if path not in kept:
        kept[path] = path.read_bytes()
    return io.BufferedReader(io.BytesIO(kept[path]))


def blocks(path: Path, *, whole: bool = False) -> Iterator[bytes]:
    """Yield a file's bytes, decompressed where it is gzip or bzip2, block by block.

    ``whole``: a file that is not compressed is one block, which need not be joined.
    """
    if not reads(path):
        raise NotRead(path)
    try:
        with open_input(path) as handle:
            head = handle.peek(8)
            for magic, name in _UNREADABLE.items():
                if head.startswith(magic):
                    what = f"the file is compressed with {name}, which is not supported."
                    hint = "Decompress it, or compress it with gzip."
                    raise BrokenStream(what, path=path, hint=hint)
            if head.startswith(_PARQUET) and path.suffix != ".parquet":
                what, hint = "this is a Parquet file.", "Give it a name that ends in .parquet."
                raise BrokenStream(what, path=path, hint=hint)
            if not head.startswith(_MAGIC.get(path.suffix, b"")):
                what = f"the name ends in {path.suffix}, but the file is not compressed that way."
                hint = f"Rename it if it is plain text; else {_AGAIN.lower()}"
                raise BrokenStream(what, path=path, hint=hint)
            if head.startswith(_GZIP):
                yield from _unpacked(gzip.GzipFile(fileobj=handle), "gzip", path)
            elif head.startswith(_BZIP2):
                yield from _unpacked(bz2.BZ2File(handle), "bzip2", path)
            else:
                if whole and handle.seekable():  # what was peeked would be joined to the rest
                    handle.seek(0, io.SEEK_END)
                    handle.seek(0)
                size = -1 if whole else BLOCK
                while block := handle.read(size):
                    yield block
    except OSError as error:
        raise reading_error(error, path) from error


def _unpacked(packed: gzip.GzipFile | bz2.BZ2File, name: str, path: Path) -> Iterator[bytes]:
    try:
        while block := packed.read1(BLOCK):
            yield block
    except EOFError as error:
        what = f"the {name} stream ends early: the file is truncated."
        raise BrokenStream(what, path=path, hint=_AGAIN) from error
    except (zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        what = f"the {name} stream is corrupt ({error})."
        raise BrokenStream(what, path=path, hint=_AGAIN) from error
