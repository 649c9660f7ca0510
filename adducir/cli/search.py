"""``adducir search``."""

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import model_validator

from adducir.cli import common
from adducir.cli.command import Writes, option, optional, repeatable
from adducir.cli.console import note, show, shown_rate
from adducir.core.errors import InputError, UsageError
from adducir.core.packages import imported
from adducir.core.progress import progress
from adducir.core.recipe import errors_at, needs, refusing, without
from adducir.core.texts import counted
from adducir.corpora.reading import QUERY_FIELD, QrelsReading, TopicReading
from adducir.indexes.search_settings import SearchSettings

if TYPE_CHECKING:
    from adducir.corpora.topics import Topics
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.hits import Hits
    from adducir.indexes.index import Index
    from adducir.indexes.models import Model


class SearchOptions(SearchSettings, TopicReading, QrelsReading):
    conditions = {"qid_field": needs("topics"), "word_weights": needs("output")}  # noqa: RUF012
    place: str | None = optional("The index, before a query.", metavar="[INDEX]", argument=True)
    words: tuple[str, ...] = repeatable(
        "A query: its ten best documents are shown.", metavar="[QUERY]...", argument=True
    )
    index: Path | None = optional("The index.")
    query: str | None = optional("The query.")
    topics: str | None = optional(
        "The queries of a run: an ir_datasets id, a file, or '-' for standard input.", reads=True
    )
    qrels: Annotated[list[str], without("output")] = option(
        "Show grades where the query is one of --topics, by its number or title.",
        "-q",
        default=[],
        reads=True,
    )
    output: Path | None = optional(
        "The run to write, such as runs/X.trec.gz; '-' is standard output.", writes=Writes("run")
    )
    query_field: Annotated[str | None, needs("topics")] = optional(
        "The field to search with, such as title, description or title+narrative.",
        shown="title, query or text",
        validation_alias=QUERY_FIELD,
    )
    k1: float | None = optional("BM25's saturation of term frequency.", shown="0.9")
    b: float | None = optional("BM25's weight of document length.", shown="0.4")
    show_expansion: Annotated[bool, needs("feedback"), needs("output")] = option(
        "Print the terms that feedback adds.", default=False
    )
    stemmer: str | None = optional("What bm25s stemmed its index with.", rare=True)
    threads: common.Threads = None
    tag: Annotated[common.Tag, needs("output")] = None
    allow_code: common.AllowCode = False

    @model_validator(mode="before")
    @classmethod
    def _with_parameters(cls, value: Any) -> Any:
        """YAML's mappings as such, and the options of BM25 among the others."""
        stated = dict(value.get("parameters", {}))
        for key, text in stated.items():
            if text.startswith("{"):  # only then is YAML imported
                try:
                    stated[key] = imported("adducir.core.config:parse_value")(text)
                except InputError as error:
                    raise errors_at(((key,), error.what)) from error
        beside = {key: value[key] for key in ("k1", "b") if key in value}
        return {**value, "parameters": beside | stated}


