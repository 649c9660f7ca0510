"""A file's bytes in blocks, decompressed, with errors that name the cause.

The decompressors of :mod:`zlib` and :mod:`bz2` are called block by block: Python's gzip and bz2
files lose the bytes before an error, and so the line that was reached, and bz2's ignores what
follows the stream. Whatever is read anywhere passes through here.
"""

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from adducir.core.absent import refuse_large
from adducir.core.errors import InputError, reading_error

# Larger blocks fall out of the processor's cache: 1 MiB makes reading lines a fifth slower.
BLOCK = 1 << 17
# The bound keeps memory small where a block inflates a thousandfold.
_MOST = 4 * BLOCK
# A compressed file may unpack to so many times its size, and to so many bytes in any case.
MOST_TIMES, ALWAYS_READ = 100, 1 << 26
_AGAIN = "Copy or download it again."


class _Codec(NamedTuple):
    name: str
    magic: bytes
    member: Callable[[], Any]  # a decompressor of one of the streams that may follow one another


_CODECS = {
    ".gz": _Codec("gzip", b"\x1f\x8b", lambda: zlib.decompressobj(31)),
    # A Python may have been built without bz2.
    ".bz2": _Codec("bzip2", b"BZh", lambda: import_module("bz2").BZ2Decompressor()),
}
_UNREADABLE = {b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "Zstandard", b"PK\x03\x04": "zip"}
COMPRESSED = tuple(_CODECS)
"""The endings of compressed files that can be read; ``.gz`` is written as well."""


class BrokenStream(InputError):  # noqa: N818
    """The bytes are not available from here on: truncated, corrupt, of another form."""

    open_line = False  # the fault is in the line that follows the whole ones read, not behind them

    def after(self, lines: int) -> InputError:
        """The error with the line, where so many whole ones were read."""
        line = (lines + self.open_line) or None
        return InputError(self.what, path=self.path, line=line, hint=self.hint)


def plain_name(name: str) -> str:
    """A file's name without the ending that shows its compression."""
    ending = next((one for one in COMPRESSED if name.lower().endswith(one)), "")
    return name[: len(name) - len(ending)]


def suffix_of(path: Path) -> str:
    """The ending of a file's name in lower case, such as ``.jsonl``, that of compression apart."""
    return Path(plain_name(path.name.lower())).suffix


def _codec_of(head: bytes) -> _Codec | None:
    return next((codec for codec in _CODECS.values() if head.startswith(codec.magic)), None)


def is_compressed(path: Path) -> bool:
    """Whether a file is gzip or bzip2."""
    try:
        with path.open("rb") as file:
            return _codec_of(file.read(8)) is not None
    except OSError as error:
        raise reading_error(error, path) from error


@dataclass
class Inputs:
    """What a command has read."""

    hashing: bool  # whether the digests of files are taken while they are read
    digests: dict[Path, str] = field(default_factory=dict)  # of each that was read to its end
    pipes: dict[Path, bytes] = field(default_factory=dict)  # what can be read only once


inputs: ContextVar[Inputs | None] = ContextVar("what this command has read", default=None)


@contextmanager
def reading_once(*, hashing: bool) -> Iterator[None]:
    """Inside the block, keep what comes through pipes, and perhaps digests of what is read."""
    token = inputs.set(Inputs(hashing))
    try:
        yield
    finally:
        inputs.reset(token)


def open_input(path: Path) -> BufferedReader | BytesIO:
    """Open a file to read it; a pipe that was read before is not opened again."""
    taken = inputs.get()
    if taken is not None and path in taken.pipes:
        return BytesIO(taken.pipes[path])
    handle = path.open("rb")
    status = os.fstat(handle.fileno())
    # A device such as /dev/zero has no end; a terminal and /dev/null have.
    ends = handle.isatty() or os.path.samestat(status, Path(os.devnull).stat())
    if stat.S_ISCHR(status.st_mode) and not ends:
        raise InputError("this is a device, not a file.", path=path)
    if taken is None or handle.seekable():
        return handle
    with handle:
        taken.pipes[path] = handle.read()
    return BytesIO(taken.pipes[path])


def blocks(path: Path, *, whole: bool = False) -> Iterator[bytes]:
    """Yield a file's bytes, decompressed where it is gzip or bzip2, block by block.

    Of a BrokenStream (truncated, corrupt) every byte before the error was yielded. ``whole``: a
    file that is not compressed is one block, which need not be joined.
    """
    refuse_large(path)
    taken = inputs.get()
    digest = sha256() if taken is not None and taken.hashing else None

    def read(size: int = BLOCK) -> bytes:
        data = handle.read(size)
        if digest is not None:
            digest.update(data)
        return data

    try:
        with open_input(path) as handle:
            first = read()
            _refuse_unreadable(first, path)
            codec = _codec_of(first)
            if codec is None and whole and handle.seekable():
                handle.seek(0)
                digest = digest and sha256()
                yield read(-1)
            elif codec is None:
                while first:
                    yield first
                    first = read()
            else:
                size = 0
                for block in _unpacked(codec, first, read, path):
                    # Text is compressed three- to twentyfold; at a thousandfold and more, a file
                    # of a megabyte could fill the memory. A pipe has no size to compare with.
                    size += len(block)
                    if handle.seekable() and size > max(ALWAYS_READ, MOST_TIMES * handle.tell()):
                        raise BrokenStream(
                            f"the file unpacks to more than {MOST_TIMES} times its size.",
                            path=path,
                            hint="If that is right, decompress it and give the plain file.",
                        )
                    yield block
        if taken is not None and digest is not None:
            taken.digests[path] = digest.hexdigest()
    except OSError as error:
        raise reading_error(error, path) from error


def _refuse_unreadable(first: bytes, path: Path) -> None:
    name = next((name for magic, name in _UNREADABLE.items() if first.startswith(magic)), None)
    if name is not None:
        raise BrokenStream(
            f"the file is compressed with {name}, which is not read here.",
            path=path,
            hint="Decompress it, or compress it with gzip.",
        )
    codec = _CODECS.get(path.suffix)
    if codec is not None and not first.startswith(codec.magic):
        raise BrokenStream(
            f"the name ends in {path.suffix}, but the file is "
            + (f"not a {codec.name} stream." if first else "empty."),
            path=path,
            hint=f"Rename it without {path.suffix} if it is plain text; else {_AGAIN.lower()}",
        )


def _unpacked(codec: _Codec, raw: bytes, read: Callable[[], bytes], path: Path) -> Iterator[bytes]:
    """Decompress ``raw`` and what ``read`` gives after it, stream after stream."""
    while raw := raw or read():
        raw = raw.lstrip(b"\0")  # zeros pad the end of some (tar, tapes)
        if not raw:
            continue
        member = codec.member()
        while not member.eof:
            try:
                block = member.decompress(raw, _MOST)
            except (zlib.error, OSError) as error:  # bz2 has no exception of its own
                what = f"the {codec.name} stream is corrupt ({error})."
                raise BrokenStream(what, path=path, hint=_AGAIN) from error
            raw = member.unused_data or getattr(member, "unconsumed_tail", b"")
            if block:
                yield block
            elif not raw and not member.eof and not (raw := read()):
                what = f"the {codec.name} stream ends early: the file is truncated."
                raise BrokenStream(what, path=path, hint=_AGAIN)
