"""A run's best documents put in a new order; the rest keeps its own, below them.

Scores of a reranker and of the run before it are on different scales and are never mixed: the
documents below the depth get scores below the lowest of the reranker's, in steps of 1 (after a
listwise one, 1/rank goes on). Of equal scores, the document that stood higher stays higher.

Scores are kept by model, kind of device, query text and text. A model's lie in a folder of their
own, in files that are written whole and never changed:

``keys``    (n, 2) uint64: 128 bits of a BLAKE2b digest of kind of device, query and text
``values``  (n,) float64

Each rerank adds one file when all its chunks are made, and looks up what was there before the
first one was: so what it computes does not depend on who else scores at the same time.
"""

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.chunks import TEMPORARY, Chunking, make_chunks
from adducir.core.errors import ArtifactError, InputError, UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import progress
from adducir.corpora.topics import Topics
from adducir.models.arrays import Stored, read_shard
from adducir.models.machine import choose_device, device_kind
from adducir.models.work import ModelWork
from adducir.rerankers.registry import Reranker
from adducir.rerankers.texts import Texts
from adducir.runs.run import Run

if TYPE_CHECKING:
    import torch

DEPTH = 100
PAIRS = 1024
"""Documents in a chunk, where all topics have as many: what a kill can lose."""

_KNOWN = "known.safetensors"
_NONE: dict[str, NDArray[Any]] = {
    "scores": np.zeros(0),
    "keys": np.zeros((0, 2), dtype=np.uint64),
    "values": np.zeros(0),
    "counts": np.zeros((0, 2), dtype=np.int64),
}
"""What a chunk holds: the scores of its documents; what was computed, for the cache; and how many
pairs were computed, and how many were known."""

Keys = NDArray[np.uint64]
Values = NDArray[np.float64]
_Topic = tuple[str, str, Sequence[str]]
"""Qid, query, and the docnos that are put in a new order."""


def pair_keys(pairs: Iterable[tuple[str, str]], device: str) -> Keys:
    """(n, 2) the keys of pairs of query and text, whose scores a kind of device computes."""
    begun: dict[str, Any] = {}
    digests = []
    for query, text in pairs:
        if query not in begun:
            encoded = query.encode("utf-8", "surrogatepass")
            head = f"{device}:{len(encoded)}:".encode()
            begun[query] = hashlib.blake2b(head + encoded, digest_size=16)
        digest = begun[query].copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


class KnownScores(Stored):
    """Scores by key: (n, 2) keys, in any order and perhaps repeated, and (n,) values."""

    def __init__(self, keys: Keys, values: Values) -> None:
        _, first = np.unique(keys[:, 0], return_index=True)
        self.keys, self.values = keys[first], values[first]

    def look_up(self, keys: Keys) -> Values:
        """(n,) the scores of keys; NaN where there is none."""
        found = np.full(len(keys), np.nan)
        if len(self.keys):
            places = np.searchsorted(self.keys[:, 0], keys[:, 0]).clip(max=len(self.keys) - 1)
            hit = (self.keys[places] == keys).all(axis=1)
            found[hit] = self.values[places[hit]]
        return found


class ScoreCache:
    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = folder / fingerprint(identity)[:16]

    def load(self) -> KnownScores:
        """All scores that are there; a damaged file is left out."""
        keys, values = [np.zeros((0, 2), dtype=np.uint64)], [np.zeros(0)]
        for path in sorted(self.folder.glob("scores-*.safetensors")):
            try:
                arrays = read_shard(path)
            except ArtifactError:
                progress().note(f"{path}: these scores are damaged and are computed anew.")
                continue
            keys.append(arrays["keys"])
            values.append(arrays["values"])
        return KnownScores(np.concatenate(keys), np.concatenate(values))

    def add(self, scores: KnownScores) -> None:
        if len(scores.values):
            name = f"scores-{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}.safetensors"
            scores.save(self.folder / name)


