"""``adducir search``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.outputs import SOURCE
from adducir.study.errors import UsageError

if TYPE_CHECKING:
    from adducir.corpora.topics import Topics
    from adducir.indexes.engine import Index
    from adducir.indexes.models import RM3Settings
    from adducir.indexes.named import AnyModel
    from adducir.indexes.search import Search

BM25_PANEL = "BM25"
QLD_PANEL = "Query likelihood"
RM3_PANEL = "RM3"


def search(
    index: Annotated[
        Path, typer.Option("--index", "-i", metavar="FOLDER", help="The index."), SOURCE
    ],
    topics: Annotated[
        str,
        typer.Option(
            "--topics",
            "-t",
            help="An ir_datasets id, or a file: TREC's or Touché's XML, TSV or JSONL.",
        ),
        SOURCE,
    ],
    output: options.RunOutput,
    topic_field: Annotated[
        str | None,
        typer.Option(
            "--topic-field",
            help="The field to search with, such as title, description or title+narrative.",
            show_default="title, query or text",
        ),
    ] = None,
    model: Annotated[
        options.Model | None,
        typer.Option(
            "--model",
            show_default="bm25",
            help="BM25, query likelihood (DirichletLM), or, of memory indexes, a variant of BM25.",
        ),
    ] = None,
    k1: Annotated[
        float | None,
        typer.Option(
            "--k1",
            show_default="0.9",
            rich_help_panel=BM25_PANEL,
            help="Term saturation; of okapi, bm25l and bm25+ 1.5 by default.",
        ),
    ] = None,
    b: Annotated[
        float | None,
        typer.Option(
            "--b",
            show_default="0.4",
            rich_help_panel=BM25_PANEL,
            help="Length weight; of okapi, bm25l and bm25+ 0.75 by default.",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon",
            show_default="0.25",
            rich_help_panel=BM25_PANEL,
            help="The floor of okapi's idf, as a part of the mean idf.",
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            "--delta",
            show_default="1, of bm25l 0.5",
            rich_help_panel=BM25_PANEL,
            help="What a term is worth beyond its frequency (bm25l, bm25+).",
        ),
    ] = None,
    mu: Annotated[
        float | None,
        typer.Option("--mu", show_default="1000", rich_help_panel=QLD_PANEL, help="Smoothing."),
    ] = None,
    rm3: Annotated[
        bool,
        typer.Option("--rm3", rich_help_panel=RM3_PANEL, help="Expand queries by feedback."),
    ] = False,
    fb_terms: Annotated[
        int | None,
        typer.Option(
            "--fb-terms", show_default="10", rich_help_panel=RM3_PANEL, help="Feedback terms."
        ),
        with_any("rm3"),
    ] = None,
    fb_docs: Annotated[
        int | None,
        typer.Option(
            "--fb-docs", show_default="10", rich_help_panel=RM3_PANEL, help="Feedback documents."
        ),
        with_any("rm3"),
    ] = None,
    original_query_weight: Annotated[
        float | None,
        typer.Option(
            "--original-query-weight",
            show_default="0.5",
            rich_help_panel=RM3_PANEL,
            help="Weight of the query itself, 0 to 1.",
        ),
        with_any("rm3"),
    ] = None,
    show_expansion: Annotated[
        bool,
        typer.Option(
            "--show-expansion", rich_help_panel=RM3_PANEL, help="Print the terms that RM3 added."
        ),
        with_any("rm3"),
    ] = False,
    depth: options.Depth = 1000,
    threads: options.Threads = None,
    tag: options.Tag = None,
) -> None:
    """Search an index for every topic and write a TREC run.

    The run's metadata is written beside it. A topic without hits cannot stand in a run: it is
    reported here and named in the metadata.
    """
    given_rm3 = {
        "fb_terms": fb_terms,
        "fb_docs": fb_docs,
        "original_query_weight": original_query_weight,
    }

    from adducir.cli.search_dense import Asked, is_dense, search_dense

    if is_dense(index):
        lexical = {"model": model, "k1": k1, "b": b, "mu": mu, "epsilon": epsilon, "delta": delta}
        _refuse(True, {**lexical, "rm3": rm3 or None}, "a lexical index")
        search_dense(Asked(index, topics, output, topic_field, depth, threads, tag))
        return

    from adducir.cli.console import open_progress, show
    from adducir.corpora.topics import load_topics
    from adducir.indexes.engine import open_index, remark_on
    from adducir.indexes.models import RM3Settings
    from adducir.indexes.search import search_topics
    from adducir.runs.write import write_run

    opened = open_index(index)
    formula = _model(
        model.value if model else opened.default_model,
        _given(k1=k1, b=b, mu=mu, epsilon=epsilon, delta=delta),
    )
    feedback = RM3Settings(**_given(**given_rm3)) if rm3 else None
    with open_progress() as progress:
        queries = load_topics(topics, field=topic_field, progress=progress)
        found = search_topics(
            opened,
            queries,
            formula,
            tag=options.tag_of(output, tag),
            rm3=feedback,
            depth=depth,
            threads=threads,
        )
        write_run(found.run, output, metadata(found, queries), topics=queries.qids)
        for line in filter(None, (remark_on(opened), *notes(found, queries, output))):
            progress.note(line)
    if feedback is not None and show_expansion:
        show(expansion(opened, queries, formula, feedback))


def _model(name: str, given: dict[str, float]) -> "AnyModel":
    from adducir.indexes.named import model_named, models_with

    for parameter in given:
        models = models_with(parameter)
        _refuse(name not in models, {parameter: True}, f"--model {' or '.join(models)}")
    return model_named(name, given)


def _refuse(meaningless: bool, given: dict[str, Any], condition: str) -> None:
    for name, value in given.items():
        if meaningless and value is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} means nothing without {condition}.")


def _given(**values: Any) -> dict[str, Any]:
    """What the user said; the rest has the room's defaults."""
    return {name: value for name, value in values.items() if value is not None}


