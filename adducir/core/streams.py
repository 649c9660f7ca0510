"""A file's bytes in blocks, decompressed, with errors that name the cause.

Gzip (RFC 1952) and bzip2 are read through their decompressors rather than through Python's
gzip and bz2 modules' files, because these lose the bytes before an error, and so the line that was
reached. Whatever is read anywhere passes through here: no other module opens a compressed file.
"""

import os
import stat
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import BinaryIO, ClassVar

from adducir.core.errors import InputError
from adducir.core.system_errors import reading_error
from adducir.core.unread import refuse_large

# Larger blocks fall out of the processor's cache: 1 MiB makes reading lines a fifth slower.
BLOCK = 1 << 17
_GZIP_WBITS = 31
# The bound keeps memory small where a block inflates a thousandfold.
_MOST = 4 * BLOCK
_UNREADABLE = {
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"PK\x03\x04": "zip",
}
MOST_TIMES = 100
"""A compressed file may unpack to so many times its size."""
ALWAYS_READ = 1 << 26
"""A compressed file may unpack to so many bytes, however small it is."""
_AGAIN = "Copy or download it again."


class BrokenStream(Exception):  # noqa: N818 - it is no error yet: the reader adds the line
    """The bytes are not available from here on.

    Args:
        what: What is wrong, with ``{}`` where the place reached is to stand.
        hint: What the user can do.
    """

    def __init__(self, what: str, hint: str) -> None:
        self.what = what
        self.hint = hint
        super().__init__(what)


class _Codec(ABC):
    """The decompressor of one member of a compressed file; a member may follow another."""

    name: ClassVar[str]
    magic: ClassVar[bytes]

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether the member is complete."""

    @property
    def waits(self) -> bool:
        """Whether there is no more output without more input."""
        return True

    @abstractmethod
    def unpack(self, raw: bytes) -> tuple[bytes, bytes]:
        """At most :data:`_MOST` decompressed bytes, and what of ``raw`` is left."""


class _Gzip(_Codec):
    name = "gzip"
    magic = b"\x1f\x8b"

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_WBITS)

    @property
    def ended(self) -> bool:
        return self._member.eof

    def unpack(self, raw: bytes) -> tuple[bytes, bytes]:
        block = self._member.decompress(raw, _MOST)
        return block, self._member.unused_data if self.ended else self._member.unconsumed_tail


class _Bzip2(_Codec):
    name = "bzip2"
    magic = b"BZh"

    def __init__(self) -> None:
        from bz2 import BZ2Decompressor  # a Python may have been built without it

        self._member = BZ2Decompressor()

    @property
    def ended(self) -> bool:
        return self._member.eof

    @property
    def waits(self) -> bool:
        return self.ended or self._member.needs_input

    def unpack(self, raw: bytes) -> tuple[bytes, bytes]:
        block = self._member.decompress(raw, _MOST)
        return block, self._member.unused_data


_CODECS: dict[str, type[_Codec]] = {".gz": _Gzip, ".bz2": _Bzip2}
COMPRESSED = tuple(_CODECS)
"""The endings of compressed files that can be read; ``.gz`` is written as well."""


def plain_name(name: str) -> str:
    """A file's name without the ending that shows its compression."""
    ending = next((one for one in COMPRESSED if name.lower().endswith(one)), "")
    return name[: len(name) - len(ending)]


def suffix_of(path: Path) -> str:
    """The ending of a file's name in lower case, such as ``.jsonl``, that of compression apart."""
    return Path(plain_name(path.name.lower())).suffix


def is_compressed(head: bytes) -> bool:
    """Whether a file that begins with these bytes is gzip or bzip2."""
    return _codec_of(head) is not None


def _codec_of(head: bytes) -> type[_Codec] | None:
    return next((codec for codec in _CODECS.values() if head.startswith(codec.magic)), None)


@dataclass
class Inputs:
    """What a command has read.

    Attributes:
        hashing: Whether the digests of files are taken while they are read.
        digests: The SHA-256 of each file that was read to its end.
        pipes: The bytes of what can be read only once: pipes and FIFOs.
    """

    hashing: bool
    digests: dict[Path, str] = field(default_factory=dict)
    pipes: dict[Path, bytes] = field(default_factory=dict)


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
    _refuse_endless(handle, path)
    if taken is None or handle.seekable():
        return handle
    with handle:
        taken.pipes[path] = handle.read()
    return BytesIO(taken.pipes[path])


