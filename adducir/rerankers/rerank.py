"""A run's best documents put in a new order; the rest keeps its own, below them.

Scores of a reranker and of the run before it are on different scales and are never mixed: the
documents below the depth get scores below the lowest of the reranker's, in steps of 1 (after a
listwise one, 1/rank goes on). Of equal scores, the document that stood higher stays higher.

Topics are reranked in chunks that can be made anywhere (:mod:`adducir.core.chunks`).
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.chunks import TEMPORARY, Chunking, make_chunks
from adducir.core.errors import InputError, UsageError
from adducir.corpora.topics import Topics
from adducir.models.arrays import read_shard
from adducir.models.machine import choose_device, device_kind
from adducir.models.work import ModelWork
from adducir.rerankers.cache import KnownScores, ScoreCache, pair_keys
from adducir.rerankers.recipe import Pair, Pointwise
from adducir.rerankers.registry import Reranker
from adducir.rerankers.texts import Texts
from adducir.runs.run import Run

if TYPE_CHECKING:
    import torch

DEPTH = 100
PAIRS = 1024
"""Documents in a chunk, where all topics have as many: what a kill can lose."""

_KNOWN = "known.safetensors"
_EMPTY: dict[str, NDArray[Any]] = {
    "order": np.zeros(0, dtype=np.int64),
    "scores": np.zeros(0),
    "keys": np.zeros((0, 2), dtype=np.uint64),
    "values": np.zeros(0),
    "counts": np.zeros(0, dtype=np.int64),
}
"""What a chunk holds: of its topics the orders and scores; what was computed, for the cache; and
how many pairs or windows were computed, and how many were known."""


class Candidates(NamedTuple):
    """A query with the documents that are put in a new order."""

    qid: str
    query: str
    docnos: Sequence[str]


@dataclass(frozen=True)
class Reordered:
    """The new orders of all topics, concatenated.

    Attributes:
        order: (n,) numbers of each topic's documents, the best first.
        scores: (n,) float64, in that order.
        sizes: (T,) how many documents each topic has.
        computed: Pairs of query and text, or windows, that the model was asked for.
        cached: Those whose result was known.
        seconds: How long the chunks took, all together, wherever they were made.
    """

    order: NDArray[np.int64]
    scores: NDArray[np.float64]
    sizes: NDArray[np.int64]
    computed: int
    cached: int
    seconds: float


@dataclass
class Reranked:
    """A run in its new order, and what there is to say about it.

    Attributes:
        computed, cached, work_seconds: As of :class:`Reordered`.
        seconds: How long all of it took, here.
        settings: Model, depth, score scale and batches, for the run's metadata.
    """

    run: Run
    computed: int = 0
    cached: int = 0
    seconds: float = 0.0
    work_seconds: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)


def rerank(
    run: Run,
    topics: Topics,
    texts: Texts,
    reranker: Reranker,
    *,
    depth: int = DEPTH,
    tag: str | None = None,
    cache: Path | None = None,
    threads: int | None = None,
    chunking: Chunking = TEMPORARY,
) -> Reranked:
    """Rerank a run to a depth.

    Args:
        run: The candidates.
        topics: Their queries; topics that the run lacks are ignored.
        depth: Documents per topic that are put in a new order.
        tag: The new run's; by default the old one's with the reranker's name.
        cache: The folder for scores; None for none. Scores that are there are not computed again.
        threads: Of each worker that has a process of its own.
        chunking: Who reranks, and beside which output chunks are kept.
    """
    if depth < 1:
        raise UsageError(f"the depth is at least 1, not {depth}.")
    began = time.perf_counter()
    queries = dict(zip(topics.qids, topics.texts, strict=True))
    asked = []
    for qid, docnos in (
        run.top(depth).frame.group_by("qid", maintain_order=True).agg("docno").iter_rows()
    ):
        if qid not in queries:
            raise InputError(
                f"the run ranks documents for topic {qid}, which is not in {topics.source}.",
                path=run.path,
                hint="Give the topics that were searched.",
            )
        asked.append(Candidates(qid, queries[qid], docnos))
    found = reorder(asked, texts, reranker, chunking, cache=cache, threads=threads)

    below = run.ranks >= depth
    rows, scores = np.arange(len(run)), np.empty(len(run))
    starts = np.cumsum(run.lengths) - run.lengths
    rows[~below] = np.repeat(starts, found.sizes) + found.order
    scores[~below] = found.scores
    if reranker.is_listwise:
        scores[below] = 1.0 / (run.ranks[below] + 1)
    else:
        lowest = found.scores[np.cumsum(found.sizes) - 1]
        scores[below] = np.repeat(lowest, run.lengths)[below] - (run.ranks[below] - depth + 1)
    docnos = run.frame["docno"].gather(rows)
    frame = pl.DataFrame({"qid": run.frame["qid"], "docno": docnos, "score": scores})
    return Reranked(
        Run(frame, tag or f"{run.tag}-{Path(reranker.name).stem}"),
        found.computed,
        found.cached,
        time.perf_counter() - began,
        found.seconds,
        {
            "name": reranker.name,
            "weights": reranker.identity["weights"],
            **reranker.recipe.fingerprint_inputs,
            **reranker.identity.get("origin", {}),
            "depth": depth,
            "fields": list(texts.fields),
            "score scale": reranker.scale,
            "batch": {"padded tokens": reranker.batch_tokens},
            "below the depth": "the order of the candidates, scores below the lowest",
            "candidates": {"tag": run.tag, **({"run": run.path.name} if run.path else {})},
        },
    )


def reorder(
    topics: Sequence[Candidates],
    texts: Texts,
    reranker: Reranker,
    chunking: Chunking = TEMPORARY,
    *,
    cache: Path | None = None,
    threads: int | None = None,
) -> Reordered:
    """Put the documents of topics, each of which has one at least, in a new order, in chunks."""
    sizes = np.array([len(one.docnos) for one in topics], dtype=np.int64)
    # The windows of a topic have no part in another's batches.
    size = 1 if reranker.is_listwise else max(1, PAIRS // int(sizes.max(initial=1)))
    work = _Reranking(
        size=size,
        device=reranker.device,
        threads=threads,
        tokens=reranker.recipe.batch_tokens,
        reranker=reranker,
        topics=topics,
        texts=texts,
    )
    is_cached = cache is not None and not reranker.is_listwise
    with chunking.folder(work, is_cached=is_cached) as folder:
        kept = ScoreCache(cache, work.score_identity) if cache is not None and is_cached else None
        if kept is not None:
            # What is known when the first chunk is made is what all workers know.
            if not (folder / _KNOWN).is_file():
                kept.load().save(folder / _KNOWN)
            work = replace(work, known=folder / _KNOWN)
        made = make_chunks(work, folder, chunking.execution)
        chunks = [_EMPTY, *map(read_shard, made.files)]
        united = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in _EMPTY}
        if kept is not None:
            kept.add(united["keys"], united["values"])
    computed, cached = united["counts"].reshape(-1, 2).sum(axis=0).tolist()
    return Reordered(united["order"], united["scores"], sizes, computed, cached, made.seconds)


@dataclass(frozen=True, kw_only=True)
class _Reranking(ModelWork):
    """New orders of topics' documents; ``known`` is the file of the scores that are known."""

    reranker: Reranker
    topics: Sequence[Candidates]
    texts: Texts
    known: Path | None = None
    doing: ClassVar[str] = "reranking"
    unit: ClassVar[str] = "topics"

    @property
    def total(self) -> int:
        return len(self.topics)

    @property
    def score_identity(self) -> dict[str, Any]:
        """All that determines scores, beside the kind of device and what stands in a batch."""
        return {"reranker": self.reranker.identity, **super().identity()}

    def identity(self) -> Mapping[str, Any]:
        return {**self.score_identity, "size": self.size}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "topics": ()}  # a worker is given its own

    def check(self) -> None:
        if self.reranker.recipe.base and self.known is None:
            self.reranker.source.local_tokenizer()

    def items(self, *, check: bool) -> Iterator[Candidates]:
        return iter(self.topics)

    def describe(self, item: Candidates) -> tuple[str, bytes]:
        content = [item.query, list(item.docnos), self.texts.get(item.docnos)]
        return item.qid, json.dumps(content).encode("ascii")

    def load(
        self, device: "torch.device"
    ) -> Callable[[Sequence[Candidates]], dict[str, NDArray[Any]]]:
        reranker = self.reranker
        if choose_device(reranker.device) != device:
            reranker = replace(reranker, device=str(device))
        known = KnownScores(**({} if self.known is None else read_shard(self.known)))

        def arrays(topics: Sequence[Candidates]) -> dict[str, NDArray[Any]]:
            asked = [(one.query, self.texts.get(one.docnos)) for one in topics]
            if reranker.is_listwise:  # window by window; a score is 1/rank
                orders = [reranker.order(query, texts) for query, texts in asked]
                scores = [1.0 / np.arange(1, len(order) + 1) for order in orders]
                windows = sum(len(reranker.windows(len(order))) for order in orders)
                counts = np.array([windows, 0])
                own = {"order": np.concatenate(orders), "scores": np.concatenate(scores)}
                return {**_EMPTY, **own, "counts": counts}
            return _by_scores(reranker, known, asked, device_kind(device))

        return arrays


