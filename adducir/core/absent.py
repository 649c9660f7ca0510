"""What is not available: files, downloads and optional packages that are named and not here yet.

An error with only that cause is raised with ``absent=True``: a dry run lists it as a note, anything
else refuses to begin, naming all that is missing at once. Who opens the name of something that is
fetched when it is first needed (a model of the Hub) says so by :func:`fetched_later`, so that a
plan knows of it before anything is built.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar, cast

from adducir.core.errors import AdducirError

T = TypeVar("T")


@dataclass(frozen=True)
class Later:
    """Something that is fetched when it is first needed; ``is_here`` asks no network."""

    what: str
    is_here: Callable[[], bool]
    fetch: Callable[[], object]


_downloading: ContextVar[bool] = ContextVar("downloading", default=True)
_watching: ContextVar[list[Later] | None] = ContextVar("watching", default=None)


def may_download() -> bool:
    """Whether downloads are allowed here."""
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
    """Open several things, and go on where one is not available; raises for all at the end.

    What could not be opened must not be looked at before the block ends.
    """
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
