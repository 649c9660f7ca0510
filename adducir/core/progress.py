"""How long work reports its progress to whoever listens, without printing."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Self


class Progress:
    """Within ``with`` it is told of the advance of all work; this one shows nothing."""

    _before: "Token[Progress]"

    def __enter__(self) -> Self:
        self._before = _listening.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _listening.reset(self._before)

    @contextmanager
    def doing(self, what: str, total: int | None, unit: str) -> Iterator[None]:
        self.start(what, total, unit)
        try:
            yield
        finally:
            self.finish()

    def start(self, what: str, total: int | None, unit: str) -> None:
        """Begin a piece of work of ``total`` units (None: not known)."""

    def advance(self, count: int) -> None:
        """Note that ``count`` more units are done."""

    def resume(self, count: int) -> None:
        """Note that ``count`` units were done before this piece of work began."""

    def finish(self) -> None:
        """End the piece of work begun last."""

    def note(self, message: str) -> None:
        """Show the user one line."""


_SILENT = Progress()
_listening: ContextVar[Progress] = ContextVar("progress", default=_SILENT)


def progress() -> Progress:
    return _listening.get()
