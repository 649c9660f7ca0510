"""``adducir doc2query``."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from adducir.cli import common
from adducir.cli.command import option
from adducir.cli.common import Computing
from adducir.core.errors import UsageError
from adducir.core.files import is_standard_output
from adducir.core.recipe import needs
from adducir.corpora.reading import CorpusReading
from adducir.models.machine import Precision


class Doc2QueryOptions(Computing, CorpusReading):
    model: str = option(
        "A sequence-to-sequence model: a folder, or a name on the Hugging Face Hub.", "-m"
    )
    corpus: common.Corpus
    output: common.JsonLines
    number: int = option("Queries per document.", default=20, ge=1)
    filter: str | None = option(
        "A reranker that scores each query with its document (doc2query--).",
        metavar="MODEL",
        default=None,
    )
    keep: Annotated[float, needs("filter"), Field(gt=0, le=1)] = option(
        "The share of all queries to keep, by score.", default=0.3
    )
    fields: common.Names = option(
        "The fields to read, comma-separated or repeated.",
        metavar="FIELDS",
        default=(),
        shown="those to index",
    )
    top_k: int = option("Draw from so many of the best tokens.", default=10, ge=1)
    seed: int = option("Another seed draws other queries.", default=0, ge=0)
    prompt: str = option("A text before each document.", default="", rare=True)
    length: int = option("Tokens of a document to read.", default=512, ge=1, rare=True)
    query_length: int = option("Maximum tokens of a query.", default=64, ge=1, rare=True)
    queries: Path | None = option(
        "Where to keep the queries.",
        metavar="FOLDER",
        default=None,
        shown="beside the output, with suffix .queries",
        rare=True,
    )
    precision: Precision = option("Numeric precision.", default="float32", rare=True)
    rebuild: common.Rebuild = False


def doc2query(settings: Doc2QueryOptions) -> None:
    """Add generated queries to the documents of a corpus, or the best of them.

    Every document is written, with all its fields and the field `queries`. Killed work resumes, and
    kept queries are not generated again.

    Examples:
        adducir doc2query -m castorini/doc2query-t5-base-msmarco -c cacm.jsonl -o expanded.jsonl.gz
        adducir doc2query -m models/t5 -c cacm.jsonl --filter cross-encoder:models/ce -o best.jsonl
    """
    from adducir.cli.common import stem
    from adducir.cli.console import near, note, open_progress
    from adducir.expansion.doc2query import (
        Generation,
        QueryCorpus,
        generate_queries,
        score_queries,
    )
    from adducir.models.sources import model_source
    from adducir.rerankers.recipe import open_reranker

    output = settings.output
    if settings.queries is None and is_standard_output(output):
        raise UsageError("standard output requires --set queries=FOLDER.")
    target = settings.queries or output.with_name(f"{stem(output)}.queries")
    generation = Generation.model_validate(
        {
            "read": settings.fields,
            **settings.model_dump(include=set(Generation.model_fields) - {"read"}),
        }
    )
    running, rebuild = settings.running(), settings.rebuild
    with open_progress():
        documents = settings.opened(settings.corpus)
        source = model_source(settings.model)
        manifest = generate_queries(source, documents, target, generation, running, rebuild=rebuild)
        fingerprints, scores, keep = [manifest.fingerprint], None, 1.0
        if settings.filter is not None:
            reranker = open_reranker(settings.filter, running=running)
            scores, keep = target.with_name(f"{target.name}.scores"), settings.keep
            scored = score_queries(target, documents, reranker, scores, running, rebuild=rebuild)
            fingerprints.append(scored.fingerprint)
        corpus = QueryCorpus(documents, target, tuple(fingerprints), scores, keep)
        count, words = corpus.write(output)
    total = manifest.counts["queries"]
    kept = f", {keep:.0%} of them kept" if scores else ""
    note(f"{near(output)}: {count:,} documents, {total:,} queries{kept}, {words:,} words added")
