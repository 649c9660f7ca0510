"""Every error a user can cause, in one paragraph: what, where, and what to do.

Exit codes (documented in docs/troubleshooting.md):

====  ====================================================================
0     done
1     ``adducir check`` or ``doctor`` found problems
2     the command line itself is wrong (:class:`UsageError`)
3     a file the user gave is wrong (:class:`InputError`)
4     the machine lacks something: Java, disk, an optional part
      (:class:`MachineError`)
5     an artifact is missing, not created by Adducir, stale or in use (:class:`ArtifactError`)
6     a part of the work could not be done, and the rest is kept
      (:class:`IncompleteError`)
70    an internal error in Adducir itself
130   interrupted
141   whoever read our output stopped reading (a closed pipe, as in ``| head``)
====  ====================================================================
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

EXIT_PROBLEMS_FOUND = 1
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


class AdducirError(Exception):
    """An error to show as one paragraph, without a traceback.

    Args:
        what: What is wrong, as one sentence.
        path: The file or folder it is about.
        line: The 1-based line in ``path``.
        hint: What the user can do about it, as one sentence.
        absent: Whether all that is wrong is that something is not at hand: a file, a download, an
            optional package. See :mod:`adducir.core.absent`.
    """

    exit_code = EXIT_INTERNAL

    def __init__(
        self,
        what: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        hint: str | None = None,
        absent: bool = False,
    ) -> None:
        self.what = what
        self.path = None if path is None else Path(path)
        self.line = line
        self.hint = hint
        self.absent = absent
        self.parts: tuple[AdducirError, ...] = (self,)
        super().__init__(self.paragraph())

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are rebuilt from their arguments alone, here one text, when they come from
        # another process.
        own = {key: value for key, value in self.__dict__.items() if key != "parts"}
        parts = [part for part in self.parts if part is not self]
        return _rebuilt, (type(self), self.what, own, parts)

    @classmethod
    def united(cls, errors: Sequence["AdducirError"]) -> "AdducirError":
        """One error for several things that are not at hand, each reported once.

        A single one stays as it is. Of several it is the machine's error where all are.
        """
        parts = list({error.paragraph(): error for error in errors}.values())
        if len(parts) == 1:
            return parts[0]
        kind = MachineError if all(isinstance(one, MachineError) for one in parts) else InputError
        listed = "\n  ".join(error.paragraph() for error in parts)
        found = kind(f"{len(parts)} things are not at hand:\n  {listed}", absent=True)
        found.parts = tuple(parts)
        return found

    @property
    def where(self) -> str | None:
        """``file:line``, ``file``, or None."""
        if self.path is None:
            return None
        return f"{self.path}:{self.line}" if self.line is not None else str(self.path)

    def paragraph(self) -> str:
        """The whole message: where, what, what to do."""
        parts = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.hint:
            parts.append(self.hint)
        return " ".join(part.rstrip() for part in parts)


def _rebuilt(
    kind: type[AdducirError],
    what: str,
    attributes: dict[str, Any],
    parts: Sequence[AdducirError],
) -> AdducirError:
    error = kind(what)
    error.__dict__.update(attributes)
    error.args = (error.paragraph(),)
    error.parts = tuple(parts) or (error,)
    return error


class UsageError(AdducirError):
    """The command line, or the arguments of a Python call, make no sense."""

    exit_code = 2


class InputError(AdducirError):
    """A file that the user gave cannot be used as it is."""

    exit_code = 3


class MachineError(AdducirError):
    """The machine lacks something: Java, disk space, an optional package."""

    exit_code = 4


class ArtifactError(AdducirError):
    """A built thing (an index, say) is missing, not created by Adducir, stale or in use."""

    exit_code = 5


class IncompleteError(AdducirError):
    """A part of the work could not be done; what could be is kept, and is not done again."""

    exit_code = 6
