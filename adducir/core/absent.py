"""What is not at hand: the files, downloads and optional packages that are named and not here.

An error whose cause is only that something is not here yet is marked so (``absent=True``) where it
is raised. A plan that looks at everything can then distinguish it from a mistake: a dry run lists
it as a note, anything else refuses to begin, naming all that is missing at once.

Some things are fetched when they are first needed (models of the Hugging Face Hub, documents of
ir_datasets), long after their names were read. Who opens such a name says so by
:func:`fetched_later`, so that a plan knows of it before anything is built.
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
    """Something that is fetched when it is first needed.

    Attributes:
        what: What it is, in a few words.
        is_here: Whether it was fetched before; asks no network.
        fetch: Fetches it, or raises an AdducirError.
    """

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


class Gathering:
    """Opens several things, and goes on where one is not at hand.

    A value that could not be opened must not be looked at before the block of :func:`gathering`
    ends, which raises then.
    """

    def __init__(self) -> None:
        self.missing: list[AdducirError] = []

    def __call__(self, opener: Callable[[], T]) -> T:
        """What ``opener`` returns; an error that is no absence is raised at once."""
        try:
            return opener()
        except AdducirError as error:
            if not error.absent:
                raise
            self.missing += error.parts
            return cast("T", None)


@contextmanager
def gathering() -> Iterator[Gathering]:
    """Open several things; at the end, one error for all that are not at hand.

    Raises:
        AdducirError: Something is not at hand, or cannot be opened for another reason.
    """
    gathered = Gathering()
    yield gathered
    if gathered.missing:
        raise AdducirError.united(gathered.missing)
