"""What the user sees when a command does not end well: one paragraph and an exit code."""

import contextlib
import os
import shutil
import sys
import textwrap
import traceback
from pathlib import Path

from adducir.core.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    AdducirError,
    MachineError,
    UsageError,
    machine_error,
)
from adducir.core.texts import shortened, visible

EXIT_READER_GONE = 141
"""What a shell reports for a program whose reader went away (128 + SIGPIPE)."""

_LONGEST_LINE = 4000


def report(error: BaseException, *, debug: bool = False) -> int:
    """Explain to the user on stderr what ``error`` means.

    Returns:
        The exit code.
    """
    quiet = _quiet_exit(error)
    if quiet is not None:
        return quiet
    if debug:
        print(visible("".join(traceback.format_exception(error))), end="", file=sys.stderr)
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        print("adducir: interrupted.", file=sys.stderr)
        return EXIT_INTERRUPTED
    known = _meaning(error)
    if known is None:
        what = " ".join(str(error).split())
        print_error(
            "an internal error in Adducir itself: "
            f"{type(error).__name__}{': ' if what else ''}{what[:500]}. "
            + ("Please report it with the traceback above." if debug else _ASK_FOR_DEBUG)
        )
        return EXIT_INTERNAL
    print_error(known.paragraph())
    return known.exit_code


_ASK_FOR_DEBUG = "Run again with --debug to see where, and please report it."


def print_error(message: str) -> None:
    """Print to stderr, each line of the message wrapped where stderr is a terminal.

    Messages quote data: control characters are written out, and lines of data are cut.
    """
    lines = [
        shortened(line, _LONGEST_LINE) for line in visible(f"adducir: error: {message}").split("\n")
    ]
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        lines = [
            textwrap.fill(
                line,
                width,
                subsequent_indent=line[: len(line) - len(line.lstrip())],
                break_long_words=False,
                break_on_hyphens=False,
            )
            for line in lines
        ]
    print("\n".join(lines), file=sys.stderr)


def _quiet_exit(error: BaseException) -> int | None:
    """The exit code of what needs no words."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, BrokenPipeError):
        _forget_stdout()
        return EXIT_READER_GONE
    if type(error).__name__ == "Exit" and isinstance(error, RuntimeError):  # typer.Exit
        return int(getattr(error, "exit_code", 0))
    return None


def _forget_stdout() -> None:
    """Let Python's own last flush of stdout succeed though nobody reads it."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _meaning(error: BaseException) -> AdducirError | None:
    """The error in words for the user, or None where only a programmer can fix it."""
    if isinstance(error, AdducirError):
        return error
    if hasattr(error, "format_message"):  # typer's own, about the command line
        return _usage(error)
    if (own := machine_error(error, _path_of(error))) is not None:
        return own
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        reason = os.strerror(error.errno).lower()
        return MachineError(f"{reason}.", path=_path_of(error))
    return None


def _usage(error: BaseException) -> UsageError:
    if type(error.__cause__).__name__ == "ValidationError":  # pydantic's, of an option's value
        from adducir.core.recipe import told

        error.message = told(error.__cause__)  # type: ignore[attr-defined,arg-type]
    message: str = error.format_message()  # type: ignore[attr-defined]  # checked by the caller
    what = " ".join(message.replace("--set.", "--set ").split())
    what = what if what.endswith((".", "?", "!")) else f"{what}."
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "adducir"
    return UsageError(what[0].lower() + what[1:], hint=f"See '{command} --help'.")


def _path_of(error: BaseException) -> Path | None:
    name = getattr(error, "filename", None)
    return Path(name) if isinstance(error, OSError) and isinstance(name, str) else None
