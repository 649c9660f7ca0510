"""``adducir doc2query`` and ``adducir query2doc``."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from adducir.cli import common
from adducir.cli.command import Writes, option, optional, repeatable
from adducir.cli.console import near, note
from adducir.core.errors import UsageError
from adducir.core.files import is_standard_output
from adducir.core.recipe import needs
from adducir.corpora.reading import CorpusReading, QueryReading
from adducir.models.machine import Precision


class Doc2QueryOptions(common.Computing, CorpusReading):
    model: str = option(
        "A sequence-to-sequence model: a folder, or a name on the Hugging Face Hub.", "-m"
    )
    corpus: common.Corpus
    output: common.JsonLines
    number: int = option("Queries per document.", default=20, ge=1)
    filter: str | None = optional(
        "A reranker that scores each query with its document (doc2query--).", metavar="MODEL"
    )
    keep: Annotated[float, needs("filter"), Field(gt=0, le=1)] = option(
        "The share of all queries to keep, by score.", default=0.3
    )
    fields: common.Names = repeatable(
        "The fields to read, comma-separated or repeated.", metavar="FIELDS", shown="those to index"
    )
    top_k: int = option("Draw from so many of the best tokens.", default=10, ge=1)
    seed: int = option("Another seed draws other queries.", default=0, ge=0)
    prompt: str = option("A text before each document.", default="", rare=True)
    length: int = option("Tokens of a document to read.", default=512, ge=1, rare=True)
    query_length: int = option("Maximum tokens of a query.", default=64, ge=1, rare=True)
    queries: Path | None = optional(
        "Where to keep the queries.",
        metavar="FOLDER",
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
    from adducir.expansion.doc2query import Generation, QueryCorpus, generate_queries, score_queries
    from adducir.models.sources import model_source
    from adducir.rerankers.recipe import open_reranker

    output = settings.output
    if settings.queries is None and is_standard_output(output):
        raise UsageError("standard output requires --set queries=FOLDER.")
    target = settings.queries or output.with_name(f"{common.stem(output)}.queries")
    own = settings.model_dump(include={*Generation.model_fields} - {"read"})
    generation = Generation(read=settings.fields, **own)
    running, rebuild = settings.running(), settings.rebuild
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


class Query2docOptions(common.AskingModel, QueryReading):
    topics: common.Topics
    output: Path = option("The expanded topics.", writes=Writes("file", (".tsv",)))
    dense: bool = option(
        "For vectors: the query once, [SEP], and the passage; otherwise the query repeated.",
        default=False,
    )
    repeats: int = option("How often the query stands before the passage.", default=5, ge=1)
    prompt: str = option("The bundled prompt, or a file.", "-p", default="query2doc")


def query2doc(settings: Query2docOptions) -> None:
    """Expand queries by passages that a language model writes.

    The queries are sent to the server that the model's file names; answers are kept.

    Examples:
        adducir query2doc -t bundled:topics -l llm/qwen.yaml -o topics.query2doc.tsv
    """
    from adducir.core.files import publishing, writing_text
    from adducir.judges.llm import open_llm
    from adducir.judges.prompting import QueryPrompt, open_prompt
    from adducir.judges.query2doc import Expansion
    from adducir.runs.write import metadata_for, metadata_text

    prompt = open_prompt(settings.prompt, QueryPrompt)
    form = settings.model_dump(include={"repeats", "failures"})
    expansion = Expansion(open_llm(settings.llm), prompt, is_dense=settings.dense, **form)
    topics = settings.read_topics(settings.topics)
    asked = settings.asked(expansion.model, [expansion.talk(topics)], settings.output)
    expanded = expansion.expanded(topics, *asked)
    with publishing(metadata_for(settings.output)) as hidden:
        hidden.write_text(metadata_text({"query2doc": expanded.facts}), encoding="utf-8")
    with writing_text(settings.output) as file:
        for qid, query in zip(topics.qids, expanded.topics.queries, strict=True):
            file.write(f"{qid}\t{query}\n")
    written = sum(map(bool, expanded.passages))
    note(f"{near(settings.output)}: {written:,} of {len(topics):,} queries expanded")