def search(settings: SearchOptions) -> None:
    """Show the best documents for a query, or write a TREC run for topics.

    Without a query or topics, search prompts for queries. A run's metadata is written beside it. A
    topic without hits cannot appear in a run: it is reported and listed in the metadata.

    Examples:
        adducir search indexes/arguments "teacher tenure"
        adducir search indexes/arguments 12 --topics bundled:topics --qrels bundled:qrels
        adducir search --index indexes/arguments --topics bundled:topics -o runs/bm25.trec.gz
        adducir search -i indexes/arguments -t bundled:topics --feedback rm3 -o runs/rm3.trec.gz
    """
    from adducir.indexes.engines import open_index

    path, first = settings.place and Path(settings.place), None
    if settings.index is not None:
        path, first = settings.index, settings.place
    query = " ".join(filter(None, (first, *settings.words, settings.query)))
    writes = settings.output is not None
    if path is None or ((settings.topics is not None) != writes and (writes or not settings.qrels)):
        hint = 'For example: adducir search indexes/arguments "teacher tenure".'
        raise UsageError("search takes --index and a query, or --topics and --output.", hint=hint)
    if writes and query:
        raise UsageError(f"the query {query!r} has no effect with --topics.")
    index = open_index(path, encoder=settings.encoder, stemmer=settings.stemmer)
    judged = _judged(settings)
    with refusing():
        model, feedback = settings.chosen(index.default_model)
    if settings.output is None or settings.topics is None:
        depth = settings.depth if "depth" in settings.model_fields_set else 10
        threads = settings.threads or 1  # several would wait for each other

        def found_by(query: str) -> "Hits":
            if settings.encoder is None or not index.takes_weights:  # without imports for topics
                how: Any = {"feedback": feedback, "depth": depth, "fold": settings.fold}
                return index.search([query], model, threads=threads, **how)
            from adducir.corpora.topics import Topics
            from adducir.indexes.search import search_topics
            from adducir.models.running import Running

            few, running = settings.model_copy(update={"depth": depth}), Running(threads=threads)
            return search_topics(index, Topics(["1"], [query], "query"), few, running=running).hits

        answer(index, query, found_by, judged)
        return
    from adducir.indexes.search import search_topics
    from adducir.models.running import Running
    from adducir.runs.write import write_run

    topics = settings.read_topics(settings.topics, settings.query_field)
    if (encoder := getattr(index, "source", None)) is not None:
        from adducir.training.leaks import note_seen

        note_seen(encoder.query.folder, topics)
    found = search_topics(
        index,
        topics,
        settings,
        tag=common.tag_of(settings.output, settings.tag),
        running=Running(threads=settings.threads),
    )
    write_run(found.run, settings.output, topics=topics.qids)
    note(
        f"{settings.output}: {counted(len(topics), 'topic')}, "
        f"{counted(len(found.run), 'hit')}, {found.seconds:.1f} s "
        f"({shown_rate(len(topics), found.seconds)} topics/s)"
    )
    for line in found.remarks():
        note(line)
    if settings.show_expansion and feedback is not None and model is not None:
        show(expansion(index, topics, model, feedback))


def answer(
    index: "Index",
    query: str,
    search: "Callable[[str], Hits]",
    judged: "Callable[[str], tuple[str, Mapping[str, int] | None]]",
) -> None:
    """Show the hits of a query, or prompt for queries."""
    from adducir.cli.hits import print_hits

    if query:
        print_hits(index, search, *judged(query))
        return
    if not sys.stdin.isatty():
        hint = "Give a query after the index, or --topics and --output."
        raise UsageError("a query or topics are missing.", hint=hint)
    progress().rest()
    with suppress(EOFError):
        while typed := input("query: ").strip():
            print_hits(index, search, *judged(typed))


def _judged(settings: SearchOptions) -> "Callable[[str], tuple[str, Mapping[str, int] | None]]":
    """Finds what to search for a query, which may name a topic, and the topic's grades."""
    if not settings.qrels:
        return lambda query: (query, None)
    frame, titles = settings.read_qrels(settings.qrels).frame, dict[str, str]()
    if settings.topics is not None:
        topics = settings.read_topics(settings.topics, settings.query_field)
        titles = dict(zip(topics.qids, topics.texts, strict=True))
    numbers = {" ".join(text.casefold().split()): qid for qid, text in titles.items()}

    def judged(query: str) -> tuple[str, Mapping[str, int] | None]:
        qid = query if query in titles else numbers.get(" ".join(query.casefold().split()))
        if qid is None:
            lacks = f"{query!r} is not the number or title of a topic in {settings.topics}"
            note(f"--qrels do not apply: {lacks if titles else 'a free query needs --topics'}.")
            return query, None
        own = frame.filter(qid=qid)
        return titles[qid], dict(zip(own["docno"], own["grade"], strict=True))

    return judged


def expansion(index: "Index", topics: "Topics", model: "Model", feedback: "FeedbackMethod") -> str:
    """A line per topic: qid, query, and the terms that feedback added, by descending weight.

    The three are tab-separated.
    """
    from adducir.indexes.search import queries_of

    own = index.analysis.terms(topics.queries)
    lines = []
    expanded = index.expand(queries_of(index, topics), model, feedback)
    for qid, query, terms, weights in zip(topics.qids, topics.queries, own, expanded, strict=True):
        added = [f"{term}:{weight:.4f}" for term, weight in weights.items() if term not in terms]
        lines.append(f"{qid}\t{query}\t{' '.join(added)}")
    return "\n".join(lines)
