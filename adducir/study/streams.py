"""A file's bytes in blocks, decompressed, with faults that name the cause.

Gzip (RFC 1952) is read through zlib rather than through Python's gzip module,
because that loses the bytes before a fault, and so the line that was reached.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from adducir.study.faults import reading_fault

# Larger blocks fall out of the processor's cache: 1 MiB makes reading lines a fifth slower.
BLOCK = 1 << 17
_GZIP = b"\x1f\x8b"
_GZIP_WBITS = 31
_UNREADABLE = {
    b"BZh": "bzip2",
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
    """The bytes cannot be had from here on.

    Args:
        what: What is wrong, with ``{}`` where the place reached is to stand.
        mend: What the user can do.
    """

    def __init__(self, what: str, mend: str) -> None:
        self.what = what
        self.mend = mend
        super().__init__(what)


def blocks(path: Path, *, whole: bool = False) -> Iterator[bytes]:
    """Yield a file's bytes, decompressed where it is gzip, block by block.

    Args:
        path: The file, or a pipe.
        whole: Yield a file that is not compressed as one block.

    Raises:
        InputError: The file cannot be opened or read.
        BrokenStream: It is truncated, corrupt, or compressed in a way that is
            not read here. Every byte before the fault was yielded.
    """
    try:
        with path.open("rb") as handle:
            first = handle.read(BLOCK)
            _refuse_unreadable(first, path)
            if first.startswith(_GZIP):
                yield from _bounded(_inflated(first, handle), handle)
            elif whole and handle.seekable():
                handle.seek(0)
                yield handle.read()
            else:
                while first:
                    yield first
                    first = handle.read(BLOCK)
    except OSError as error:
        raise reading_fault(error, path) from error


def _refuse_unreadable(first: bytes, path: Path) -> None:
    for magic, name in _UNREADABLE.items():
        if first.startswith(magic):
            raise BrokenStream(
                f"the file is compressed with {name}, which is not read here{{}}.",
                "Decompress it, or compress it with gzip.",
            )
    if path.suffix == ".gz" and not first.startswith(_GZIP):
        if not first:
            raise BrokenStream("the gzip stream ends early{}: the file is empty.", _AGAIN)
        raise BrokenStream(
            "the name ends in .gz, but the file is not a gzip stream{}.",
            "If it is plain text, rename it without .gz; otherwise copy or download it again.",
        )


def _bounded(blocks: Iterator[bytes], handle: BinaryIO) -> Iterator[bytes]:
    """Pass blocks on, but refuse a file that unpacks to far more than text does.

    Text is compressed three- to twentyfold, and a thousandfold at most: a file of a megabyte could
    fill the memory of whoever reads it whole. A pipe has no size to compare with.
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


def _inflated(raw: bytes, handle: BinaryIO) -> Iterator[bytes]:
    """Decompress ``raw`` and what follows it in ``handle``, member after member."""
    member = zlib.decompressobj(_GZIP_WBITS)
    ended = False
    while raw or (raw := handle.read(BLOCK)):
        if ended:
            # Members may follow one another; zeros pad the end of some (tar, tapes).
            raw = raw.lstrip(b"\0")
            if not raw:
                continue
            member, ended = zlib.decompressobj(_GZIP_WBITS), False
        try:
            # The bound keeps memory small where a block inflates a thousandfold.
            block = member.decompress(raw, 4 * BLOCK)
        except zlib.error as error:
            raise BrokenStream(f"the gzip stream is corrupt{{}} ({error}).", _AGAIN) from error
        if block:
            yield block
        ended = member.eof
        raw = member.unused_data if ended else member.unconsumed_tail
    if not ended:
        raise BrokenStream("the gzip stream ends early{}: the file is truncated.", _AGAIN)
