"""A run's best documents put in a new order; the rest keeps its own, below them.

Scores of a reranker and of the run before it are on different scales and are never mixed: the
documents below the depth get scores below the lowest of the reranker's, in steps of 1 (after a
listwise one, 1/rank goes on). Of equal scores, the document that stood higher stays higher.
"""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.core.chunks import TEMPORARY, Chunking
from adducir.core.errors import InputError, UsageError
from adducir.corpora.topics import Topics
from adducir.rerankers.candidates import CandidateTable
from adducir.rerankers.registry import Reranker
from adducir.rerankers.texts import Texts
from adducir.rerankers.work import Reordered, reorder
from adducir.runs.run import Run

DEPTH = 100
_QUERIES = {"qid": pl.String, "query": pl.String}


@dataclass
class Reranked:
    """A run in its new order, and what there is to say about it.

    Attributes:
        computed: Pairs of query and passage, or windows, that the model was asked for.
        cached: Those whose result was known.
        seconds: How long all of it took, here.
        work_seconds: How long the shards took, all together, wherever they were made.
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
        depth: Documents a topic whose order is made anew.
        tag: The new run's; by default the old one's with the reranker's name.
        cache: The folder for scores; None for none. Scores that are there are not computed again.
        threads: Of each worker that has a process of its own.
        chunking: Who reranks, and beside which output chunks are kept.

    Raises:
        UsageError: ``depth`` is less than 1.
        InputError: A topic of the run is none of the topics, or a document is not there.
        IncompleteError: Some topics cannot be reranked, such as one with a score that is no number.
        MachineError: Memory does not suffice, or the cache cannot be written.
    """
    if depth < 1:
        raise UsageError(f"the depth is at least 1, not {depth}.")
    began = time.perf_counter()
    asked = _candidates(run.top(depth), topics)
    found = reorder(asked, texts, reranker, chunking, cache=cache, threads=threads)
    frame = _reordered(run, depth, found, "ranks" if reranker.is_listwise else "scores")
    return Reranked(
        Run(frame, tag or f"{run.tag}-{Path(reranker.name).stem}"),
        found.computed,
        found.cached,
        time.perf_counter() - began,
        found.seconds,
        _settings(run, texts, reranker, depth, found),
    )


def _candidates(run: Run, topics: Topics) -> CandidateTable:
    queries = pl.DataFrame({"qid": topics.qids, "query": topics.texts}, schema=_QUERIES)
    frame = run.frame.group_by("qid", maintain_order=True).agg(docnos="docno")
    found = frame.join(queries, "qid", how="left", maintain_order="left")
    unknown = found.filter(pl.col("query").is_null())["qid"]
    if len(unknown):
        raise InputError(
            f"the run ranks documents for topic {unknown[0]}, which is not in {topics.source}.",
            path=run.path,
            hint="Give the topics that were searched.",
        )
    return CandidateTable(found.select("qid", "query", "docnos"))


def _reordered(run: Run, depth: int, found: Reordered, goes_on: str) -> pl.DataFrame:
    """The rows of the new run: each topic's new order, and below it the old one."""
    below = run.ranks >= depth
    rows, scores = np.arange(len(run)), np.empty(len(run))
    starts = np.cumsum(run.lengths) - run.lengths
    rows[~below] = np.repeat(starts, found.sizes) + found.order
    scores[~below] = found.scores
    if goes_on == "ranks":
        scores[below] = 1.0 / (run.ranks[below] + 1)
    else:
        lowest = found.scores[np.cumsum(found.sizes) - 1]
        scores[below] = np.repeat(lowest, run.lengths)[below] - (run.ranks[below] - depth + 1)
    docnos = run.frame["docno"].gather(rows)
    return pl.DataFrame({"qid": run.frame["qid"], "docno": docnos, "score": scores})


def _settings(
    run: Run, texts: Texts, reranker: Reranker, depth: int, found: Reordered
) -> dict[str, Any]:
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
