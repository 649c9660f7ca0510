"""How steps are made, where no setting of the file says it: threads, device, what is kept."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from adducir.core.errors import UsageError
from adducir.core.progress import SILENT, Progress
from adducir.core.sharding.execution import Execution
from adducir.core.sharding.executors.part import Part
from adducir.core.sharding.gathering import Sharding

T = TypeVar("T")


@dataclass
class Resources:
    """What of the machine, or of a cluster, steps take.

    Attributes:
        threads: Of a search, or of torch; None for one per core, or torch's own choice.
        device: See :func:`adducir.models.machine.choose_device`.
        workers: Processes that make the shards of one step.
        ray: The address of a Ray cluster that makes them.
        processes: Processes that train one model together.
        batch_tokens: Padded tokens in a batch of what networks compute, trainings aside; None for
            what suits the device. Figures depend on it in their last digits.
        mixed_devices: Accept shards of one step that unlike kinds of devices made.
        part: Make this part of the shards, and no step.
        only_finish: Make no shard: put together those that are made.

    Raises:
        UsageError: A number is below 1, or there are workers beside a cluster.
    """

    threads: int | None = None
    device: str = "auto"
    workers: int = 1
    ray: str | None = None
    processes: int = 1
    batch_tokens: int | None = None
    mixed_devices: bool = False
    part: Part | None = None
    only_finish: bool = False

    def __post_init__(self) -> None:
        _ = self.execution  # refuses what excludes each other
        for count in (self.threads, self.processes, self.batch_tokens):
            if count is not None and count < 1:
                raise UsageError("threads, processes and tokens of a batch are 1 or more.")

    @property
    def execution(self) -> Execution:
        """Who makes the shards of a step."""
        return Execution(self.workers, self.part, self.ray, self.mixed_devices, self.only_finish)

    def sharding(self, output: Path, *, is_locked: bool = False, is_last: bool = True) -> Sharding:
        """How shards of an output are made that is no artifact of shards; see :class:`.Sharding`.

        Where parts are made, whoever ends the output removes its shards, as for an artifact.
        """
        in_parts = self.part is not None or self.only_finish
        return Sharding(output, self.execution, is_locked or in_parts, is_last)


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
