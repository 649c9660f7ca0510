"""From topics to a run: what ``adducir search`` and experiment files call."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from adducir.core.errors import Keyed, UsageError, worded
from adducir.core.recipe import refusing
from adducir.corpora.sources import expanded
from adducir.corpora.topics import Topics
from adducir.indexes.hits import Hits
from adducir.indexes.index import Index, Query
from adducir.indexes.kinds import FEEDBACK, MODELS
from adducir.indexes.search_settings import SearchSettings
from adducir.models.machine import using_threads
from adducir.models.running import PLAIN, Running
from adducir.runs.run import Run

if TYPE_CHECKING:
    from pathlib import Path

    from adducir.encoders.kinds import EncoderSource


@dataclass(frozen=True)
class Search:
    """What was found for topics, and what to say of it."""

    index: Index
    topics: Topics
    hits: Hits
    run: Run  # with its metadata
    seconds: float

    @cached_property
    def without_hits(self) -> tuple[list[str], list[str]]:
        """Topics without terms after analysis, and topics whose terms are not in the index."""
        topics, empty, unanswered = self.topics, list[str](), list[str]()
        has_weights = queries_of(self.index, topics) is topics.vectors and not topics.weighs_words
        for number in np.flatnonzero(self.hits.counts == 0).tolist():
            has_terms = not self.index.default_model
            if has_weights and topics.vectors is not None:
                has_terms = any(topics.vectors[number].values())
            elif not has_terms:
                has_terms = any(self.index.analysis.terms([topics.queries[number]]))
            (unanswered if has_terms else empty).append(topics.qids[number])
        return empty, unanswered

    @property
    def tied(self) -> list[str]:
        """Topics several of whose documents all have the same score: only docnos order them."""
        counts, scores = self.hits.counts, self.hits.scores
        ends, several = np.cumsum(counts), np.flatnonzero(counts > 1)
        last = ends[several] - 1
        same = several[scores[(ends - counts)[several]] == scores[last]]
        return [self.topics.qids[number] for number in same.tolist()]

    def remarks(self) -> Iterator[str]:
        empty, unanswered = self.without_hits
        for problem, qids in (
            ("analysis removes all terms of the query", empty),
            ("the index contains none of the query's terms", unanswered),
            ("all documents have the same score, so docnos order them", self.tied),
        ):
            if qids:
                more = f" and {len(qids) - 10} more" if len(qids) > 10 else ""
                topics = "topic" if len(qids) == 1 else "topics"
                yield f"{problem}: {topics} {', '.join(qids[:10])}{more}"


def query_encoder(name: str, folder: "Path | None" = None) -> "EncoderSource":
    """The learned sparse encoder of queries that a search names."""
    from adducir.encoders.kinds import encoder_source
    from adducir.encoders.statement import check_sparse

    source = encoder_source(expanded(name), folder)
    check_sparse(source.query)
    return source


def queries_of(index: Index, topics: Topics) -> Sequence[Query]:
    """Words with weights; token weights if the index has such terms; otherwise texts."""
    if topics.weighs_words and not index.default_model:
        weights = worded("word_weights", "true")
        message = f"word weights ({weights}) have no effect on an index of vectors."
        raise UsageError(message, hint="Search an index of texts, or read the topics without them.")
    is_weighted = topics.vectors and (topics.weighs_words or index.takes_weights)
    return topics.vectors if topics.vectors and is_weighted else topics.texts


def search_topics(
    index: Index,
    topics: Topics,
    settings: SearchSettings,
    *,
    tag: str | None = None,
    encoder: "EncoderSource | None" = None,
    running: Running = PLAIN,
) -> Search:
    """Search every topic.

    On a pretokenized index, topics' token weights are searched, by default those that the settings'
    encoder computes; on others their texts, and topics without text are a UsageError. The tag is by
    default the model's name and the method's; ``encoder``: the settings', if already opened.
    """
    with refusing():
        model, feedback = settings.chosen(index.default_model)
    method, seconds = dict[str, Any](), 0.0
    if settings.encoder is not None and index.takes_weights:
        from adducir.encoders.encoding import weighted_topics

        if topics.vectors:
            raise UsageError(Keyed("{} has no effect: the topics have weights.", "encoder"))
        source = encoder or query_encoder(settings.encoder)
        with using_threads(running.threads):
            topics, seconds = weighted_topics(source, topics, running)
        method["encoder"] = {"name": source.name, "model": source.identity(as_read=False)}
    names = ["dense" if model is None else MODELS.name_of(type(model))]
    names += [] if feedback is None else [FEEDBACK.name_of(type(feedback))]
    _ = getattr(index, "encoder", None)  # loaded before the clock starts
    facts = {"index": index.identity, **index.settings(cast("Any", model), feedback)}
    facts |= {"depth": settings.depth or "all"} | ({"fold": settings.fold} if settings.fold else {})
    metadata = {"method": {"retrieval": [facts], **method}, "data": {"topics": topics.about}}
    started = time.perf_counter()
    hits = index.search(
        queries_of(index, topics),
        model,
        feedback=feedback,
        depth=settings.depth,
        fold=settings.fold,
        threads=running.threads,
    )
    tag = "-".join(names) if tag is None else tag
    run = Run(hits.to_polars(topics.qids), tag, metadata=metadata)
    seconds += time.perf_counter() - started
    return Search(index, topics, hits, run, seconds)
