"""What a kind of long work gives so that it can be made in chunks; see :mod:`.chunks`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from adducir.core.executors import Place
from adducir.core.progress import Progress

if TYPE_CHECKING:
    from adducir.core.chunks import Made

ANY = "any"
"""The kind of device of chunks whose bytes no device determines."""


@dataclass(frozen=True)
class Local:
    """What only this process has, such as a model that is loaded: another process gets none."""

    value: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Local, ()


NOT_LOADED = Local()
"""Nothing: each worker loads what it needs."""


class Builder(Protocol):
    """What makes chunks, with all that it needs (a model) loaded."""

    @property
    def device(self) -> str:
        """The kind of device that computes, as far as it determines bytes."""

    def make(self, items: Sequence[Any], path: Path) -> None:
        """Write the file of a chunk of these items; its bytes depend on nothing else.

        Raises:
            InputError: These data cannot be processed; other chunks may be.
            MachineError: The machine lacks memory or space: nothing more is tried.
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
        """Items in a chunk."""

    @property
    def name(self) -> str:
        """What chunks' files are called in an artifact, with a place for the number."""

    @property
    def total(self) -> int | None:
        """How many items there are; None where that is not known."""

    def identity(self) -> Mapping[str, Any]:
        """What determines the bytes of chunks beside their items and the artifact's fingerprint."""

    def check(self) -> None:
        """Refuse what no builder could load, as far as that can be seen at little cost."""

    def items(self, *, check: bool) -> Iterator[Any]:
        """All items, anew at each call and in the same order; streamed where that is possible.

        Args:
            check: Refuse items that cannot be together, such as two of one name.
        """

    def describe(self, item: Any) -> tuple[str, bytes]:
        """An item's name (a docno) and its content."""

    def builder(self, place: Place) -> Builder:
        """Load what is needed."""


class ArtifactWork(Work, Protocol):
    """Work whose chunks make an artifact."""

    def finish(self, folder: Path, made: "Made", progress: Progress) -> Mapping[str, Any]:
        """Fill an artifact's folder from the chunks; returns its counts."""
