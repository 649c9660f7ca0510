"""How steps are made, where no setting of the file says it: threads, device, what is kept."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from adducir.core.errors import UsageError
from adducir.core.executors import HERE, Execution
from adducir.core.progress import progress

if TYPE_CHECKING:
    from adducir.core.chunks import Chunking

T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    """What every step is handed; nothing of it is in a fingerprint.

    Attributes:
        threads: Of a search, or of torch; None for one per core, or torch's own choice.
        device: See :func:`adducir.models.machine.choose_device`.
        batch_tokens: Padded tokens in a batch of what networks compute, trainings aside; None for
            what suits the device. Figures depend on it in their last digits.
        execution: Who makes the chunks of a step.
        rebuild: Whether all is made anew, even what is there.
        shown: A path as the study's own, for notes.
        steps: All of the plan's, each after those that it is made from.

    Raises:
        UsageError: A number is below 1.
    """

    threads: int | None = None
    device: str = "auto"
    batch_tokens: int | None = None
    execution: Execution = HERE
    rebuild: bool = False
    shown: Callable[[Path], str] = field(default=str, repr=False)
    steps: Sequence[Any] = field(default=(), repr=False)
    _shared: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)
    _closing: ExitStack = field(default_factory=ExitStack, init=False, repr=False)

    def __post_init__(self) -> None:
        for count in (self.threads, self.batch_tokens):
            if count is not None and count < 1:
                raise UsageError("threads and tokens of a batch are 1 or more.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._shared.clear()
        self._closing.close()

    def chunking(self, output: Path, *, keep: bool = True) -> "Chunking":
        """How the chunks of an output are made; see :class:`.Chunking`."""
        from adducir.core.chunks import Chunking

        return Chunking(output, self.execution, keep)

    def opened(self, key: Hashable, opener: Callable[[], T], close: Callable[[T], object]) -> T:
        """What several steps read, opened once and closed at the end."""
        if key not in self._shared:
            found = self._shared[key] = opener()
            self._closing.callback(close, found)
        value: T = self._shared[key]
        return value

    def latest(self, what: str, key: Hashable, builder: Callable[[], T]) -> T:
        """What steps in a row share, such as the candidates' vectors: only the latest is kept."""
        if self._shared.get(what, (None,))[0] != key:
            self._shared.pop(what, None)  # its memory is free before the next is built
            self._shared[what] = key, builder()
        value: T = self._shared[what][1]
        return value

    def note_once(self, message: str) -> None:
        """Show the user one line, however many steps have it to show."""
        if self._shared.setdefault(("noted", message), message) is not None:
            self._shared["noted", message] = None
            progress().note(message)
