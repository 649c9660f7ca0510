"""A run's best documents put in a new order; the rest keeps its own, below them.

Scores of a reranker and of the run before it are on different scales and are never mixed: the
documents below the depth get scores below the lowest of the reranker's, in steps of 1 (after a
listwise one, 1/rank goes on). Of equal scores, the document that stood higher stays higher.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.core.checking import checked
from adducir.core.errors import InputError, UsageError
from adducir.core.progress import SILENT, Progress
from adducir.core.sharding.gathering import Sharding, sharding_or_temporary
from adducir.corpora.topics import Topics
from adducir.rerankers.asking import Ranked
from adducir.rerankers.registry import Reranker
from adducir.rerankers.texts import Texts
from adducir.rerankers.work import Candidates, Reordered, reorder
from adducir.runs.run import Run

DEPTH = 100


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
    threads: int | None = None,
    sharding: Sharding | None = None,
    progress: Progress = SILENT,
) -> Reranked:
    """Rerank a run to a depth.

    Args:
        run: The candidates.
        topics: Their queries; topics that the run lacks are ignored.
        depth: Documents a topic whose order is made anew.
        tag: The new run's; by default the old one's with the reranker's name.
        cache: The folder for scores; None for none. Scores that are there are not computed again.
        threads: Of each worker that has a process of its own.
        sharding: Who reranks, and beside which output shards are kept, so that a kill loses
            little; None: this process, which keeps nothing.

    Raises:
        UsageError: ``depth`` is less than 1.
        InputError: A topic of the run is none of the topics, or a document is not there.
        IncompleteError: Some topics cannot be reranked, such as one with a score that is no number.
        MachineError: Memory does not suffice, or the cache cannot be written.
        PartMade: A part of the shards was asked for, and is made.
    """
    if depth < 1:
        raise UsageError(f"the depth is at least 1, not {depth}.")
    began = time.perf_counter()
    known = list(_topics(run, topics))
    asked = [one._replace(docnos=one.docnos[:depth]) for one in known]
    with sharding_or_temporary(sharding) as kept:
        found = reorder(
            asked, texts, reranker, kept, cache=cache, threads=threads, progress=progress
        )
    goes_on = "ranks" if reranker.is_listwise else "scores"
    rows = [_rows(topic, one, goes_on) for topic, one in zip(known, found.ranked, strict=True)]
    schema = {"qid": pl.String, "docno": pl.String, "score": pl.Float64}
    frame = pl.concat([pl.DataFrame(schema=schema), *rows])
    return Reranked(
        Run(frame, tag or f"{run.tag}-{Path(reranker.name).stem}"),
        found.computed,
        found.cached,
        time.perf_counter() - began,
        found.seconds,
        _settings(run, texts, reranker, depth, found),
    )


def _topics(run: Run, topics: Topics) -> Iterator[Candidates]:
    queries = dict(zip(topics.qids, topics.texts, strict=True))
    for (qid,), frame in run.frame.group_by(["qid"], maintain_order=True):
        name = str(qid)
        if name not in queries:
            raise InputError(
                f"the run ranks documents for topic {name}, which is not in {topics.source}.",
                path=run.path,
                hint="Give the topics that were searched.",
            )
        yield Candidates(name, queries[name], frame["docno"].to_list())


def _rows(topic: Candidates, ranked: Ranked, goes_on: str) -> pl.DataFrame:
    """A topic's rows: the new order, and below it the old one."""
    order, scores = ranked
    rest = topic.docnos[len(order) :]
    docnos = [topic.docnos[number] for number in order] + rest
    below = np.arange(1, len(rest) + 1)
    more = 1.0 / (len(scores) + below) if goes_on == "ranks" else scores[-1] - below
    return pl.DataFrame(
        {"qid": [topic.qid] * len(docnos), "docno": docnos, "score": np.append(scores, more)},
        schema={"qid": pl.String, "docno": pl.String, "score": pl.Float64},
    )


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
        **({"shards by device": dict(found.devices)} if len(found.devices) > 1 else {}),
        "below the depth": "the order of the candidates, scores below the lowest",
        "candidates": {"tag": run.tag, **({"run": run.path.name} if run.path else {})},
    }
