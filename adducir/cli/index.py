"""``adducir index``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import options
from adducir.cli.effects import where, without
from adducir.cli.index_dense import Dense, DenseShards, build_dense
from adducir.cli.outputs import ARTIFACT, SOURCE
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.core.artifacts import Manifest

LUCENE = where("engine", "lucene", None)
LEXICAL = where("engine", "lucene", "memory", None)
KEPT = "What the index keeps"


def index(
    source: Annotated[
        str | None,
        argument(
            "An ir_datasets id, or a file or folder of JSONL, TREC SGML or TSV, plain or .gz.",
            "SOURCE",
            shown="the file of --weights",
        ),
    ] = None,
    *,
    output: Annotated[Path, option("The index's folder, such as indexes/NAME.", "-o"), ARTIFACT],
    fields: Annotated[
        list[str] | None,
        option("The fields to index, with commas or repeated.", shown="the corpus's texts"),
    ] = None,
    weights: Annotated[
        Path | None,
        option(
            "Index these weights of the documents' tokens (JSON lines) in place of texts.",
            metavar="FILE",
        ),
        SOURCE,
        where("engine", "memory", None),
    ] = None,
    language: Annotated[
        str | None,
        option(
            "The language of documents and queries, such as de, fr or zh.",
            metavar="CODE",
            shown="en; with --weights pretokenized",
        ),
        LEXICAL,
    ] = None,
    stemmer: Annotated[
        Literal["porter", "krovetz", "none"] | None,
        option("English's stemmer.", shown="porter"),
        LEXICAL,
    ] = None,
    stopwords: Annotated[
        str, option("'lucene', 'none', or a file with one stop word a line."), LEXICAL
    ] = "lucene",
    threads: Annotated[options.Threads, without("weights")] = None,
    positions: Annotated[
        bool,
        option("Keep the positions of terms.", panel=KEPT, rare=True),
        LUCENE,
        without("weights"),
    ] = True,
    vectors: Annotated[
        bool,
        option("Keep document vectors, for RM3.", panel=KEPT, rare=True),
        LUCENE,
        without("weights"),
    ] = True,
    accurate_length: Annotated[
        bool,
        option(
            "Keep exact document lengths, for BM25 alone, instead of Lucene's one byte.",
            panel=KEPT,
            rare=True,
        ),
        LEXICAL,
    ] = False,
    separate_fields: Annotated[
        bool,
        option("Index each field by itself too, for `search --field-weights`.", rare=True),
        LUCENE,
        without("weights"),
    ] = False,
    docno_field: options.DocnoField = None,
    format_name: options.CorpusFormat = None,
    engine: Annotated[
        Literal["lucene", "memory", "dense"] | None,
        option(
            "Lucene, arrays in memory that rank as Lucene does, or vectors of an encoder.",
            shown="lucene; with --weights memory",
        ),
    ] = None,
    rebuild: options.Rebuild = False,
    dense: Dense,
    shards: DenseShards,
) -> None:
    """Build an index from a corpus.

    An index that is up to date is not rebuilt. A docno that comes
    twice and a malformed record end the work; nothing half-made is left.
    """
    if source is None and weights is None:
        raise UsageError("name a SOURCE, or --weights.")
    source = source if source is not None else str(weights)
    named = tuple(options.listed(fields))

    from adducir.cli.console import open_progress
    from adducir.corpora.sources import open_corpus

    with open_progress() as progress:
        corpus = open_corpus(source, docno_field=docno_field, format=format_name)
        if engine == "dense":
            build_dense(dense, shards, corpus, output, named, threads, rebuild)
            return

        from adducir.indexes.analysis import Analysis
        from adducir.indexes.building import IndexSettings
        from adducir.indexes.engines import builder
        from adducir.indexes.languages import PRETOKENIZED

        settings = IndexSettings(
            fields=named,
            analysis=Analysis.of(
                stemmer or "", stopwords, language or ("en" if weights is None else PRETOKENIZED)
            ),
            positions=positions,
            vectors=vectors,
            accurate_length=accurate_length,
            weights=weights,
            separate_fields=separate_fields,
        )
        build = builder("memory" if engine == "memory" or weights is not None else "lucene")
        manifest = build(corpus, output, settings, threads=threads, rebuild=rebuild)
        progress.note(f"{output}: {summary(manifest)}")


def summary(manifest: "Manifest") -> str:
    """What an index holds, in one line."""
    counts = manifest.counts
    empty = counts.get("empty", 0)
    without = f" ({empty:,} without text, which cannot be found)" if empty else ""
    return (
        f"{counts['documents']:,} documents{without}, {counts['terms']:,} terms, "
        f"{counts['tokens']:,} tokens"
    )
