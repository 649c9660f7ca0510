"""``adducir search``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.hyperparameters import Choices, chosen, hyperparameters_of, kind_option
from adducir.cli.outputs import SOURCE
from adducir.cli.parameters import option
from adducir.core.errors import UsageError
from adducir.indexes.feedback import FEEDBACK
from adducir.indexes.models import MODELS

if TYPE_CHECKING:
    from adducir.corpora.topics import Topics
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.index import Index
    from adducir.indexes.models import Model


def search(
    index: Annotated[Path, option("The index.", "-i", metavar="FOLDER"), SOURCE],
    topics: Annotated[
        str,
        option("An ir_datasets id, or a file: TREC's or Touché's XML, TSV or JSONL.", "-t"),
        SOURCE,
    ],
    output: options.RunOutput,
    topic_field: Annotated[
        str | None,
        option(
            "The field to search with, such as title, description or title+narrative.",
            shown="title, query or text",
        ),
    ] = None,
    model: Annotated[str | None, kind_option(MODELS, shown="bm25")] = None,
    feedback: Annotated[
        str | None,
        option(
            f"Expand queries by their best documents: one of {', '.join(FEEDBACK)}.", metavar="NAME"
        ),
    ] = None,
    field_weights: Annotated[
        list[str] | None,
        option(
            "BM25F: weights of separate fields, as in title=2,text=1; can be repeated.",
            metavar="FIELD=WEIGHT",
        ),
    ] = None,
    show_expansion: Annotated[
        bool, option("Print the terms that feedback added."), with_any("feedback")
    ] = False,
    encoder: Annotated[
        str | None,
        option(
            "The encoder of a dense index, where it is not found.",
            metavar="NAME",
            shown="as the index was built",
            rare=True,
        ),
    ] = None,
    depth: options.Depth = 1000,
    threads: options.Threads = None,
    tag: options.Tag = None,
    *,
    hyperparameters: Annotated[dict[str, str], hyperparameters_of(MODELS, FEEDBACK)],
) -> None:
    """Search an index for every topic and write a TREC run.

    The run's metadata is written beside it. A topic without hits cannot stand in a run: it is
    reported here and named in the metadata.
    """
    from adducir.cli.console import open_progress, show
    from adducir.corpora.topics import load_topics
    from adducir.indexes.engines import open_index
    from adducir.indexes.search import search_topics
    from adducir.runs.write import write_run

    # Options without effect are refused before anything is read.
    choices: Choices = {"--model": (MODELS, model or "bm25"), "--feedback": (FEEDBACK, feedback)}
    formula, method = chosen(hyperparameters, choices)
    opened = open_index(index, encoder=encoder)
    if not opened.default_model:
        given = {"model": model, "feedback": feedback, "field_weights": field_weights}
        _refuse_lexical({**given, **hyperparameters})
    elif model is None and opened.default_model != "bm25":
        choices = {**choices, "--model": (MODELS, opened.default_model)}
        formula, method = chosen(hyperparameters, choices)
    with open_progress() as progress:
        queries = load_topics(topics, field=topic_field)
        found = search_topics(
            opened,
            queries,
            formula,
            tag=options.tag_of(output, tag),
            feedback=method,
            fields=_weights(field_weights),
            depth=depth,
            threads=threads,
        )
        about = {"source": queries.source, "field": queries.field}
        metadata = {"method": found.method, "data": {"topics": about}}
        write_run(found.run, output, metadata, topics=queries.qids)
        rate = len(queries) / found.seconds if found.seconds else 0.0
        what = (
            f"{output}: {len(queries):,} topics, {len(found.run):,} hits, {found.seconds:.1f} s "
            f"({rate:,.0f} topics a second)"
        )
        for line in (what, *found.remarks()):
            progress.note(line)
    if show_expansion:
        show(expansion(opened, queries, formula, method))


def _weights(given: list[str] | None) -> dict[str, float] | None:
    """The weights of fields as they are typed."""
    found: dict[str, float] = {}
    for text in options.listed(given):
        name, _, weight = text.partition("=")
        try:
            found[name.strip()] = float(weight)
        except ValueError:
            raise UsageError(
                f"{text!r} is no weight of a field.", hint="Write --field-weights title=2,text=1."
            ) from None
    return found or None


def _refuse_lexical(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} means nothing without a lexical index.")


def expansion(index: "Index", topics: "Topics", model: "Model", feedback: "FeedbackMethod") -> str:
    """A line a topic: qid, query, and the terms that feedback added, heaviest first.

    The three stand between tabs.
    """
    own = index.analysis.terms(topics.queries)
    lines = []
    expanded = index.expand(topics.queries, model, feedback)
    for qid, query, terms, weights in zip(topics.qids, topics.queries, own, expanded, strict=True):
        added = [f"{term}:{weight:.4f}" for term, weight in weights.items() if term not in terms]
        lines.append(f"{qid}\t{query}\t{' '.join(added)}")
    return "\n".join(lines)