@dataclass
class Reranked:
    """A run in its new order, how many pairs of it the model computed, and how many were known.

    ``seconds`` passed here, ``work_seconds`` in all chunks together, wherever they were made.
    """

    run: Run
    computed: int
    cached: int
    seconds: float
    work_seconds: float
    settings: dict[str, Any]


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
        topics: Their queries; topics that the run lacks are ignored.
        depth: Documents per topic that are put in a new order.
        tag: The new run's; by default the old one's with the reranker's name.
        cache: The folder for scores; None for none. Scores that are there are not computed again.
        chunking: Who reranks, and beside which output chunks are kept.
    """
    if depth < 1:
        raise UsageError(f"the depth is at least 1, not {depth}.")
    began = time.perf_counter()
    queries = dict(zip(topics.qids, topics.texts, strict=True))
    if unknown := [qid for qid in run.qids if qid not in queries]:
        raise InputError(
            f"the run ranks documents for topic {unknown[0]}, which is not in {topics.source}.",
            path=run.path,
            hint="Give the topics that were searched.",
        )
    best = run.top(depth)
    groups = best.frame.group_by("qid", maintain_order=True).agg("docno").iter_rows()
    is_listwise = reranker.recipe.is_listwise
    work = _Reranking(
        # The windows of a topic have no part in another's batches.
        size=1 if is_listwise else max(1, PAIRS // max(1, best.depth)),
        device=reranker.device,
        threads=threads,
        tokens=reranker.recipe.batch_tokens,
        reranker=reranker,
        topics=[(qid, queries[qid], docnos) for qid, docnos in groups],
        texts=texts,
    )
    found, work_seconds = _scored(work, chunking, None if is_listwise else cache)
    computed, cached = found["counts"].sum(axis=0).tolist()
    below = run.ranks >= depth
    scores = np.empty(len(run))
    scores[~below] = found["scores"]
    if is_listwise:
        scores[below] = 1.0 / (run.ranks[below] + 1)
    elif below.any():
        lowest = np.minimum.reduceat(found["scores"], np.flatnonzero(best.ranks == 0))
        scores[below] = lowest[run.topics[below]] - (run.ranks[below] - depth + 1)
    order = np.lexsort((-scores, run.topics))
    frame = run.frame.with_columns(score=pl.Series(scores))[order]
    return Reranked(
        Run(frame, tag or f"{run.tag}-{Path(reranker.name).stem}"),
        computed,
        cached,
        time.perf_counter() - began,
        work_seconds,
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


def _scored(
    work: "_Reranking", chunking: Chunking, cache: Path | None
) -> tuple[dict[str, NDArray[Any]], float]:
    with chunking.folder(work, is_cached=cache is not None) as folder:
        if cache is not None:
            kept = ScoreCache(cache, work.score_identity)
            # What is known when the first chunk is made is what all workers know.
            if not (folder / _KNOWN).is_file():
                kept.load().save(folder / _KNOWN)
            work = replace(work, known=folder / _KNOWN)
        made = make_chunks(work, folder, chunking.execution)
        chunks = [_NONE, *map(read_shard, made.files)]
        found = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in _NONE}
        if cache is not None:
            kept.add(KnownScores(found["keys"], found["values"]))
    return found, made.seconds


@dataclass(frozen=True, kw_only=True)
class _Reranking(ModelWork):
    """Scores of topics' documents; ``known`` is the file of the scores that are known."""

    reranker: Reranker
    topics: Sequence[_Topic]
    texts: Texts
    known: Path | None = None
    doing: ClassVar[str] = "reranking"
    unit: ClassVar[str] = "topics"

    @property
    def total(self) -> int:
        return len(self.topics)

    @property
    def score_identity(self) -> dict[str, Any]:
        return {"reranker": self.reranker.identity, **super().identity()}

    def identity(self) -> Mapping[str, Any]:
        return {**self.score_identity, "size": self.size}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "topics": ()}  # a worker is given its own

    def check(self) -> None:
        if self.reranker.recipe.base and self.known is None:
            self.reranker.source.local_tokenizer()

    def items(self, *, check: bool) -> Iterator[_Topic]:
        return iter(self.topics)

    def describe(self, item: _Topic) -> tuple[str, bytes]:
        qid, query, docnos = item
        content = [query, list(docnos), self.texts.get(docnos)]
        return qid, json.dumps(content).encode("ascii")

    def load(self, device: "torch.device") -> Callable[[Sequence[_Topic]], dict[str, NDArray[Any]]]:
        reranker = self.reranker
        if choose_device(reranker.device) != device:
            reranker = replace(reranker, device=str(device))
        known = KnownScores(**read_shard(self.known)) if self.known else None
        return lambda topics: self._arrays(reranker, topics, known, device_kind(device))

    def _arrays(
        self, reranker: Reranker, topics: Sequence[_Topic], known: KnownScores | None, device: str
    ) -> dict[str, NDArray[Any]]:
        """Each different pair that is not known is computed once; the model is loaded for one."""
        pairs = [(query, text) for _, query, docnos in topics for text in self.texts.get(docnos)]
        if reranker.recipe.is_listwise:  # a text that is there twice has two places
            own = {"scores": reranker.model.scores(pairs), "counts": np.array([[len(pairs), 0]])}
            return {**_NONE, **own}
        scores = np.full(len(pairs), np.nan)
        if known is not None:
            scores = known.look_up(pair_keys(pairs, device))
        missing = np.flatnonzero(np.isnan(scores)).tolist()
        new = list(dict.fromkeys(pairs[number] for number in missing))
        values = reranker.model.scores(new) if new else np.zeros(0)
        if not np.isfinite(values).all():
            raise InputError(
                "the model gave a score that is not a finite number.",
                hint="Are these the weights of a trained reranker? They may be damaged.",
            )
        value_of = dict(zip(new, values.tolist(), strict=True))
        scores[missing] = [value_of[pairs[number]] for number in missing]
        counts = np.array([[len(new), len(pairs) - len(missing)]])
        return {
            "scores": scores,
            "keys": pair_keys(new, device),
            "values": values,
            "counts": counts,
        }
