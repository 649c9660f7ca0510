"""What is not available, or not read: what a dry run goes on without, and notes.

An error whose only cause is that something is not here is raised with ``absent=True``: a dry run
lists it as a note, anything else refuses to begin, naming all that is missing at once. Who opens
the name of something that is fetched when it is first needed (a model of the Hub) says so by
:func:`fetched_later`, so that a plan knows of it before anything is built. And a dry run reads no
files of data that are larger than :data:`LARGEST`: where no earlier run has remembered the digest
of one, it is not known, and neither is any fingerprint over it (:mod:`adducir.core.fingerprint`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from adducir.core.errors import AdducirError, InputError

T = TypeVar("T")

LARGEST = 16 << 20
"""Bytes of a file, or of the files of one source together, that a dry run reads."""


@dataclass(frozen=True)
class Later:
    """Something that is fetched when it is first needed; ``is_here`` asks no network."""

    what: str
    is_here: Callable[[], bool]
    fetch: Callable[[], object]


class NotRead(InputError):  # noqa: N818 - for notes: a dry run goes on without the file
    """The content of a file matters, and a dry run does not read it."""


_downloading: ContextVar[bool] = ContextVar("downloading", default=True)
_watching: ContextVar[list[Later] | None] = ContextVar("watching", default=None)
_dry: ContextVar[bool] = ContextVar("leaving large files unread", default=False)


def may_download() -> bool:
    return _downloading.get()


@contextmanager
def without_downloads(off: bool = True) -> Iterator[None]:
    """Have nothing downloaded within the block: what is not here is absent."""
    token = _downloading.set(_downloading.get() and not off)
    try:
        yield
    finally:
        _downloading.reset(token)


def fetched_later(what: str, is_here: Callable[[], bool], fetch: Callable[[], object]) -> None:
    """Announce to a plan that something is fetched when it is needed; see :class:`Later`."""
    watched = _watching.get()
    if watched is not None:
        watched.append(Later(what, is_here, fetch))


@contextmanager
def watching() -> Iterator[list[Later]]:
    """Collect what :func:`fetched_later` announces within the block."""
    found: list[Later] = []
    token = _watching.set(found)
    try:
        yield found
    finally:
        _watching.reset(token)


@contextmanager
def gathering() -> Iterator[Callable[[Callable[[], T]], T]]:
    """Open several things; raises at the end for all that were not available."""
    missing: list[AdducirError] = []

    def each(opener: Callable[[], T]) -> T:
        try:
            return opener()
        except AdducirError as error:
            if not error.absent:
                raise
            missing.extend(error.parts)
            return cast("T", None)

    yield each
    if missing:
        raise AdducirError.united(missing)


@contextmanager
def leaving_unread(large: bool = True) -> Iterator[None]:
    """Inside the block, leave large files of data unread."""
    token = _dry.set(large)
    try:
        yield
    finally:
        _dry.reset(token)


def reads(*paths: Path) -> bool:
    """Whether the files of one source are read: not in a dry run, if they are large together."""
    return not _dry.get() or sum(map(_size, paths)) <= LARGEST


def refuse_large(*paths: Path) -> None:
    """Refuse to read the files of a source that a dry run does not read; raises NotRead."""
    if not reads(*paths):
        path = max(paths, key=_size)
        what = f"{_size(path) / 1e6:,.0f} MB, which a dry run does not read."
        raise NotRead(what, path=path, absent=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:  # whoever opens it says what is wrong
        return 0
