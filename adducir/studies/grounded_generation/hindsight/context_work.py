"""What is computed for contexts, in shards made anywhere; see :mod:`adducir.core.chunks`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adducir.core.executors import Place
from adducir.core.fingerprint import fingerprint
from adducir.models.artifacts import model_versions
from adducir.models.machine import device_kind, device_of_worker, settle_threads
from adducir.studies.grounded_generation.hindsight.token_work import Loader, Making


class Computing(Protocol):
    """What computes something for contexts, with all that this takes loaded."""

    def write(self, rows: NDArray[np.int64], path: Path) -> None:
        """Write the file of a shard of the contexts at these places."""


@dataclass(frozen=True)
class ContextWork:
    """Something for each context; see :mod:`adducir.core.chunks`.

    Attributes:
        computing: What computes it.
        names: The contexts' ids.
        size: Contexts in a shard.
        doing: What is done, for the progress.
        key: The fingerprint of all that determines it.
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of each worker that has a process of its own.
    """

    computing: Loader[Computing]
    names: Sequence[str]
    size: int
    doing: str = "ranking"
    key: str = ""
    device: str = "auto"
    threads: int | None = None
    unit: str = "contexts"

    @classmethod
    def of(
        cls,
        computing: Loader[Computing],
        names: Sequence[str],
        size: int,
        doing: str,
        how: Making,
        more: Any = None,
    ) -> "ContextWork":
        """The work that is made so; ``more`` determines it beside the key."""
        key = fingerprint([how.key, more])
        return cls(computing, names, size, doing, key, how.device, how.threads)

    @property
    def total(self) -> int:
        return len(self.names)

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`: all that determines the shards."""
        return {
            "key": self.key,
            "doing": self.doing,
            "contexts": fingerprint(self.names),
            "versions": model_versions(),
        }

    def check(self) -> None:
        """See :class:`.Work`: whoever made it has opened the models."""

    def items(self, *, check: bool) -> Iterator[int]:
        """See :class:`.Work`: the contexts' places."""
        del check
        return iter(range(len(self.names)))

    def describe(self, item: int) -> tuple[str, bytes]:
        """See :class:`.Work`: the contexts are those of the key."""
        return self.names[item], b""

    def builder(self, place: Place) -> "_Builder":
        return _Builder(self, place)


class _Builder:
    """What makes shards of contexts."""

    def __init__(self, work: ContextWork, place: Place) -> None:
        settle_threads(work.threads, place)
        device = device_of_worker(work.device, place)
        self.device = device_kind(device)
        self._computing = work.computing.get(device)

    def make(self, items: Sequence[int], path: Path) -> None:
        self._computing.write(np.array(items, dtype=np.int64), path)