def metadata(found: "Search", topics: "Topics") -> dict[str, Any]:
    """What to tell beside the run about how it was made."""
    return {
        "method": {"retrieval": [found.settings]},
        "data": {"topics": {"source": topics.source, "field": topics.field}},
    }


def notes(found: "Search", topics: "Topics", output: Path) -> list[str]:
    """What to tell the user about a search."""
    rate = len(topics) / found.seconds if found.seconds else 0.0
    lines = [
        f"{output}: {len(topics):,} topics, {len(found.run):,} hits, {found.seconds:.1f} s "
        f"({rate:,.0f} topics a second)"
    ]
    if found.empty:
        lines.append(f"no term is left of the query after analysis: {_listed(found.empty)}")
    if found.unanswered:
        lines.append(f"no term of the query is in the index: {_listed(found.unanswered)}")
    if found.tied:
        what = "all documents have one score, so that docnos order them"
        lines.append(f"{what}: {_listed(found.tied)}")
    return lines


def _listed(qids: tuple[str, ...]) -> str:
    more = f" and {len(qids) - 10} more" if len(qids) > 10 else ""
    return f"{'topic' if len(qids) == 1 else 'topics'} {', '.join(qids[:10])}{more}"


def expansion(index: "Index", topics: "Topics", model: "AnyModel", rm3: "RM3Settings") -> str:
    """A line a topic: qid, query, and the terms that RM3 added with their weights, heaviest first.

    The three stand between tabs.
    """
    own = index.analysis.terms(topics.queries)
    lines = []
    expanded = index.expand(topics.queries, model, rm3)
    for qid, query, terms, weights in zip(topics.qids, topics.queries, own, expanded, strict=True):
        added = [f"{term}:{weight:.4f}" for term, weight in weights.items() if term not in terms]
        lines.append(f"{qid}\t{query}\t{' '.join(added)}")
    return "\n".join(lines)
