"""Reranking in shards: some topics each, made anywhere; see :mod:`adducir.core.chunks`.

A shard's file holds, for its topics one after another:

``order``   int64, the numbers of a topic's documents, the best first
``scores``  float64, in that order
``keys``, ``values``  what was computed, for the cache (:mod:`.cache`)
``counts``  int64, pairs or windows that were computed, and those that were known
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adducir.core.chunks import TEMPORARY, Chunking, make_chunks
from adducir.core.executors import Place
from adducir.models.arrays import read_shard, write_shard
from adducir.models.artifacts import model_versions
from adducir.models.batches import batch_rule
from adducir.models.machine import device_kind, device_of_worker, settle_threads
from adducir.rerankers.asking import Ranked, asking
from adducir.rerankers.cache import KnownScores, ScoreCache
from adducir.rerankers.candidates import CandidateFile, Candidates, CandidateTable
from adducir.rerankers.registry import Reranker
from adducir.rerankers.texts import Texts

PAIRS = 1024
"""Documents in a shard, where all topics have as many: what a kill can lose."""

_KNOWN = "known.safetensors"
_TOPICS = "topics.jsonl"


def score_identity(reranker: Reranker) -> dict[str, Any]:
    """All that determines scores, beside the kind of device and what stands in a batch."""
    return {
        "reranker": reranker.identity,
        "batches": batch_rule(reranker.recipe.batch_tokens),
        "versions": model_versions(),
    }


@dataclass(frozen=True)
class RerankingWork:
    """New orders of topics' documents; see :mod:`adducir.core.chunks`.

    Attributes:
        known: The file of the scores that are known; None for none.
        threads: Of each worker that has a process of its own.
        size: Topics in a shard; the windows of a topic do not depend on other topics.
    """

    reranker: Reranker
    topics: CandidateTable | CandidateFile
    texts: Texts
    size: int
    known: Path | None = None
    threads: int | None = None
    doing: str = "reranking"
    unit: str = "topics"

    @property
    def total(self) -> int:
        return len(self.topics)

    def identity(self) -> Mapping[str, Any]:
        """See :class:`.Work`: with the topics, it is all that determines the new orders."""
        return {
            **score_identity(self.reranker),
            "passages": self.reranker.recipe.passages.model_dump(mode="json"),
            "size": self.size,
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "topics": ()}  # a worker is given its own

    def check(self) -> None:
        """See :class:`.Work`; where all is known the model need not be there."""
        if self.reranker.recipe.base and self.known is None:
            self.reranker.source.local_tokenizer()

    def items(self, *, check: bool) -> Iterator[Candidates]:
        del check
        return iter(self.topics)

    def describe(self, item: Candidates) -> tuple[str, bytes]:
        """See :class:`.Work`: query, docnos and texts."""
        content = [item.query, item.docnos, self.texts.get(item.docnos)]
        return item.qid, json.dumps(content).encode("ascii")

    def builder(self, place: Place) -> "_Builder":
        return _Builder(self, place)


class _Builder:
    """A reranker that makes shards; its model is loaded when a score is not known."""

    def __init__(self, work: RerankingWork, place: Place) -> None:
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
    """The new orders of all topics, one behind the other.

    Attributes:
        order: (n,) numbers of each topic's documents, the best first.
        scores: (n,) float64, in that order.
        sizes: (T,) how many documents each topic has.
        computed: Pairs of query and passage, or windows, that the model was asked for.
        cached: Those whose result was known.
        seconds: How long the chunks took, all together.
        device: The kind of device that computed them.
    """

    order: NDArray[np.int64]
    scores: NDArray[np.float64]
    sizes: NDArray[np.int64]
    computed: int
    cached: int
    seconds: float
    device: str

    def ranked(self) -> list[Ranked]:
        """Order and scores of each topic."""
        ends = np.cumsum(self.sizes)[:-1]
        return list(zip(np.split(self.order, ends), np.split(self.scores, ends), strict=True))


def reorder(
    topics: CandidateTable,
    texts: Texts,
    reranker: Reranker,
    chunking: Chunking = TEMPORARY,
    *,
    cache: Path | None = None,
    threads: int | None = None,
) -> Reordered:
    """Put the documents of topics in a new order, in shards.

    Args:
        topics: Each has a document at least.
        cache: The folder for scores; None for none.

    Raises:
        InputError: A document is not there.
        IncompleteError, MachineError, ArtifactError: See :func:`.make_chunks`.
    """
    sizes = topics.sizes
    # The windows of a topic have no part in another's batches.
    size = 1 if reranker.is_listwise else max(1, PAIRS // int(sizes.max(initial=1)))
    work = RerankingWork(reranker, topics, texts, size, threads=threads)
    kept = None if cache is None else ScoreCache(cache, score_identity(reranker))
    with chunking.folder(work, is_cached=kept is not None) as folder:
        if kept is not None:
            # What is known when the first chunk is made is what all workers know.
            if not (folder / _KNOWN).is_file():
                kept.load().save(folder / _KNOWN)
            work = replace(work, known=folder / _KNOWN)
        made = make_chunks(work, folder, chunking.execution)
        found = _united(made.files)
        if kept is not None:
            kept.add(found["keys"], found["values"])
    computed, cached = found["counts"].reshape(-1, 2).sum(axis=0).tolist()
    return Reordered(
        found["order"], found["scores"], sizes, computed, cached, made.seconds, made.device
    )


def _united(files: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """The arrays of all shards, each one behind the other."""
    shards = [
        {
            "order": np.zeros(0, dtype=np.int64),
            "scores": np.zeros(0),
            "keys": np.zeros((0, 2), dtype=np.uint64),
            "values": np.zeros(0),
            "counts": np.zeros(0, dtype=np.int64),
        },
        *map(read_shard, files),
    ]
    return {name: np.concatenate([one[name] for one in shards]) for name in shards[0]}
