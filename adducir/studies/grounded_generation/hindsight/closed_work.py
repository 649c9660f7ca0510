"""Closed sets in shards of contexts, made anywhere; see :mod:`adducir.core.chunks`.

A shard's file is one of closed sets (:class:`.ClosedSets`). Each worker reads the vectors of all
passages for every shard, which takes little beside ranking that many contexts by them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch

from adducir.core.chunks import Local
from adducir.encoders.maxsim import MultiVectors
from adducir.studies.grounded_generation.hindsight.closed import QUERIES, ClosedRequest, ClosedSets
from adducir.studies.grounded_generation.hindsight.context_work import Computing, ContextWork
from adducir.studies.grounded_generation.hindsight.token_work import (
    BLOCK,
    PART,
    SHARDS,
    Loader,
    Making,
    Readable,
    VectorFiles,
    encoded,
)
from adducir.studies.grounded_generation.hindsight.vectors import Numbers

SHARD = 8 * QUERIES
"""Contexts in a shard: whole runs of those that are ranked at a time."""


class ClosedComputing:
    """Closed sets by the vectors of passages in files; see :class:`.Computing`.

    Args:
        request: What they are made of.
        vectors: The vectors of passages.
        part: Blocks of passages whose vectors are held at a time.
        device: Where they are computed.
    """

    def __init__(
        self,
        request: Loader[ClosedRequest],
        vectors: VectorFiles,
        part: int,
        device: torch.device,
    ) -> None:
        self._request, self._vectors, self._part = request.get(device), vectors, part
        self._only: dict[str, MultiVectors] = {}

    def write(self, rows: Numbers, path: Path) -> None:
        self._request.ranked(rows, self._parts).save(path)

    def _parts(self, name: str) -> Iterator[MultiVectors]:
        """The parts of a side's passages; one that is the only one is kept for the next shard."""
        if len(self._vectors.blocks[name]) > self._part:
            yield from self._vectors.parts(name, self._part)
            return
        if name not in self._only:
            self._only[name] = self._vectors.read(name)
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
        IncompleteError, MachineError, ArtifactError: See :func:`.make_chunks`.
    """
    here = request.get(how.chosen())
    request = Loader(request.load, Local(here))
    passages = Loader(partial(_passages, request.load), Local(here.passages))
    counts = {name: len(texts.numbers) for name, texts in here.passages.items()}
    # What a frozen network made is multiplied by a matrix: no work to be divided.
    shards = 1 if here.model.retriever.network is None else SHARDS
    with encoded(passages, counts, how, block, shards) as (vectors, kept):
        computing = Loader[Computing](partial(ClosedComputing, request, vectors, part))
        work = ContextWork.of(computing, names, size, "ranking", how, [vectors.names, part])
        with kept.made(work) as made:
            return ClosedSets.joined([ClosedSets.load(path) for path in made.files])


def _passages(
    load: Callable[[torch.device], ClosedRequest], device: torch.device
) -> Mapping[str, Readable]:
    """In another process: the passages that are encoded."""
    return load(device).passages
