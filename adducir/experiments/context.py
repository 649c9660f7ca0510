"""How steps are made, where no setting of the file says it: threads, device, what is kept."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from adducir.core.chunks import Chunking
from adducir.core.errors import UsageError
from adducir.core.executors import HERE, Execution
from adducir.core.progress import SILENT, Progress

T = TypeVar("T")


@dataclass
class Resources:
    """What of the machine, or of a cluster, steps take: nothing of it is in a fingerprint.

    Attributes:
        threads: Of a search, or of torch; None for one per core, or torch's own choice.
        device: See :func:`adducir.models.machine.choose_device`.
        batch_tokens: Padded tokens in a batch of what networks compute, trainings aside; None for
            what suits the device. Figures depend on it in their last digits.
        execution: Who makes the chunks of a step.

    Raises:
        UsageError: A number is below 1.
    """

    threads: int | None = None
    device: str = "auto"
    batch_tokens: int | None = None
    execution: Execution = HERE

    def __post_init__(self) -> None:
        for count in (self.threads, self.batch_tokens):
            if count is not None and count < 1:
                raise UsageError("threads and tokens of a batch are 1 or more.")

    def chunking(self, output: Path, *, keep: bool = True) -> Chunking:
        """How the chunks of an output are made; see :class:`.Chunking`."""
        return Chunking(output, self.execution, keep)


@dataclass
class Context(Resources):
    """What every step is handed.

    Attributes:
        shown: A path as the study's own, for notes.
        rebuild: Whether all is made anew, even what is there.
        progress: Notified of each step.
        steps: All of the plan's (:class:`.Step`), each after those that it is made from.
    """

    shown: Callable[[Path], str] = str
    rebuild: bool = False
    progress: Progress = SILENT
    steps: Sequence[Any] = ()
    _opened: dict[Hashable, Any] = field(default_factory=dict)
    _latest: dict[str, tuple[Hashable, Any]] = field(default_factory=dict)
    _described: set[str] = field(default_factory=set)
    _closing: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.clear()
        self._latest.clear()
        self._closing.close()

    def opened(self, key: Hashable, opener: Callable[[], T], close: Callable[[T], object]) -> T:
        """What several steps read, opened once and closed at the end."""
        if key not in self._opened:
            found = self._opened[key] = opener()
            self._closing.callback(close, found)
        value: T = self._opened[key]
        return value

    def latest(self, what: str, key: Hashable, builder: Callable[[], T]) -> T:
        """What steps in a row share, such as the vectors of one set of candidates.

        Of each kind, only that of the latest key is kept.
        """
        if what not in self._latest or self._latest[what][0] != key:
            self._latest.pop(what, None)
            self._latest[what] = key, builder()
        value: T = self._latest[what][1]
        return value

    def note_once(self, message: str) -> None:
        """Show the user one line, however many steps have it to show."""
        if message not in self._described:
            self._described.add(message)
            self.progress.note(message)
