r"""Reading text files with exact errors, writing them whole or not at all.

Text is UTF-8, a byte-order mark at the start is ignored, and a line ends
with ``\n`` or ``\r\n`` and with nothing else, so that a text that holds another
of Unicode's line breaks stays in one piece. Gzip and bzip2 are recognised by a file's first
bytes when it is read; gzip is written where the name ends in ``.gz``.
"""

import codecs
import gzip
import hashlib
import io
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from adducir.core.errors import InputError, explaining_writes, reading_error
from adducir.core.paths import (
    is_standard_output,
    keep_rights,
    refuse_unwritable,
    sync,
    to_standard_output,
)
from adducir.core.processes import here, is_alive
from adducir.core.streams import BrokenStream, blocks, inputs, open_input

# Level 6 is a third of level 9's time for runs that are 2 % larger.
_GZIP_LEVEL = 6
MOST_SETTINGS = 16 << 20
"""Bytes that a recipe, a manifest or settings may have."""


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, plain or compressed, with their 1-based numbers, in little memory.

    Of a file that is truncated, corrupt or not UTF-8 the lines before the error are yielded.
    """
    done = 0
    rest: list[str] = []
    try:
        for piece in read_pieces(path):
            lines = piece.split("\n")
            rest.append(lines[0])
            if len(lines) > 1:
                lines[0] = "".join(rest)
                rest = [lines.pop()]
                if "\r" in piece or lines[0].endswith("\r"):
                    lines = [line.removesuffix("\r") for line in lines]
                yield from enumerate(lines, done + 1)
                done += len(lines)
    except BrokenStream as broken:
        raise broken.after(done) from broken
    if last := "".join(rest):
        yield done + 1, last.removesuffix("\r")


def read_pieces(path: Path) -> Iterator[str]:
    """Read a text file in pieces, in constant memory however long its lines are.

    Line breaks are kept. Raises BrokenStream where the caller has to find the line.
    """
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    for block in chain(blocks(path), [b""]):
        try:
            text = decode(block, not block)
        except UnicodeDecodeError as error:
            if error.start:
                yield error.object[: error.start].decode()
            raise _not_utf8(path, error) from None
        if text:
            yield text


def _not_utf8(path: Path, error: UnicodeDecodeError) -> BrokenStream:
    broken = BrokenStream(
        f"the byte 0x{error.object[error.start]:02x} in this line is not UTF-8.",
        path=path,
        hint="Convert the file to UTF-8, with iconv for example.",
    )
    broken.open_line = True
    return broken


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Read a whole UTF-8 text file, of at most so many bytes, as bytes, for bulk parsers.

    Line breaks are kept as they are; a byte-order mark is taken off.
    """
    parts: list[bytes] = []
    size = 0
    try:
        for block in blocks(path, whole=most is None):
            parts.append(block)
            size += len(block)
            if most is not None and size > most:
                raise InputError(
                    f"the file has more than {most:,} bytes (decompressed), which no recipe, "
                    "manifest or settings file needs.",
                    path=path,
                    hint="Is it the file that was meant?",
                )
    except BrokenStream as broken:
        raise broken.after(sum(part.count(b"\n") for part in parts)) from broken
    data = b"".join(parts).removeprefix(codecs.BOM_UTF8)
    # Runs and qrels are ASCII nearly always, and that is known at memory speed.
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise _not_utf8(path, error).after(data.count(b"\n", 0, error.start)) from None
    return data


def read_text(path: Path, most: int | None = None) -> str:
    r"""Read a whole UTF-8 text file, plain or compressed, with ``\n`` as its line breaks."""
    return read_bytes(path, most).decode().replace("\r\n", "\n")


