"""How long work reports progress to any listener without printing."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Self


class Progress:
    """Inside ``with``, it receives the progress of all work; this base class shows nothing."""

    _before: "Token[Progress]"
    _told: set[str]

    def __enter__(self) -> Self:
        self._before = _listening.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _listening.reset(self._before)

    @contextmanager
    def doing(self, label: str, total: int | None, unit: str) -> Iterator[None]:
        self.start(label, total, unit)
        try:
            yield
        finally:
            self.finish()

    def start(self, label: str, total: int | None, unit: str) -> None:
        """Begin work on ``total`` units (None: not known)."""

    def advance(self, count: int) -> None:
        """Report that ``count`` more units are done."""

    def resume(self, count: int) -> None:
        """Report that ``count`` units were done beforehand."""

    def finish(self) -> None:
        """End the work that began last."""

    def rest(self) -> None:
        """Show nothing but work from now on, because the user is asked."""

    def note(self, message: str) -> None:
        """Show the user one line."""

    def note_once(self, message: str) -> None:
        """Show a line that work done again would repeat, such as how a file is read."""
        noted = self.__dict__.setdefault("_told", set())
        if message not in noted:
            noted.add(message)
            self.note(message)


class _Silent(Progress):
    def note_once(self, message: str) -> None:
        """Nobody listens."""


_SILENT: Progress = _Silent()
_listening: ContextVar[Progress] = ContextVar("progress", default=_SILENT)


def progress() -> Progress:
    return _listening.get()
