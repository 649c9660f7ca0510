"""Output of results, progress and errors.

Results go to stdout or to the user's file. Progress, notes and errors go to stderr, as bars on a
terminal and as plain lines elsewhere. A failed command ends with one paragraph and an exit code.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from adducir.core import setting
from adducir.core.errors import (
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    AdducirError,
    MachineError,
    machine_error,
)
from adducir.core.packages import blamed, lacking
from adducir.core.progress import Progress
from adducir.core.texts import NAME_BYTES, shortened, visible

FIRST_LINE_AFTER = 5.0
"""Seconds of work before the first progress line without a terminal."""
LONGEST_SILENCE = 60.0
"""Seconds between progress lines of long work; the first intervals are shorter."""
EXIT_READER_GONE = 141
"""What a shell reports for a closed pipe (128 + SIGPIPE)."""
_LONGEST_LINE = 4000  # of an error


_data_goes_to_stdout: ContextVar[bool] = ContextVar("data goes to stdout", default=False)


def leaving_stdout_to_data() -> AbstractContextManager[bool]:
    """Inside the block, show results on stderr, because stdout receives a file."""
    return setting(_data_goes_to_stdout, True)


def show(text: str, output: Path | None = None, *, styled: bool = False) -> None:
    """Print a result, or write it to ``output`` atomically.

    On a terminal, control characters are escaped, except our own (``styled``).
    """
    if output is None:
        stream = sys.stderr if _data_goes_to_stdout.get() else sys.stdout
        if stream.isatty() and not styled:
            text = visible(text)
        with suppress(AttributeError):  # a terminal may lack a character
            is_utf8 = str(stream.encoding).lower() in ("utf-8", "utf8")
            stream.reconfigure(errors=NAME_BYTES if is_utf8 else "replace")  # type: ignore[union-attr]
        with beside_bars(stream):
            stream.write(text if text.endswith("\n") else text + "\n")
            stream.flush()
        return
    from adducir.core.files import writing_text

    with writing_text(output) as handle:
        handle.write(text if text.endswith("\n") else text + "\n")
    note(f"wrote {output}")


def note(message: str) -> None:
    """Show one line on stderr; control characters from data are escaped."""
    with beside_bars(sys.stderr):
        print(visible(message), file=sys.stderr)


def beside_bars(stream: IO[str]) -> AbstractContextManager[None]:
    bars: Any = sys.modules.get("tqdm")
    return bars.tqdm.external_write_mode(stream) if bars else nullcontext()


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]


def near(path: Path) -> str:
    """The path relative to the current folder if inside it, to keep lines short."""
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def is_terminal(stream: IO[str]) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def open_progress() -> Progress:
    """Progress for this console, around each command; the end of ``with`` ends the bars."""
    if os.environ.get("RANK", "0") != "0":  # the first process of a distributed training speaks
        return Progress()
    if not is_terminal(sys.stderr):
        return PlainProgress(sys.stderr)
    from adducir.cli.bars import BarProgress

    return BarProgress()


@dataclass
class _Work:
    what: str
    total: int | None
    unit: str
    began: float
    before: int = 0
    done: int = 0
    next_line: float = FIRST_LINE_AFTER

    def line(self, seconds: float) -> str:
        done, rate = self.before + self.done, self.done / seconds if seconds > 0 else 0.0
        share = f" ({100 * done // self.total}%)" if self.total else ""
        amount = f"{done:,} of {self.total:,} {self.unit}" if self.total else self._counted(done)
        parts = [f"{self.what}: {amount}{share}", f"{shown_rate(self.done, seconds)} a second"]
        if self.total and rate:
            parts.append(f"{duration(max(0, self.total - done) / rate)} left")
        return ", ".join(parts)

    def last_line(self, seconds: float) -> str:
        rate = f" ({shown_rate(self.done, seconds)} a second)" if seconds >= 1 else ""
        before = f" after {self.before:,} before" if self.before else ""
        return f"{self.what}: {self._counted(self.done)}{before} in {duration(seconds)}{rate}"

    def _counted(self, number: int) -> str:
        singular = (
            f"{self.unit[:-3]}y" if self.unit.endswith("ies") else self.unit.removesuffix("s")
        )
        return f"{number:,} {singular if number == 1 else self.unit}"


def shown_rate(done: float, seconds: float) -> str:
    rate = done / seconds if seconds > 0 else 0.0
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:,.1f}" if rate >= 0.05 else "less than 0.1"


class PlainProgress(Progress):
    """Progress as lines: none for quick work, then every 5 seconds, slowing to one per minute."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._works: list[_Work] = []

    def start(self, label: str, total: int | None, unit: str) -> None:
        self._works.append(_Work(label, total, unit, self._clock()))

    def advance(self, count: int) -> None:
        for work in self._works[-1:]:
            work.done += count
            seconds = self._clock() - work.began
            if seconds >= work.next_line:
                self.note(work.line(seconds))
                wait = min(LONGEST_SILENCE, max(FIRST_LINE_AFTER, seconds / 2))
                work.next_line = seconds + wait

    def resume(self, count: int) -> None:
        for work in self._works[-1:]:
            work.before += count

    def finish(self) -> None:
        work = self._works.pop() if self._works else None
        if work is not None and work.done and not self._works:
            self.note(work.last_line(self._clock() - work.began))

    def note(self, message: str) -> None:
        print(visible(message), file=self._stream, flush=True)


def duration(seconds: float) -> str:
    """A readable duration: ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, seconds_left = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds_left} s" if minutes else f"{seconds_left} s"
    return f"{minutes // 60} h {minutes % 60} min"


def report(error: BaseException, *, debug: bool = False) -> int:
    if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
        return EXIT_READER_GONE  # rich has told Python that nobody reads
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    if isinstance(error, BrokenPipeError):
        # Makes Python's final flush of stdout succeed without a reader.
        with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
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
