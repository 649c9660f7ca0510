"""What a kind of work must give so that it can be made in shards, by any executor."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from adducir.core.progress import Progress
from adducir.core.sharding.made import Made


@dataclass(frozen=True)
class WorkerPlace:
    """Where a worker stands among those that work side by side on one machine.

    Attributes:
        number: From 0 on: which of several GPUs it takes.
        count: How many there are; cores are divided among them.
        is_alone: Whether it has its process to itself, and may settle how that computes.
    """

    number: int = 0
    count: int = 1
    is_alone: bool = False


@dataclass(frozen=True)
class Local:
    """What only this process has, such as a model that is loaded: another process gets none."""

    value: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Local, ()


NOT_LOADED = Local()
"""Nothing: each worker loads what it needs."""


ANY = "any"
"""The kind of device where no device determines bytes: texts alone are computed with."""


class Builder(Protocol):
    """What makes shards, with all that it needs (a model) loaded."""

    @property
    def device(self) -> str:
        """The kind of device that computes, as far as it determines bytes."""

    def make(self, items: Sequence[Any], path: Path) -> None:
        """Write the file of a shard of these items; its bytes depend on nothing else.

        Raises:
            InputError: Its data cannot be done.
            MachineError: The machine lacks memory or space: nothing more is to be tried.
        """


class Work(Protocol):
    """Long work on a sequence of items; it can be pickled, and is small."""

    @property
    def doing(self) -> str:
        """What is done, for the progress: ``encoding``."""

    @property
    def unit(self) -> str:
        """What the items are called: ``texts``."""

    @property
    def size(self) -> int:
        """Items in a shard."""

    @property
    def name(self) -> str:
        """How shards' files are called in the artifact, with a place for the number."""

    @property
    def total(self) -> int | None:
        """How many items there are; None where that is not known."""

    def identity(self) -> Mapping[str, Any]:
        """What determines the bytes of shards beside the artifact's fingerprint.

        Such as the rule of batches and the versions of libraries: shards of one artifact that
        differ in it are not taken together.
        """

    def check(self) -> None:
        """Refuse what no builder could load, as far as that can be seen at little cost.

        It comes before anything is read or noted, also for a part that no shard falls to.

        Raises:
            AdducirError: It cannot be loaded.
        """

    def items(self, *, check: bool) -> Iterator[Any]:
        """All items, anew at each call and in the same order; streamed where that is possible.

        Args:
            check: Refuse items that cannot be together, such as two of one name.

        Raises:
            InputError: One cannot be read.
        """

    def describe(self, item: Any) -> tuple[str, bytes]:
        """An item's name (a docno) and its content."""

    def builder(self, place: WorkerPlace) -> Builder:
        """Load what is needed.

        Raises:
            AdducirError: It cannot be loaded: no shard can be made.
        """


class ArtifactWork(Work, Protocol):
    """Work whose shards make an artifact."""

    def finish(self, folder: Path, made: Made, progress: Progress) -> Mapping[str, Any]:
        """Fill an artifact's folder from the shards, all of which were checked.

        Returns:
            The artifact's counts.
        """
