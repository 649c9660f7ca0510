"""Reranking in shards: some topics each, made anywhere; see :mod:`adducir.core.sharding`.

A shard's file holds, for its topics one after another:

``order``   int64, the numbers of a topic's documents, the best first
``scores``  float64, in that order
``keys``, ``values``  what was computed, for the cache (:mod:`.cache`)
``counts``  int64, pairs or windows that were computed, and those that were known
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adducir.core.progress import SILENT, Progress
from adducir.core.sharding.gathering import Sharding
from adducir.core.sharding.plan import digest_of
from adducir.core.sharding.work import WorkerPlace
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import device_kind, device_of_worker, settle_threads
from adducir.models.shards import read_shard, write_shard
from adducir.rerankers.asking import Ranked, asking
from adducir.rerankers.cache import KnownScores, ScoreCache
from adducir.rerankers.registry import Reranker
from adducir.rerankers.texts import Texts

PAIRS = 1024
"""Documents in a shard, where all topics have as many: what a kill can lose."""

_KNOWN = "known.safetensors"
_NEW = ("keys", "values")


class Candidates(NamedTuple):
    """A query with the documents that are put in a new order."""

    qid: str
    query: str
    docnos: list[str]


def score_identity(reranker: Reranker) -> dict[str, Any]:
    """All that determines scores, beside the kind of device and what stands in a batch."""
    return {
        "reranker": reranker.identity,
        "batches": batch_rule(reranker.recipe.batch_tokens),
        "versions": model_versions(),
    }


@dataclass(frozen=True)
class RerankingWork:
    """New orders of topics' documents; see :class:`adducir.core.sharding.work.Work`.

    Attributes:
        known: The file of the scores that are known; None for none.
        threads: Of each worker that has a process of its own.
        size: Topics in a shard; the windows of a topic do not depend on other topics.
    """

    reranker: Reranker
    topics: Sequence[Candidates]
    texts: Texts
    size: int
    known: Path | None = None
    threads: int | None = None
    doing: str = "reranking"
    unit: str = "topics"
    name: str = "reranked-{:06d}.safetensors"

    @property
    def total(self) -> int:
        """See :class:`.Work`."""
        return len(self.topics)

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`: with the topics, it is all that determines the new orders."""
        return {
            **score_identity(self.reranker),
            "passages": self.reranker.recipe.passages.model_dump(mode="json"),
            "topics": digest_of(self.topics, self.describe),
            "size": self.size,
        }

    def check(self) -> None:
        """See :class:`.Work`; where all is known the model need not be there."""
        if self.reranker.recipe.base and self.known is None:
            self.reranker.source.local_tokenizer()

    def items(self, *, check: bool) -> Iterator[Candidates]:
        """See :class:`.Work`."""
        del check
        return iter(self.topics)

    def describe(self, item: Candidates) -> tuple[str, bytes]:
        """See :class:`.Work`: query, docnos and texts."""
        content = [item.query, item.docnos, self.texts.get(item.docnos)]
        return item.qid, json.dumps(content).encode("ascii")

    def builder(self, place: WorkerPlace) -> "_Builder":
        """See :class:`.Work`."""
        return _Builder(self, place)


class _Builder:
    """A reranker that makes shards; its model is loaded when a score is not known."""

    def __init__(self, work: RerankingWork, place: WorkerPlace) -> None:
        settle_threads(work.threads, place)
        device = device_of_worker(work.reranker.device, place)
        self.device = device_kind(device)
        self._texts = work.texts
        self._reranker = work.reranker
        if place.is_alone:
            self._reranker = replace(work.reranker, device=str(device))
        arrays = {} if work.known is None else read_shard(work.known)
        self._known = KnownScores(**arrays)

    def make(self, items: Sequence[Candidates], path: Path) -> None:
        """See :class:`adducir.core.sharding.work.Builder`."""
        asked = asking(self._reranker, self._known)
        found = list(asked.ranked((one.query, self._texts.get(one.docnos)) for one in items))
        keys, values = asked.new
        arrays = {
            "order": np.concatenate([order for order, _ in found]),
            "scores": np.concatenate([scores for _, scores in found]),
            "keys": keys,
            "values": values,
            "counts": np.array([asked.computed, asked.cached]),
        }
        write_shard(path, arrays)


@dataclass(frozen=True)
class Reordered:
    """The new orders of all topics.

    Attributes:
        ranked: Of each topic.
        computed: Pairs of query and passage, or windows, that the model was asked for.
        cached: Those whose result was known.
        seconds: How long the shards took, all together.
        devices: How many shards each kind of device made.
    """

    ranked: list[Ranked]
    computed: int
    cached: int
    seconds: float
    devices: Mapping[str, int]


def reorder(
    topics: Iterable[Candidates],
    texts: Texts,
    reranker: Reranker,
    sharding: Sharding,
    *,
    cache: Path | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> Reordered:
    """Put the documents of topics in a new order, in shards.

    Args:
        topics: Each has a document at least.
        cache: The folder for scores; None for none.

    Raises:
        InputError: A document is not there.
        IncompleteError, MachineError, ArtifactError, PartMade: See :meth:`.Sharding.made`.
    """
    asked = list(topics)
    most = max((len(one.docnos) for one in asked), default=1)
    # The windows of a topic have no part in another's batches.
    size = 1 if reranker.is_listwise else max(1, PAIRS // most)
    work = RerankingWork(reranker, asked, texts, size, threads=threads)
    kept = None if cache is None else ScoreCache(cache, score_identity(reranker), progress)
    folder = sharding.folder(work, is_cached=kept is not None)
    if kept is not None:
        # What is known when the first shard is planned is what all workers know.
        if not (folder / _KNOWN).is_file():
            kept.load().save(folder / _KNOWN)
        work = replace(work, known=folder / _KNOWN)
    with sharding.made(folder, work, progress) as made:
        shards = [read_shard(path) for path in made.files]
        if kept is not None and shards:
            kept.add(
                *(np.concatenate([one[name] for one in shards]) for name in ("keys", "values"))
            )
    sizes = [len(one.docnos) for one in asked]
    computed, cached = (sum(int(one["counts"][place]) for one in shards) for place in (0, 1))
    orders, scores = (_of_topics(shards, name, sizes) for name in ("order", "scores"))
    ranked = list(zip(orders, scores, strict=True))
    return Reordered(ranked, computed, cached, made.seconds, made.devices)


def _of_topics(shards: Sequence[Mapping[str, Any]], name: str, sizes: Sequence[int]) -> list[Any]:
    """An array of the shards, cut into the topics' parts."""
    whole = np.concatenate([np.zeros(0, dtype=np.int64), *(one[name] for one in shards)])
    return np.split(whole, np.cumsum(sizes)[:-1]) if sizes else []