def blocks(path: Path, *, whole: bool = False) -> Iterator[bytes]:
    """Yield a file's bytes, decompressed where it is gzip or bzip2, block by block.

    Args:
        path: The file, or a pipe.
        whole: Yield a file that is not compressed as one block.

    Raises:
        InputError: The file cannot be opened or read.
        NotRead: It is large, and this is a dry run.
        BrokenStream: It is truncated, corrupt, or compressed in a way that is
            not read here. Every byte before the error was yielded.
    """
    refuse_large(path)
    taken = inputs.get()
    digest = sha256() if taken is not None and taken.hashing else None

    def read(size: int) -> bytes:
        data = handle.read(size)
        if digest is not None:
            digest.update(data)
        return data

    try:
        with open_input(path) as handle:
            first = read(BLOCK)
            _refuse_unreadable(first, path)
            codec = _codec_of(first)
            if codec is not None:
                yield from _bounded(_unpacked(codec, first, read), handle)
            elif whole and handle.seekable():
                handle.seek(0)
                digest = digest and sha256()
                yield read(-1)
            else:
                while first:
                    yield first
                    first = read(BLOCK)
        if taken is not None and digest is not None:
            taken.digests[path] = digest.hexdigest()
    except OSError as error:
        raise reading_error(error, path) from error


def _refuse_endless(handle: BinaryIO, path: Path) -> None:
    """Refuse a device such as ``/dev/zero``; a terminal and ``/dev/null`` end."""
    status = os.fstat(handle.fileno())
    ends = handle.isatty() or os.path.samestat(status, Path(os.devnull).stat())
    if stat.S_ISCHR(status.st_mode) and not ends:
        raise InputError("this is a device, not a file.", path=path)


def _refuse_unreadable(first: bytes, path: Path) -> None:
    for magic, name in _UNREADABLE.items():
        if first.startswith(magic):
            raise BrokenStream(
                f"the file is compressed with {name}, which is not read here{{}}.",
                "Decompress it, or compress it with gzip.",
            )
    codec = _CODECS.get(path.suffix)
    if codec is not None and not first.startswith(codec.magic):
        if not first:
            raise BrokenStream(
                f"the {codec.name} stream ends early{{}}: the file is empty.", _AGAIN
            )
        raise BrokenStream(
            f"the name ends in {path.suffix}, but the file is not a {codec.name} stream{{}}.",
            f"If it is plain text, rename it without {path.suffix}; otherwise copy or download it "
            "again.",
        )


def _bounded(blocks: Iterator[bytes], handle: BinaryIO) -> Iterator[bytes]:
    """Pass blocks on, but refuse a file that unpacks to far more than text does.

    Text is compressed three- to twentyfold; a thousandfold and more is possible, so that a file of
    a megabyte could fill the memory of whoever reads it whole. A pipe has no size to compare with.
    """
    if not handle.seekable():
        yield from blocks
        return
    size = 0
    for block in blocks:
        size += len(block)
        if size > ALWAYS_READ and size > MOST_TIMES * handle.tell():
            raise BrokenStream(
                f"the file unpacks to more than {MOST_TIMES} times its size{{}}.",
                "If that is right, decompress it and give the plain file.",
            )
        yield block


def _unpacked(codec: type[_Codec], raw: bytes, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Decompress ``raw`` and what ``read`` gives after it, member after member."""
    member = codec()
    while raw or not member.waits or (raw := read(BLOCK)):
        if member.ended:
            # Members may follow one another; zeros pad the end of some (tar, tapes).
            raw = raw.lstrip(b"\0")
            if not raw:
                continue
            member = codec()
        try:
            block, raw = member.unpack(raw)
        except (zlib.error, OSError) as error:  # bz2 has no exception of its own
            raise BrokenStream(
                f"the {codec.name} stream is corrupt{{}} ({error}).", _AGAIN
            ) from error
        if block:
            yield block
    if not member.ended:
        raise BrokenStream(
            f"the {codec.name} stream ends early{{}}: the file is truncated.", _AGAIN
        )
