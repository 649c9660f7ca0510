"""What a dry run does not read: files of data that are larger than :data:`LARGEST`.

A dry run looks at names, sizes and times of all files, and reads only those that take no time.
Where the content of a larger one matters and no earlier run has remembered its digest
(:mod:`adducir.core.verified`), its digest is one that is not known, and so is every fingerprint
over it (:mod:`adducir.core.fingerprint`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from adducir.core.errors import InputError
from adducir.core.texts import of_bytes

LARGEST = 16 << 20
"""Bytes of a file, or of the files of one source together, that a dry run reads."""


@dataclass
class Unread:
    """The files that a dry run has left unread, though they would have been checked."""

    files: dict[Path, None] = field(default_factory=dict)


_dry: ContextVar[Unread | None] = ContextVar("what a dry run leaves unread", default=None)


@contextmanager
def leaving_unread(unread: Unread | None) -> Iterator[None]:
    """Inside the block, leave large files of data unread, and note them; None: read all."""
    token = _dry.set(unread)
    try:
        yield
    finally:
        _dry.reset(token)


def reads(*paths: Path) -> bool:
    """Whether the files of one source are read: not in a dry run, if they are large together."""
    return _dry.get() is None or sum(map(_size, paths)) <= LARGEST


def may_read(*paths: Path) -> bool:
    """Whether the files of a source may be read here; if not, they are noted as unread."""
    unread = _dry.get()
    if unread is None or reads(*paths):
        return True
    unread.files.update(dict.fromkeys(paths))
    return False


class NotRead(InputError):  # noqa: N818 - for notes: a dry run goes on without the file
    """The content of a file matters, and a dry run does not read it."""

    @classmethod
    def of(cls, path: Path) -> "NotRead":
        """The note of a file."""
        size = of_bytes(_size(path))
        return cls(f"{size}, which a dry run does not read.", path=path, absent=True)


def refuse_large(*paths: Path) -> None:
    """Refuse to read the files of a source that a dry run does not read; raises NotRead."""
    if not reads(*paths):
        raise NotRead.of(max(paths, key=_size))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:  # whoever opens it says what is wrong
        return 0
