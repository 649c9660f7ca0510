"""What a dry run does not read: files of data that are larger than :data:`LARGEST`.

A dry run looks at names, sizes and times of all files, and reads only those that take no time.
Where the content of a larger one matters, either its digest is remembered from an earlier run
(:mod:`adducir.core.verified`), or a stand-in takes the digest's place. Every fingerprint that
a stand-in goes into is one itself, so that none is ever taken for that of an artifact.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.texts import of_bytes

LARGEST = 16 << 20
"""Bytes of a file, or of the files of one source together, that a dry run reads."""

# The control character is in no path and no name of a recipe.
_MARK = "\0unread\0"
_IN_JSON = re.compile(r"(?<!\\)\\u0000unread\\u0000((?:(?!\\u0000)[^\"\\]|(?!\\u0000)\\.)*)")


@dataclass
class Unread:
    """What a dry run has left unread, though it would have been checked.

    Attributes:
        files: The files.
    """

    files: dict[Path, None] = field(default_factory=dict)


class NotRead(InputError):  # noqa: N818 - no error: a dry run goes on without it
    """The content of a file matters, and a dry run does not read it."""

    def __init__(self, path: Path | str) -> None:
        size = of_bytes(_size(Path(path)))
        super().__init__(f"{size}, which a dry run does not read.", path=path, absent=True)

    def __reduce__(self) -> tuple[type["NotRead"], tuple[str]]:
        return type(self), (str(self.path),)


_dry: ContextVar[Unread | None] = ContextVar("what a dry run leaves unread", default=None)


@contextmanager
def leaving_unread(unread: Unread | None) -> Iterator[None]:
    """Inside the block, leave large files of data unread, and note them; None: read all."""
    token = _dry.set(unread)
    try:
        yield
    finally:
        _dry.reset(token)


def reads_all() -> bool:
    """Whether files of any size are read: outside of a dry run."""
    return _dry.get() is None


def is_small(*paths: Path) -> bool:
    """Whether files, one source together, are read in a dry run."""
    return sum(map(_size, paths)) <= LARGEST


def may_read(*paths: Path) -> bool:
    """Whether the files of a source may be read here; if not, they are noted as unread."""
    unread = _dry.get()
    if unread is None or is_small(*paths):
        return True
    unread.files.update(dict.fromkeys(paths))
    return False


def refuse_large(*paths: Path) -> None:
    """Refuse to read the files of a source that a dry run does not read.

    Raises:
        NotRead: This is a dry run, and they are large.
    """
    if not reads_all() and not is_small(*paths):
        raise NotRead(max(paths, key=_size))


def stand_in(path: Path | str, text: str = "") -> str:
    """What takes the place of a digest that is not known.

    Args:
        path: The file that would have to be read.
        text: What distinguishes it from others of this file.
    """
    return f"{_MARK}{path}{_MARK}{sha256(text.encode()).hexdigest() if text else ''}"


def spread(canonical: str) -> str | None:
    """The stand-in for a fingerprint of something that holds one; None where it holds none.

    Args:
        canonical: From :func:`adducir.core.fingerprint.canonical`.
    """
    found = _IN_JSON.search(canonical)
    return None if found is None else stand_in(json.loads(f'"{found[1]}"'), canonical)


def known(fingerprint: str) -> str:
    """A fingerprint that is known.

    Raises:
        NotRead: It is a stand-in.
    """
    _, mark, rest = fingerprint.partition(_MARK)
    if mark:
        raise NotRead(rest.partition(_MARK)[0])
    return fingerprint


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:  # whoever opens it says what is wrong
        return 0
