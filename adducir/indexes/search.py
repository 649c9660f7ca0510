"""From topics to a run: what ``adducir search`` and experiment files call."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pydantic import ValidationError

from adducir.core.errors import UsageError, worded
from adducir.core.recipe import told
from adducir.core.texts import sentence
from adducir.corpora.topics import Topics
from adducir.indexes.index import Index, Query
from adducir.indexes.kinds import FEEDBACK, MODELS
from adducir.indexes.search_settings import SearchSettings
from adducir.runs.run import Run

if TYPE_CHECKING:
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.models import Model


@dataclass(frozen=True)
class Search:
    """A run, and topics to report.

    ``empty`` topics have no terms after analysis, ``unanswered`` ones only terms that are not in
    the index; in ``tied`` ones, several documents all have the same score, so only docnos order
    them.
    """

    run: Run
    empty: tuple[str, ...]
    unanswered: tuple[str, ...]
    tied: tuple[str, ...]
    seconds: float
    method: dict[str, Any]  # for a run's metadata

    def remarks(self) -> Iterator[str]:
        for problem, qids in (
            ("analysis removes all terms of the query", self.empty),
            ("the index contains none of the query's terms", self.unanswered),
            ("all documents have the same score, so docnos order them", self.tied),
        ):
            if qids:
                more = f" and {len(qids) - 10} more" if len(qids) > 10 else ""
                topics = "topic" if len(qids) == 1 else "topics"
                yield f"{problem}: {topics} {', '.join(qids[:10])}{more}"


def takes_weights(index: Index) -> bool:
    """Whether queries' token weights are searched, where they have some, instead of their texts."""
    return bool(index.default_model) and index.analysis.kind.is_pretokenized


def queries_of(index: Index, topics: Topics) -> Sequence[Query]:
    """Words with weights; token weights if the index has such terms; otherwise texts."""
    if topics.weighs_words and not index.default_model:
        weights = worded("word_weights", "true")
        message = f"word weights ({weights}) have no effect on an index of vectors."
        raise UsageError(message, hint="Search an index of texts, or read the topics without them.")
    is_weighted = topics.vectors and (topics.weighs_words or takes_weights(index))
    return topics.vectors if topics.vectors and is_weighted else topics.texts


def search_topics(
    index: Index,
    topics: Topics,
    model: "Model | str | None" = None,
    *,
    tag: str | None = None,
    feedback: "FeedbackMethod | str | None" = None,
    depth: int | None = 1000,
    fold: str | None = None,
    threads: int | None = None,
) -> Search:
    """Search every topic; arguments and errors as in the index's ``search``.

    On a pretokenized index, topics' token weights are searched; on others their texts, and topics
    without text are a UsageError. The tag is by default the model's name and the method's.
    """
    try:
        stated = SearchSettings(model=model, feedback=feedback, fold=fold)
        model, feedback = stated.chosen({}, index.default_model)
    except ValidationError as error:
        raise UsageError(sentence(told(error))) from error
    names = ["dense" if model is None else MODELS.name_of(type(model))]
    names += [] if feedback is None else [FEEDBACK.name_of(type(feedback))]
    _ = getattr(index, "encoder", None)  # loaded before the clock starts
    started = time.perf_counter()
    queries = queries_of(index, topics)
    vectors = topics.vectors if queries is topics.vectors and not topics.weighs_words else None
    hits = index.search(queries, model, feedback=feedback, depth=depth, fold=fold, threads=threads)
    run = Run(hits.to_polars(topics.qids), tag="-".join(names) if tag is None else tag)
    seconds = time.perf_counter() - started
    empty, unanswered = list[str](), list[str]()
    for number in np.flatnonzero(hits.counts == 0).tolist():
        if model is None:
            has_terms = True
        elif vectors is None:
            has_terms = any(index.analysis.terms([topics.queries[number]]))
        else:
            has_terms = any(vectors[number].values())
        (unanswered if has_terms else empty).append(topics.qids[number])
    ends = np.cumsum(hits.counts)
    starts = ends - hits.counts
    # The first and last score of each topic with several hits.
    several = np.flatnonzero(hits.counts > 1)
    tied = several[hits.scores[starts[several]] == hits.scores[ends[several] - 1]]
    settings = {
        "index": index.identity,
        **index.settings(cast("Any", model), feedback),
        "depth": depth or "all",
        **({} if stated.fold is None else {"fold": stated.fold}),
    }
    return Search(
        run=run,
        empty=tuple(empty),
        unanswered=tuple(unanswered),
        tied=tuple(map(topics.qids.__getitem__, tied.tolist())),
        seconds=seconds,
        method={"retrieval": [settings]},
    )
