"""Progress on a terminal."""

import shutil
import sys
import threading
import time
from typing import Any, Self

from tqdm import tqdm

from adducir.core.progress import Progress
from adducir.core.texts import visible

TICK = 1.0
"""Seconds between redraws, even if no progress is reported."""


def _bar(**options: Any) -> "tqdm[Any]":
    ncols, nrows = shutil.get_terminal_size()
    return tqdm(file=sys.stderr, ncols=ncols, nrows=nrows, **options)


class BarProgress(Progress):
    """Progress bars with rate and remaining time, on a terminal; without a bar, a clock."""

    def __init__(self) -> None:
        self._bars: list[tqdm[Any]] = []
        self._clock: tqdm[Any] | None = None
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._tick, daemon=True).start()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.rest()
        while self._bars:
            self.finish()

    def rest(self) -> None:
        self._ended.set()
        self._hide_clock()

    def _tick(self) -> None:
        while not self._ended.wait(TICK):
            with tqdm.get_lock():
                if not self._bars and self._clock is None and not self._ended.is_set():
                    look = {"bar_format": "{desc}: {elapsed}", "leave": False}
                    self._clock = _bar(desc="working", **look)
                for shown in reversed([self._clock, *self._bars]):
                    if shown is None or time.time() < shown.start_t + shown.delay:
                        continue  # a bar that waits leaves the clock's place to the one around it
                    shown.refresh()
                    # Else tqdm takes a late bar for one that was not shown, and leaves its line.
                    shown.last_print_t = max(shown.last_print_t, shown.start_t + shown.delay)
                    break

    def _hide_clock(self) -> None:
        with tqdm.get_lock():
            if self._clock is not None:
                self._clock.close()
            self._clock = None

    def start(self, label: str, total: int | None, unit: str) -> None:
        with tqdm.get_lock():
            self._hide_clock()
            inside = {"delay": 2, "leave": False} if self._bars else {}
            self._bars.append(_bar(desc=visible(label), total=total, unit=f" {unit}", **inside))

    def advance(self, count: int) -> None:
        for bar in self._bars[-1:]:
            bar.update(count)

    def resume(self, count: int) -> None:
        for bar in self._bars[-1:]:
            bar.initial += count  # not counted in the rate
            bar.update(count)

    def finish(self) -> None:
        if self._bars:
            self._bars.pop().close()

    def note(self, message: str) -> None:
        tqdm.write(visible(message), file=sys.stderr)
