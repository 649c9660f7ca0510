"""Closed sets in shards of contexts, made anywhere; see :mod:`adducir.core.sharding`.

A shard's file is one of closed sets (:class:`.ClosedSets`). Each worker reads the vectors of all
passages for every shard, which takes little beside ranking that many contexts by them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adducir.core.fingerprint import fingerprint
from adducir.core.sharding.work import Local, WorkerPlace
from adducir.encoders.maxsim import MultiVectors
from adducir.encoders.token_work import (
    BLOCK,
    PART,
    SHARDS,
    Loader,
    Making,
    Readable,
    VectorFiles,
    encoded,
)
from adducir.hindsight.closed import QUERIES, ClosedRequest, ClosedSets
from adducir.models.artifacts import model_versions
from adducir.models.machine import device_kind, device_of_worker, settle_threads

SHARD = 8 * QUERIES
"""Contexts in a shard: whole runs of those that are ranked at a time."""


@dataclass(frozen=True)
class ClosedWork:
    """Closed sets of contexts; see :class:`adducir.core.sharding.work.Work`.

    Attributes:
        request: What they are made of.
        vectors: The vectors of passages.
        names: The contexts' ids.
        key: The fingerprint of all that determines the sets beside these vectors.
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of each worker that has a process of its own.
        part: Blocks of passages whose vectors are held at a time.
    """

    request: Loader[ClosedRequest]
    vectors: VectorFiles
    names: Sequence[str]
    key: str = ""
    device: str = "auto"
    threads: int | None = None
    part: int = PART
    size: int = SHARD
    doing: str = "ranking"
    unit: str = "contexts"
    name: str = "closed-{:06d}.safetensors"

    @property
    def total(self) -> int:
        """See :class:`.Work`."""
        return len(self.names)

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`: all that determines the sets."""
        files = {
            name: [[part.path.name for part in block] for block in blocks]
            for name, blocks in self.vectors.blocks.items()
        }
        return {
            "key": self.key,
            "contexts": fingerprint(self.names),
            "vectors": files,
            "part": self.part,
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

    def builder(self, place: WorkerPlace) -> "_Builder":
        """See :class:`.Work`."""
        return _Builder(self, place)


class _Builder:
    """What makes shards of closed sets."""

    def __init__(self, work: ClosedWork, place: WorkerPlace) -> None:
        settle_threads(work.threads, place)
        device = device_of_worker(work.device, place)
        self.device = device_kind(device)
        self._work, self._request = work, work.request.get(device)
        self._only: dict[str, MultiVectors] = {}

    def make(self, items: Sequence[int], path: Path) -> None:
        """See :class:`adducir.core.sharding.work.Builder`."""
        self._request.ranked(np.array(items), self._parts).save(path)

    def _parts(self, name: str) -> Iterator[MultiVectors]:
        """The parts of a side's passages; one that is the only one is kept for the next shard."""
        files, size = self._work.vectors, self._work.part
        if len(files.blocks[name]) > size:
            yield from files.parts(name, size)
            return
        if name not in self._only:
            self._only[name] = files.read(name)
        yield self._only[name]


def closed_sets(
    request: Loader[ClosedRequest],
    names: Sequence[str],
    how: Making,
    *,
    block: int = BLOCK,
    part: int = PART,
    size: int = SHARD,
) -> ClosedSets:
    """Rank passages for contexts with the weights as they are.

    Args:
        request: What they are made of.
        names: (n,) the contexts' ids.
        how: How shards are made.
        block: Passages in a block, whose batches are cut by themselves.
        part: Blocks whose vectors are held at a time.
        size: Contexts in a shard.

    Raises:
        IncompleteError, MachineError, ArtifactError: See :meth:`.Sharding.made`.
    """
    here = request.get(how.chosen())
    request = Loader(request.load, Local(here))
    passages = Loader(partial(_passages, request.load), Local(here.passages))
    counts = {name: len(texts.numbers) for name, texts in here.passages.items()}
    # What a frozen network made is multiplied by a matrix: no work to be divided.
    shards = 1 if here.model.retriever.network is None else SHARDS
    with encoded(passages, counts, how, block, shards) as (vectors, kept):
        given = request, vectors, names, how.key, how.device, how.threads, part, size
        work = ClosedWork(*given)
        with kept.made(kept.folder(work), work, how.progress) as made:
            return ClosedSets.joined([ClosedSets.load(path) for path in made.files])


def _passages(
    load: Callable[[torch.device], ClosedRequest], device: torch.device
) -> Mapping[str, Readable]:
    """In another process: the passages that are encoded."""
    return load(device).passages