@contextmanager
def publishing(path: Path) -> Iterator[Path]:
    """Give a file its content at once, and only when that is whole.

    The block writes the hidden sibling that it is given, which then takes the place of ``path``, or
    is removed where the block fails. Missing folders above ``path`` are made. A link is followed,
    what is not an ordinary file (a pipe) is written in place, and ``-`` is standard output. A file
    that is replaced leaves its mode and, where that is permitted, its owner to the new one.
    """
    if is_standard_output(path):
        with to_standard_output() as hidden:
            yield hidden
        return
    if path.is_dir():
        raise InputError("this is a folder, where a file is to be written.", path=path)
    if path.suffix == ".bz2":
        raise InputError(
            "bzip2 is read but not written.",
            path=path,
            hint="Let the name end in .gz, or in neither.",
        )
    if path.exists() and not path.is_file():
        with explaining_writes(path):
            yield path
        return
    refuse_unwritable(path)
    target = Path(os.path.realpath(path))
    with explaining_writes(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_behind(target)
        mark = f"{here()}-{os.getpid()}-{secrets.token_hex(4)}"
        hidden = target.with_name(f".{target.name}.{mark}.tmp")
        existed, waits = target.exists(), False
        try:
            yield hidden
            if target.exists() or not existed:  # else the block has removed it, and set them
                keep_rights(target, hidden)
            sync(hidden)
            if target in (together := _together.get({})):
                waits, older = True, together[target]
                if older is not None:
                    older.unlink(missing_ok=True)
                together[target] = hidden
            else:
                hidden.replace(target)
                sync(target.parent)
        finally:
            if not waits:
                hidden.unlink(missing_ok=True)


_together: ContextVar[dict[Path, Path | None]] = ContextVar("files to publish together")


@contextmanager
def publishing_together(paths: Iterable[Path]) -> Iterator[None]:
    """Publish those of these files that are written inside the block when it ends, all or none.

    Files in a folder of the user's, such as the parts of a split, have no common name that one
    rename could give them. So all are written first; then the older ones are removed, and the new
    ones take their places. A kill in between leaves files missing, which is noticed, and never a
    part of one split beside a part of another.
    """
    waiting: dict[Path, Path | None] = {Path(os.path.realpath(path)): None for path in paths}
    token = _together.set(waiting)
    try:
        yield
        written = {target: hidden for target, hidden in waiting.items() if hidden is not None}
        for target in written if len(written) > 1 else ():
            with explaining_writes(target):
                target.unlink(missing_ok=True)
        for target, hidden in written.items():
            with explaining_writes(target):
                hidden.replace(target)
        for folder in {target.parent for target in written}:
            with explaining_writes(folder):
                sync(folder)
    finally:
        _together.reset(token)
        for left in waiting.values():
            if left is not None:
                left.unlink(missing_ok=True)


def _remove_left_behind(target: Path) -> None:
    """Remove the hidden siblings of processes that were killed while writing."""
    for sibling in target.parent.iterdir():
        _, mark, rest = sibling.name.rpartition(f".{here()}-")
        if mark and sibling.name.startswith(".") and rest.endswith(".tmp"):
            pid = rest.split("-")[0]
            if pid.isdigit() and not is_alive(int(pid)):
                sibling.unlink(missing_ok=True)


@contextmanager
def writing_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file for bytes, gzip where its name ends in ``.gz``; see :func:`publishing`.

    The gzip header holds neither time nor name, so equal content gives equal bytes.
    """
    with publishing(path) as hidden, hidden.open("wb") as raw:
        if path.suffix != ".gz":
            yield raw
            return
        packed = gzip.GzipFile("", "wb", _GZIP_LEVEL, cast("BinaryIO", raw), mtime=0)
        with packed, io.BufferedWriter(cast("io.RawIOBase", packed), 1 << 17) as buffer:
            yield buffer


@contextmanager
def writing_text(path: Path) -> Iterator[TextIO]:
    r"""Open a file for UTF-8 text with ``\n`` as line break; as :func:`writing_bytes`."""
    try:
        with (
            writing_bytes(path) as handle,
            io.TextIOWrapper(handle, encoding="utf-8", newline="\n") as text,
        ):
            yield text
    except UnicodeEncodeError as error:
        raise InputError(
            f"a text cannot be written as UTF-8: it holds {error.object[error.start]!r}.",
            path=path,
            hint="Correct the text where it comes from.",
        ) from error


def require(path: Path) -> None:
    """Raise what reading a file would, where the file is not there."""
    try:
        path.stat()
    except OSError as error:
        raise reading_error(error, path) from error


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's bytes as they are now, in hexadecimal."""
    try:
        with open_input(path) as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise reading_error(error, path) from error


def digest_as_read(path: Path) -> str:
    """The SHA-256 of the bytes that this command read; where it read none, as they are now."""
    taken = inputs.get()
    return (taken.digests.get(path) if taken else None) or file_digest(path)


def link_or_copy(source: Path, target: Path) -> None:
    """Have a file under another name, too; a copy where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