def _by_scores(
    reranker: Reranker,
    known: KnownScores,
    asked: Sequence[tuple[str, Sequence[str]]],
    device: str,
) -> dict[str, NDArray[Any]]:
    """Orders by scores; each different pair that is not known is computed once.

    The model is loaded when there is one.
    """
    pairs: list[Pair] = [(query, text) for query, texts in asked for text in texts]
    keys = pair_keys(pairs, device)
    scores = known.look_up(keys)
    missing = np.flatnonzero(np.isnan(scores))
    places: dict[Pair, list[int]] = {}
    for number in missing.tolist():
        places.setdefault(pairs[number], []).append(number)
    values = np.zeros(0)
    if len(missing) and isinstance(reranker.model, Pointwise):
        values = reranker.model.scores(list(places))
        if not np.isfinite(values).all():
            raise InputError(
                "the model gave a score that is not a finite number.",
                hint="Are these the weights of a trained reranker? They may be damaged.",
            )
        for some, value in zip(places.values(), values, strict=True):
            scores[some] = value
    each = np.split(scores, np.cumsum([len(texts) for _, texts in asked])[:-1])
    orders = [np.argsort(-some, kind="stable") for some in each]
    return {
        "order": np.concatenate(orders),
        "scores": np.concatenate([some[order] for some, order in zip(each, orders, strict=True)]),
        "keys": keys[[some[0] for some in places.values()]],
        "values": values,
        "counts": np.array([len(places), len(pairs) - len(missing)]),
    }
