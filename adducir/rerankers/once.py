"""Late interaction over a whole run: each query and document is encoded once, then pairs scored.

Vectors of all documents are in an unlinked file, whose pages the system may drop: memory holds what
it can. They are computed in chunks of fixed content, like all long work.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from adducir.core.chunks import Chunking
from adducir.core.files import cache_folder
from adducir.core.many_texts import nameless_file
from adducir.encoders.ranking import MultiVectors
from adducir.models.artifacts import read_shard
from adducir.models.machine import choose_device
from adducir.models.work import Arrays, ModelWork
from adducir.rerankers.colbert import MaxSimRecipe, pair_score
from adducir.rerankers.recipe import Reranker

if TYPE_CHECKING:
    import torch

CHUNK = 1000
"""Texts per chunk: the most that a kill can lose."""
Topic = tuple[str, str, Sequence[str]]
"""Qid, query, and the docnos to rerank."""
Find = Callable[[Sequence[str]], Sequence[str]]
"""Returns the texts of names."""


@dataclass(frozen=True, kw_only=True)
class RerankerWork(ModelWork):
    """What a reranker computes of each of many things."""

    reranker: Reranker
    things: Sequence[Any]

    @property
    def total(self) -> int:
        return len(self.things)

    def identity(self) -> Mapping[str, Any]:
        return {"reranker": self.reranker.identity, **super().identity()}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "things": ()}  # a worker is given its own

    def items(self, *, check: bool) -> Iterator[Any]:
        return iter(self.things)

    def on(self, device: "torch.device") -> Reranker:
        """The reranker, on a worker's device."""
        if choose_device(self.reranker.running.device) == device:
            return self.reranker
        return replace(self.reranker, running=replace(self.running, device=str(device)))


@dataclass(frozen=True, kw_only=True)
class TokenVectors(RerankerWork):
    """The vectors of each name's text, of queries or documents."""

    find: Find  # their texts
    is_query: bool
    size: int = CHUNK
    doing: ClassVar[str] = "encoding"
    unit: ClassVar[str] = "texts"

    def identity(self) -> Mapping[str, Any]:
        return {"side": "query" if self.is_query else "document", **super().identity()}

    def describe(self, item: str) -> tuple[str, bytes]:
        return item, self.find([item])[0].encode("utf-8", "surrogatepass")

    def load(self, device: "torch.device") -> Callable[[Sequence[str]], Arrays]:
        model: Any = self.on(device).model
        read = model.queries if self.is_query else model.documents

        def arrays(names: Sequence[str]) -> Arrays:
            vectors = model.token_vectors(read(self.find(names)))
            width = vectors[0].shape[1]
            none = np.zeros((0, width), dtype=np.float32)
            counts = np.array([len(rows) for rows in vectors], dtype=np.int64)
            return {"values": np.concatenate([none, *vectors]), "counts": counts}

        return arrays


@dataclass(frozen=True)
class _Lookup:
    texts: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, names: Sequence[str]) -> list[str]:
        return [self.texts[name] for name in names]


def scores_once(
    work: ModelWork,
    reranker: Reranker,
    topics: Sequence[Topic],
    find: Find,
    chunking: Chunking,
) -> tuple[NDArray[np.float64], float]:
    """Scores of all topics' pairs in their order, and the seconds of work."""
    is_mean = cast("MaxSimRecipe", reranker.recipe).reading(reranker.source).is_mean
    queries = _Lookup({qid: query for qid, query, _ in topics})
    docnos = list(dict.fromkeys(docno for _, _, names in topics for docno in names))
    same: dict[bytes, str] = {}  # equal texts have one vector, so that they tie
    texts_of = {docno: same.setdefault(_digest(find([docno])[0]), docno) for docno in docnos}
    sides: list[tuple[Sequence[str], Find, bool]] = [
        (list(queries.texts), queries, True),
        (list(same.values()), find, False),
    ]
    with ExitStack() as stack:
        scratch = stack.enter_context(TemporaryDirectory(dir=cache_folder()))
        opened, seconds = list[MultiVectors](), 0.0
        for names, texts, is_query in sides:
            encoding = TokenVectors(
                reranker=reranker,
                things=names,
                find=texts,
                is_query=is_query,
                running=work.running,
            )
            shards = stack.enter_context(chunking.made(encoding))
            seconds += shards.seconds
            opened.append(_mapped([*shards.files], Path(scratch), stack))
        asked_vectors, stored = opened
        numbers = {docno: number for number, docno in enumerate(same.values())}
        scores = []
        for place, (_, _, names) in enumerate(topics):
            query = asked_vectors.rows(place, place + 1).values
            for name in names:
                number = numbers[texts_of[name]]
                text = stored.rows(number, number + 1).values
                scores.append(pair_score(query, text, is_mean=is_mean))
        return np.array(scores, dtype=float), seconds


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _mapped(files: Sequence[Path], folder: Path, stack: ExitStack) -> MultiVectors:
    """The vectors of all chunks, one chunk at a time in memory."""
    file = stack.enter_context(nameless_file(folder))
    counts, width = list[NDArray[np.int64]](), 0
    for path in files:
        chunk = read_shard(path)
        counts.append(chunk["counts"])
        width = chunk["values"].shape[1]
        file.write(np.ascontiguousarray(chunk["values"], dtype=np.float32).data)
    file.flush()
    sizes = np.concatenate([np.zeros(1, dtype=np.int64), *counts])
    starts = np.cumsum(sizes)
    shape = int(starts[-1]), width
    if not shape[0]:
        return MultiVectors(np.zeros((0, width), dtype=np.float32), starts)
    return MultiVectors(np.memmap(file, dtype=np.float32, mode="r", shape=shape), starts)
