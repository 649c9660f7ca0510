"""A run's best documents put in a new order; the rest keeps its own, below them.

Scores of a reranker and of the run before it are on different scales and are never mixed: the
documents below the depth get scores below the lowest of the reranker's, in steps of 1 (after a
listwise one, 1/rank goes on). Of equal scores, the document that stood higher stays higher.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adducir.core.checking import checked
from adducir.core.errors import InputError, UsageError
from adducir.core.progress import SILENT, Progress
from adducir.corpora.topics import Topics
from adducir.rerankers.cached import Ranked, cached
from adducir.rerankers.registry import Reranker
from adducir.rerankers.texts import Texts
from adducir.runs.run import Run

DEPTH = 100
CHUNK = 4096
"""Documents whose texts are held at a time."""


@dataclass
class Reranked:
    """A run in its new order, and what there is to say about it.

    Attributes:
        computed: Pairs of query and passage, or windows, that the model was asked for.
        cached: Those whose result was known.
        settings: Model, depth, score scale and batches, for the run's metadata.
    """

    run: Run
    computed: int = 0
    cached: int = 0
    seconds: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Topic:
    """A topic with its candidates in the old order."""

    qid: str
    query: str
    docnos: list[str]


@checked
def rerank(
    run: Run,
    topics: Topics,
    texts: Texts,
    reranker: Reranker,
    *,
    depth: int = DEPTH,
    tag: str | None = None,
    cache: Path | None = None,
    progress: Progress = SILENT,
) -> Reranked:
    """Rerank a run to a depth.

    Args:
        run: The candidates.
        topics: Their queries; topics that the run lacks are ignored.
        depth: Documents a topic whose order is made anew.
        tag: The new run's; by default the old one's with the reranker's name.
        cache: The folder for scores; None for none. Scores that are there are not computed again.

    Raises:
        UsageError: ``depth`` is less than 1.
        InputError: A topic of the run is none of the topics, or a document is not there.
        MachineError: A score is not a number, or the cache cannot be written.
    """
    if depth < 1:
        raise UsageError(f"the depth is at least 1, not {depth}.")
    began = time.perf_counter()
    known = list(_topics(run, topics))
    inside = Reranked(run)
    orders = _orders(known, texts, reranker, depth, cache, inside, progress)
    goes_on = "ranks" if reranker.is_listwise else "scores"
    rows = [_rows(topic, *order, goes_on) for topic, order in zip(known, orders, strict=True)]
    schema = {"qid": pl.String, "docno": pl.String, "score": pl.Float64}
    frame = pl.concat([pl.DataFrame(schema=schema), *rows])
    inside.run = Run(frame, tag or f"{run.tag}-{Path(reranker.name).stem}")
    inside.seconds = time.perf_counter() - began
    inside.settings = _settings(run, texts, reranker, depth)
    return inside


def _topics(run: Run, topics: Topics) -> Iterator[_Topic]:
    queries = dict(zip(topics.qids, topics.texts, strict=True))
    for (qid,), frame in run.frame.group_by(["qid"], maintain_order=True):
        name = str(qid)
        if name not in queries:
            raise InputError(
                f"the run ranks documents for topic {name}, which is not in {topics.source}.",
                path=run.path,
                hint="Give the topics that were searched.",
            )
        yield _Topic(name, queries[name], frame["docno"].to_list())


def _orders(
    topics: Sequence[_Topic],
    texts: Texts,
    reranker: Reranker,
    depth: int,
    cache: Path | None,
    details: Reranked,
    progress: Progress,
) -> Iterator[Ranked]:
    """For each topic the order of its best documents, and their scores in that order."""
    sizes = [min(depth, len(topic.docnos)) for topic in topics]
    if reranker.is_listwise:
        progress.start("reranking", sum(len(reranker.windows(size)) for size in sizes), "windows")
    else:
        progress.start("reranking", sum(sizes), "pairs")
    asked = cached(reranker, cache, progress)
    try:
        for some in _chunks(topics, depth):
            yield from asked.ranked((one.query, texts.get(one.docnos[:depth])) for one in some)
            details.computed, details.cached = asked.computed, asked.cached
    finally:
        asked.close()
        progress.finish()


def _chunks(topics: Sequence[_Topic], depth: int) -> Iterator[list[_Topic]]:
    some: list[_Topic] = []
    count = 0
    for topic in topics:
        some.append(topic)
        count += min(depth, len(topic.docnos))
        if count >= CHUNK:
            yield some
            some, count = [], 0
    if some:
        yield some


def _rows(
    topic: _Topic, order: NDArray[np.int64], scores: NDArray[np.float64], goes_on: str
) -> pl.DataFrame:
    """A topic's rows: the new order, and below it the old one."""
    rest = topic.docnos[len(order) :]
    docnos = [topic.docnos[number] for number in order] + rest
    below = np.arange(1, len(rest) + 1)
    more = 1.0 / (len(scores) + below) if goes_on == "ranks" else scores[-1] - below
    return pl.DataFrame(
        {"qid": [topic.qid] * len(docnos), "docno": docnos, "score": np.append(scores, more)},
        schema={"qid": pl.String, "docno": pl.String, "score": pl.Float64},
    )


def _settings(run: Run, texts: Texts, reranker: Reranker, depth: int) -> dict[str, Any]:
    recipe = reranker.recipe
    return {
        "name": reranker.name,
        "weights": reranker.identity["weights"],
        **recipe.fingerprint_inputs,
        **reranker.identity.get("origin", {}),
        "depth": depth,
        "fields": list(texts.fields),
        "passages": recipe.passages.model_dump(mode="json", exclude_none=True),
        "score scale": reranker.scale,
        "batch": {"padded tokens": reranker.batch_tokens},
        "below the depth": "the order of the candidates, scores below the lowest",
        "candidates": {"tag": run.tag, **({"run": run.path.name} if run.path else {})},
    }
