"""What a plan leaves out: downloads and, in a dry run, large data files.

If the only problem is that something is not available, the error has ``absent=True``: a dry run
lists it as a note; a real run refuses to start and names everything that is missing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from adducir.core import setting
from adducir.core.errors import InputError

LARGEST = 16 << 20
"""The largest source, in bytes over all its files, that a dry run reads."""

Download = tuple[str, Callable[[], bool], Callable[[], object]]
"""What is fetched on first use; whether it is already here, without using the network; how to fetch
it."""

_plan: ContextVar[tuple[bool, list[Download] | None]] = ContextVar(
    "planning", default=(False, None)
)
"""Whether this is a dry run, and what is fetched later."""


class NotRead(InputError):  # noqa: N818 - for notes: a dry run continues without the file
    """The content of a file is needed, but a dry run does not read it."""

    def __init__(self, *paths: Path) -> None:
        size, path = max((path.stat().st_size, path) for path in paths)
        message = f"{size / 1e6:,.0f} MB, which a dry run does not read."
        super().__init__(message, path=path, absent=True)


@contextmanager
def planning(*, is_dry: bool = True) -> Iterator[list[Download]]:
    """Collect what is fetched later; if ``is_dry``, do not download or read large files."""
    downloads: list[Download] = []
    with setting(_plan, (_plan.get()[0] or is_dry, downloads)):
        yield downloads


_code: ContextVar[bool] = ContextVar("allowing_code", default=False)


@contextmanager
def allowing_code() -> Iterator[None]:
    """Let Python code that comes with models run (``--allow-code``)."""
    with setting(_code, True):
        yield


def may_run_code() -> bool:
    return _code.get()


def may_download() -> bool:
    return not _plan.get()[0]


def fetched_later(label: str, is_here: Callable[[], bool], fetch: Callable[[], object]) -> None:
    """Tell a plan that something is fetched when it is needed; see :data:`Download`."""
    if (watched := _plan.get()[1]) is not None:
        watched.append((label, is_here, fetch))


def reads(*paths: Path) -> bool:
    """Whether the files of one source are read: not in a dry run if their sum is large."""
    size = 0
    for path in () if may_download() else paths:
        with suppress(OSError):  # whoever opens it reports the error
            size += path.stat().st_size if path.is_file() else 0
    return size <= LARGEST
