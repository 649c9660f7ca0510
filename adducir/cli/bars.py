"""Progress on a terminal."""

import shutil
import sys
from typing import Any

from tqdm import tqdm

from adducir.core.progress import Progress
from adducir.core.texts import visible


class BarProgress(Progress):
    """Progress bars with rate and remaining time, on a terminal."""

    def __init__(self) -> None:
        self._bars: list[tqdm[Any]] = []

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        while self._bars:
            self.finish()

    def start(self, what: str, total: int | None, unit: str) -> None:
        ncols, nrows = shutil.get_terminal_size()
        room: dict[str, Any] = {"file": sys.stderr, "ncols": ncols, "nrows": nrows}
        inside = {"delay": 2, "leave": False} if self._bars else {}
        bar = tqdm(desc=visible(what), total=total, unit=f" {unit}", **room, **inside)
        self._bars.append(bar)

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
        if self._bars:
            self._bars[-1].write(visible(message), file=sys.stderr)
        else:
            print(visible(message), file=sys.stderr)
