"""Late interaction over a whole run: each query and document is encoded once, then pairs scored.

Vectors of all documents are in an unlinked file, whose pages the system may drop: memory holds what
it can. They are computed in chunks of fixed content, like all long work.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from adducir.core.chunks import Chunking
from adducir.core.files import cache_folder, nameless_file
from adducir.encoders.encoding import Item, Items, ItemsWork
from adducir.encoders.ranking import MultiVectors
from adducir.models.artifacts import read_shard
from adducir.models.running import Running
from adducir.models.work import Arrays
from adducir.rerankers.colbert import MaxSimRecipe, pair_score
from adducir.rerankers.recipe import Reranker

if TYPE_CHECKING:
    import torch

CHUNK = 1000
"""Texts per chunk: the most that a kill can lose."""
Topic = tuple[str, str, Sequence[str]]
"""Qid, query, and the docnos to rerank."""


@dataclass(frozen=True, kw_only=True)
class TokenVectors(ItemsWork):
    """The vectors of each text's tokens, of queries or documents."""

    reranker: Reranker

    def identity(self) -> Mapping[str, Any]:
        made_by = {"side": self.texts.side, "reranker": self.reranker.identity}
        return {**made_by, **super().identity()}

    def load(self, device: "torch.device") -> Callable[[Sequence[Item]], Arrays]:
        model: Any = self.reranker.on(device).model
        read = model.queries if self.texts.side == "query" else model.documents

        def arrays(items: Sequence[Item]) -> Arrays:
            vectors = MultiVectors.of(model.token_vectors(read([text for _, text in items])))
            return {"values": vectors.values, "counts": np.diff(vectors.starts)}

        return arrays


def scores_once(
    reranker: Reranker,
    topics: Sequence[Topic],
    find: Callable[[Sequence[str]], Sequence[str]],
    running: Running,
    chunking: Chunking,
) -> tuple[NDArray[np.float64], float]:
    """Scores of all topics' pairs in their order, and the seconds of work.

    Args:
        find: Returns the texts of docnos.
    """
    is_mean = cast("MaxSimRecipe", reranker.recipe).reading(reranker.source).is_mean
    same, texts_of = dict[bytes, str](), dict[str, str]()
    for docno in dict.fromkeys(docno for _, _, names in topics for docno in names):
        text = find([docno])[0].encode("utf-8", "surrogatepass")
        # Equal texts have one vector, so that they tie.
        texts_of[docno] = same.setdefault(sha256(text).digest(), docno)
    names, queries = list(same.values()), [(qid, query) for qid, query, _ in topics]
    sides = (
        Items({}, "", "query", len(queries), lambda _: iter(queries)),
        Items(
            {}, "", "document", len(names), lambda _: ((name, find([name])[0]) for name in names)
        ),
    )
    with ExitStack() as stack:
        scratch = stack.enter_context(TemporaryDirectory(dir=cache_folder()))
        opened, seconds = list[MultiVectors](), 0.0
        for texts in sides:
            work = TokenVectors(reranker=reranker, texts=texts, running=running, size=CHUNK)
            shards = stack.enter_context(chunking.made(work))
            seconds += shards.seconds
            opened.append(_mapped([*shards.files], Path(scratch), stack))
        asked_vectors, stored = opened
        numbers, scores = {name: number for number, name in enumerate(names)}, []
        for place, (_, _, docnos) in enumerate(topics):
            query = asked_vectors.rows(place, place + 1).values
            for docno in docnos:
                number = numbers[texts_of[docno]]
                vectors = stored.rows(number, number + 1).values
                scores.append(pair_score(query, vectors, is_mean=is_mean))
        return np.array(scores, dtype=float), seconds


def _mapped(files: Sequence[Path], folder: Path, stack: ExitStack) -> MultiVectors:
    """The vectors of all chunks, one chunk at a time in memory."""
    file, width = stack.enter_context(nameless_file(folder)), 0
    sizes = [np.zeros(1, dtype=np.int64)]
    for path in files:
        chunk = read_shard(path)
        sizes.append(chunk["counts"])
        width = chunk["values"].shape[1]
        file.write(np.ascontiguousarray(chunk["values"], dtype=np.float32).data)
    file.flush()
    starts = np.cumsum(np.concatenate(sizes))
    if not starts[-1]:
        return MultiVectors(np.zeros((0, width), dtype=np.float32), starts)
    shape = int(starts[-1]), width
    return MultiVectors(np.memmap(file, dtype=np.float32, mode="r", shape=shape), starts)
