"""From topics to a run by a dense index: what ``adducir search`` calls."""

import time

from adducir.corpora.topics import Topics
from adducir.indexes.dense.index import DenseIndex
from adducir.indexes.search import Search
from adducir.runs.run import Run


def search_topics_dense(
    index: DenseIndex,
    topics: Topics,
    *,
    tag: str,
    depth: int | None = 1000,
    threads: int | None = None,
) -> Search:
    """Search every topic; the arguments and errors are those of :meth:`DenseIndex.search`."""
    _ = index.encoder  # loaded before the clock starts
    started = time.perf_counter()
    hits = index.search(topics.texts, depth=depth, threads=threads)
    run = Run(hits.frame(topics.qids), tag=tag)
    seconds = time.perf_counter() - started
    silent = tuple(q for q, count in zip(topics.qids, hits.counts, strict=True) if count == 0)
    settings = {"index": index.identity, **index.settings(), "depth": depth or "all"}
    return Search(run, (), silent, (), seconds, settings)
