"""Ranks of gold items in shards of contexts; see :mod:`adducir.core.chunks`.

Contexts are ranked in blocks with all of their candidates, as many as are ranked at a time anyway:
which of them are together determines the last digits of scores. A shard is such a block, or several
short ones. What ranks them is the system's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from adducir.core.chunks import NOT_LOADED, Chunking, Local
from adducir.core.executors import Place
from adducir.core.fingerprint import fingerprint
from adducir.encoders.ranking import ContextRanks, SpanTask
from adducir.evaluation.gold_ranks import GoldRanks
from adducir.evaluation.rouge import rouge_l
from adducir.models.arrays import read_shard, write_shard
from adducir.models.machine import settle_threads

BLOCK = 1 << 22
"""Scores that are held at a time: 16 MB."""


class Contexts(NamedTuple):
    """The contexts ``first`` to ``end`` - 1 of a task."""

    task: int
    first: int
    end: int


class Ranker(Protocol):
    """What ranks contexts of some tasks."""

    device: str

    def rank(self, some: Contexts) -> ContextRanks:
        """Where their gold items stand; ``first`` is a number among the different candidates."""


@dataclass(frozen=True)
class RankingWork:
    """Ranks of all contexts of some tasks; see :mod:`adducir.core.chunks`."""

    load: Callable[[], Ranker]
    names: Sequence[str]
    sizes: Sequence[tuple[int, int]]
    key: str = ""
    loaded: Local = NOT_LOADED
    threads: int | None = None
    block: int = BLOCK
    doing: str = "ranking"
    unit: str = "blocks"

    @property
    def total(self) -> int:
        return sum(1 for _ in self.items(check=False))

    @property
    def size(self) -> int:
        """See :class:`.Work`: as many as have the scores of a full block, on average."""
        scores = sum(contexts * candidates for contexts, candidates in self.sizes)
        return max(1, self.total // max(1, -(-scores // self.block)))

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`: all that determines the ranks."""
        names = fingerprint(self.names)
        return {"key": self.key, "contexts": names, "sizes": self.sizes, "block": self.block}

    def check(self) -> None:
        """See :class:`.Work`: whoever made it has what the ranker reads."""

    def items(self, *, check: bool) -> Iterator[Contexts]:
        del check
        for task, (contexts, candidates) in enumerate(self.sizes):
            step = max(1, self.block // max(candidates, 1))
            for first in range(0, contexts, step):
                yield Contexts(task, first, min(first + step, contexts))

    def describe(self, item: Contexts) -> tuple[str, bytes]:
        """See :class:`.Work`: the contexts are those of the key."""
        before = sum(contexts for contexts, _ in self.sizes[: item.task])
        first, last = (self.names[before + one] for one in (item.first, item.end - 1))
        return first if first == last else f"{first} to {last}", b""

    def builder(self, place: Place) -> "_Builder":
        return _Builder(self, place)


class _Builder:
    """What makes shards of ranks."""

    def __init__(self, work: RankingWork, place: Place) -> None:
        settle_threads(work.threads, place)
        self._ranker: Ranker = work.loaded.value or work.load()
        self.device = self._ranker.device

    def make(self, items: Sequence[Contexts], path: Path) -> None:
        write_shard(path, _joined([vars(self._ranker.rank(item)) for item in items]))


def ranked(work: RankingWork, tasks: Sequence[SpanTask], chunking: Chunking) -> GoldRanks:
    """The ranks of all tasks."""
    with chunking.made(work) as made:
        whole = _joined([read_shard(path) for path in made.files])
    ends = np.cumsum([contexts for contexts, _ in work.sizes])[:-1]
    each = {name: np.split(values, ends) for name, values in whole.items()}
    found = [
        ContextRanks(**{name: parts[place] for name, parts in each.items()})
        for place in range(len(tasks))
    ]
    return gold_ranks(tasks, found)


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The arrays of several parts, one behind the other; what all lack is left out."""
    names = [name for name, values in parts[0].items() if values is not None]
    return {name: np.concatenate([one[name] for one in parts]) for name in names}


def listed_sizes(tasks: Sequence[SpanTask]) -> tuple[list[str], list[tuple[int, int]]]:
    """The ids of all contexts, and each task's contexts and different candidates, counted."""
    names = [span.id for task in tasks for span in task.spans]
    return names, [(len(task.spans), len(task.same.firsts)) for task in tasks]


def gold_ranks(tasks: Sequence[SpanTask], found: Sequence[ContextRanks]) -> GoldRanks:
    """The ranks of all tasks together, with the contexts' keys and ROUGE-L."""
    names = list(tasks[0].keys)
    near = [
        rouge_l(task.texts[gold], task.texts[first])
        for task, one in zip(tasks, found, strict=True)
        if one.first is not None
        for gold, first in zip(
            task.gold.tolist(), task.same.firsts[one.first].tolist(), strict=True
        )
    ]
    return GoldRanks(
        tuple(span.id for task in tasks for span in task.spans),
        np.concatenate([one.better for one in found]),
        np.concatenate([one.tied for one in found]),
        np.concatenate([one.candidates for one in found]),
        {name: tuple(value for task in tasks for value in task.keys[name]) for name in names},
        rouge=np.array(near) if near else None,
    )
