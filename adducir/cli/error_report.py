"""What users see when a command fails: one paragraph and an exit code."""

import contextlib
import os
import sys
import traceback
from pathlib import Path

from adducir.core.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    AdducirError,
    MachineError,
    machine_error,
)
from adducir.core.packages import blamed, lacking
from adducir.core.texts import shortened, visible

EXIT_READER_GONE = 141
"""What a shell reports for a closed pipe (128 + SIGPIPE)."""

_LONGEST_LINE = 4000


def report(error: BaseException, *, debug: bool = False) -> int:
    if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
        return EXIT_READER_GONE  # rich has told Python that nobody reads
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, BrokenPipeError):
        # Makes Python's final flush of stdout succeed without a reader.
        with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return EXIT_READER_GONE
    if debug:
        print(visible("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    if isinstance(error, KeyboardInterrupt):
        rest = (
            "interrupted; the same command goes on from what is finished. Nothing is half-written"
        )
        print(f"adducir: {str(error) or rest}.", file=sys.stderr)
        return EXIT_INTERRUPTED
    explained = _meaning(error) or lacking(error) or blamed(error)
    if explained is None:
        reason = " ".join(str(error).split())
        print_error(
            "an internal error in Adducir itself: "
            f"{type(error).__name__}{': ' if reason else ''}{reason[:500]}. "
            f"{'Please' if debug else 'Run again with --debug to see where, and please'} report it."
        )
        return EXIT_INTERNAL
    print_error(explained.paragraph())
    return explained.exit_code


def print_error(message: str) -> None:
    for line in visible(f"adducir: error: {message}").split("\n"):
        print(shortened(line, _LONGEST_LINE), file=sys.stderr)


def _meaning(error: BaseException) -> AdducirError | None:
    """The error in words for the user, or None if only a programmer can fix it."""
    if isinstance(error, AdducirError):
        return error
    name = getattr(error, "filename", None)
    path = Path(name) if isinstance(error, OSError) and isinstance(name, str) else None
    if (fault := machine_error(error, path)) is not None:
        return fault
    if isinstance(error, OSError) and error.errno is not None and name is not None:
        return MachineError(f"{os.strerror(error.errno).lower()}.", path=path)
    return None
