"""How steps are made, where no setting of the file says it: threads, device, who does the work."""

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from adducir.core.errors import UsageError
from adducir.core.executors import HERE, Execution

if TYPE_CHECKING:
    from adducir.core.chunks import Chunking
    from adducir.models.machine import Precision
    from adducir.models.work import Running

T = TypeVar("T")


@dataclass(frozen=True)
class Context:
    """What every step is handed; nothing of it is in a fingerprint."""

    threads: int | None = None  # of a search, or of torch; None: one per core
    device: str = "auto"
    batch_tokens: int | None = None  # padded; figures depend on it in their last digits
    execution: Execution = HERE  # who makes chunks
    rebuild: bool = False  # even what is up to date
    folder: Path | None = None  # the study's, which the paths in notes start from
    _shared: dict[Hashable, tuple[Hashable, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _closing: ExitStack = field(default_factory=ExitStack, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if any(count is not None and count < 1 for count in (self.threads, self.batch_tokens)):
            raise UsageError("the numbers of threads and of tokens in a batch are 1 or more.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._shared.clear()
        self._closing.close()

    def running(self, precision: "Precision" = "float32") -> "Running":
        from adducir.models.work import Running

        return Running(self.device, self.threads, self.batch_tokens, precision, self.execution)

    def shown(self, path: Path) -> str:
        return shown(path, self.folder)

    def chunking(self, output: Path) -> "Chunking":
        from adducir.core.chunks import Chunking

        return Chunking(output, self.execution)

    def shared(self, what: Hashable, opener: Callable[[], T], key: Hashable = None) -> T:
        if what in self._shared and self._shared[what][0] != key:
            del self._shared[what]  # its memory is free before the next is opened
        if what not in self._shared:
            value = opener()
            self._shared[what] = key, value
            if hasattr(value, "close"):
                self._closing.callback(value.close)
        return self._shared[what][1]


def shown(path: Path, folder: Path | None) -> str:
    """A path as the study's own, where it lies in the study's folder."""
    is_inside = folder is not None and path.is_relative_to(folder)
    return str(path.relative_to(folder)) if folder and is_inside else str(path)
