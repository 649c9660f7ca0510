"""``adducir search``."""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adducir.cli import common
from adducir.cli.command import Writes, option
from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe, needs
from adducir.indexes.kinds import FEEDBACK, MODELS

if TYPE_CHECKING:
    from adducir.corpora.topics import Topics
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.index import Hits, Index
    from adducir.indexes.models import Model


class Search(Recipe):
    place: Path | None = option(
        "The index, before a query.", metavar="[INDEX]", argument=True, default=None
    )
    words: tuple[str, ...] = option(
        "A query: its ten best documents are shown.",
        metavar="[QUERY]...",
        argument=True,
        default=(),
    )
    index: Path | None = option("The index.", "-i", default=None, metavar="FOLDER")
    query: str | None = option("The query.", default=None)
    topics: str | None = option(
        "The queries of a run: an ir_datasets id, a file, or '-' for standard input.",
        "-t",
        default=None,
        reads=True,
    )
    output: Path | None = option(
        "The run to write, such as runs/X.trec.gz; '-' is standard output.",
        "-o",
        default=None,
        writes=Writes("run"),
    )
    topic_field: str | None = option(
        "The field to search with, such as title, description or title+narrative.",
        default=None,
        shown="title, query or text",
    )
    model: Annotated[str | None, MODELS] = option(
        "The retrieval model.", default=None, shown="bm25"
    )
    feedback: Annotated[str | None, FEEDBACK] = option(
        "Expand queries by their best documents.", default=None
    )
    k1: float | None = option("Of BM25: saturation of term frequency.", default=None, shown="0.9")
    b: float | None = option("Of BM25: weight of document length.", default=None, shown="0.4")
    more: dict[str, str] = option(
        "A hyperparameter of model or feedback (`adducir kinds models feedback` lists them), as "
        "in mu=500 or fb_docs=5; can be repeated.",
        "--set",
        metavar="KEY=VALUE",
        default={},
    )
    show_expansion: Annotated[bool, needs("feedback")] = option(
        "Print the terms that feedback added.", default=False
    )
    encoder: str | None = option(
        "The encoder of a dense index, if it is not found.", default=None, rare=True
    )
    depth: common.Depth = 1000
    threads: common.Threads = None
    tag: common.Tag = None


def search(settings: Search) -> None:
    """Show the best documents for a query, or write a TREC run for topics.

    Without a query and topics, queries are asked for. A run's metadata is written beside it. A
    topic without hits cannot stand in a run: it is reported here and named in the metadata.

    Examples:
        adducir search indexes/arguments "teacher tenure"
        adducir search --index indexes/arguments --topics bundled:topics -o runs/bm25.trec.gz
        adducir search -i indexes/arguments -t bundled:topics --feedback rm3 -o runs/rm3.trec.gz
    """
    from adducir.cli.console import PlainProgress, open_progress, show
    from adducir.corpora.topics import load_topics
    from adducir.indexes.engines import open_index
    from adducir.indexes.search import search_topics
    from adducir.runs.write import write_run

    path, first = settings.place, None
    if settings.index is not None:
        path, first = settings.index, settings.place
    query = " ".join(filter(None, (str(first or ""), *settings.words, settings.query)))
    if path is None or (settings.topics is None) != (settings.output is None):
        hint = 'For example: adducir search indexes/arguments "teacher tenure".'
        raise UsageError("search takes --index and a query, or --topics and --output.", hint=hint)
    if settings.topics is not None and query:
        raise UsageError(f"the query {query!r} has no effect with --topics.")
    index = open_index(path, encoder=settings.encoder)
    model, feedback = _kinds(settings, index)
    if settings.topics is None or settings.output is None:
        depth = settings.depth if "depth" in settings.model_fields_set else 10
        threads = settings.threads or 1  # several would wait for each other
        found_by = partial(
            index.search, model=model, feedback=feedback, depth=depth, threads=threads
        )
        with PlainProgress(sys.stderr):
            answer(index, query, found_by)
        return
    with open_progress() as progress:
        source = "/dev/stdin" if settings.topics == "-" else settings.topics
        topics = load_topics(source, field=settings.topic_field)
        found = search_topics(
            index,
            topics,
            model,
            tag=common.tag_of(settings.output, settings.tag),
            feedback=feedback,
            depth=settings.depth,
            threads=settings.threads,
        )
        about = {"source": topics.source, "field": topics.field}
        metadata = {"method": found.method, "data": {"topics": about}}
        write_run(found.run, settings.output, metadata, topics=topics.qids)
        rate = len(topics) / found.seconds if found.seconds else 0.0
        progress.note(
            f"{settings.output}: {len(topics):,} topic{'s' * (len(topics) != 1)}, "
            f"{len(found.run):,} hit{'s' * (len(found.run) != 1)}, "
            f"{found.seconds:.1f} s ({rate:,.0f} topics/s)"
        )
        for line in found.remarks():
            progress.note(line)
    if settings.show_expansion and feedback is not None:
        show(expansion(index, topics, model, feedback))


def answer(index: "Index", query: str, search: "Callable[[list[str]], Hits]") -> None:
    """Show the hits of a query, or of each that is typed where there is none."""
    from adducir.cli.hits import print_hits

    if query:
        print_hits(index, query, search)
        return
    if not sys.stdin.isatty():
        hint = "Give a query behind the index, or --topics and --output."
        raise UsageError("there is neither a query nor topics.", hint=hint)
    with suppress(EOFError):
        while typed := input("query: ").strip():
            print_hits(index, typed, search)


def _kinds(settings: Search, index: "Index") -> "tuple[Model, FeedbackMethod | None]":
    """The model and the feedback method, with their hyperparameters."""
    given: dict[str, Any] = dict(settings.more)
    for key in ("k1", "b"):
        if getattr(settings, key) is not None:
            given.setdefault(key, getattr(settings, key))
    if not index.default_model:
        for key in ("model", "feedback", "k1", "b", "more"):
            if key in settings.model_fields_set:
                name = "--set" if key == "more" else f"--{key.replace('_', '-')}"
                raise UsageError(f"{name} has no effect without a lexical index.")
    feedback = None
    if settings.feedback is not None:
        fields = FEEDBACK.kind(settings.feedback).model_fields
        own = {key: given.pop(key) for key in list(given) if key in fields}
        feedback = FEEDBACK.make(settings.feedback, own)
    return MODELS.make(settings.model or index.default_model or "bm25", given), feedback


def expansion(index: "Index", topics: "Topics", model: "Model", feedback: "FeedbackMethod") -> str:
    """A line per topic: qid, query, and the terms that feedback added, heaviest first.

    The three stand between tabs.
    """
    own = index.analysis.terms(topics.queries)
    lines = []
    expanded = index.expand(topics.queries, model, feedback)
    for qid, query, terms, weights in zip(topics.qids, topics.queries, own, expanded, strict=True):
        added = [f"{term}:{weight:.4f}" for term, weight in weights.items() if term not in terms]
        lines.append(f"{qid}\t{query}\t{' '.join(added)}")
    return "\n".join(lines)
