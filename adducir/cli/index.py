"""``adducir index``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from adducir.cli import options
from adducir.cli.effects import where, without
from adducir.cli.outputs import ARTIFACT, SOURCE
from adducir.cli.parameters import argument, option
from adducir.core.errors import UsageError

if TYPE_CHECKING:
    from adducir.core.artifacts import Manifest


DENSE_PANEL = "Dense (--engine dense)"
DENSE = where("engine", "dense")
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
        options.Stemmer | None, option("English's stemmer.", shown="porter"), LEXICAL
    ] = None,
    stopwords: Annotated[
        str, option("'lucene', 'none', or a file with one stop word a line."), LEXICAL
    ] = "lucene",
    threads: Annotated[options.Threads, without("weights")] = None,
    positions: Annotated[
        bool,
        option("Keep the positions of terms.", "--positions/--no-positions", panel=KEPT),
        LUCENE,
        without("weights"),
    ] = True,
    vectors: Annotated[
        bool,
        option("Keep document vectors, for RM3.", "--vectors/--no-vectors", panel=KEPT),
        LUCENE,
        without("weights"),
    ] = True,
    accurate_length: Annotated[
        bool,
        option(
            "Keep exact document lengths, for BM25 alone, instead of Lucene's one byte.", panel=KEPT
        ),
        LEXICAL,
    ] = False,
    separate_fields: Annotated[
        bool,
        option("Index each field by itself too, for `search --field-weights`."),
        LEXICAL,
        without("weights"),
    ] = False,
    docno_field: Annotated[
        str | None, option("The field of the docno, where it has none of the usual names.")
    ] = None,
    format_name: Annotated[
        str | None,
        options.CorpusFormat,
    ] = None,
    engine: Annotated[
        options.Engine | None,
        option(
            "Lucene, arrays in memory that rank as Lucene does, or vectors of an encoder.",
            shown="lucene; with --weights memory",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        option(
            "The encoder's folder or recipe, 'minilm', or a name of the Hub.",
            metavar="MODEL",
            panel=DENSE_PANEL,
        ),
        DENSE,
    ] = None,
    kind: Annotated[
        options.DenseKind | None,
        option(
            "Exact (flat), or approximate with recall measured (hnsw, ivf-pq).",
            shown="flat",
            panel=DENSE_PANEL,
        ),
        DENSE,
    ] = None,
    changes: Annotated[
        list[str] | None,
        option(
            "A setting of the kind, as in links=16; can be repeated.",
            "--set",
            metavar="KEY=VALUE",
            panel=DENSE_PANEL,
        ),
        DENSE,
    ] = None,
    device: Annotated[
        options.DeviceName | None,
        option("Where the encoder runs.", shown="auto", panel=DENSE_PANEL),
        DENSE,
    ] = None,
    precision: Annotated[
        options.AnyPrecision | None,
        option(
            "What the encoder computes in; 'auto' is bfloat16 where the device has it.",
            shown="auto",
            panel=DENSE_PANEL,
        ),
        DENSE,
    ] = None,
    rebuild: options.Rebuild = False,
) -> None:
    """Build an index from a corpus.

    An index that is up to date is not rebuilt. A docno that comes
    twice and a malformed record end the work; nothing half-made is left.
    """
    if source is None and weights is None:
        raise UsageError("name a SOURCE, or --weights.")
    source = source if source is not None else str(weights)
    if engine == options.Engine.DENSE:
        from adducir.cli.index_dense import Request, index_dense

        index_dense(
            Request(
                source,
                output,
                tuple(options.listed(fields)),
                docno_field,
                format_name,
                encoder,
                kind or options.DenseKind.FLAT,
                tuple(changes or ()),
                device or options.DeviceName.AUTO,
                precision or options.AnyPrecision.AUTO,
                threads,
                rebuild,
            )
        )
        return
    from adducir.cli.console import open_progress
    from adducir.corpora.sources import open_corpus
    from adducir.indexes.analysis import Analysis
    from adducir.indexes.builders import builder
    from adducir.indexes.languages.lucene import PRETOKENIZED
    from adducir.indexes.lucene_builder import IndexSettings

    settings = IndexSettings(
        fields=tuple(options.listed(fields)),
        analysis=Analysis.of(
            stemmer.value if stemmer else "",
            stopwords,
            language or ("en" if weights is None else PRETOKENIZED),
        ),
        positions=positions,
        vectors=vectors,
        accurate_length=accurate_length,
        weights=weights,
        separate_fields=separate_fields,
    )
    with open_progress() as progress:
        corpus = open_corpus(
            source,
            docno_field=docno_field,
            format=format_name,
            progress=progress,
        )
        in_memory = engine == options.Engine.MEMORY or weights is not None
        build = builder("memory" if in_memory else "lucene")
        manifest = build(
            corpus, output, settings, threads=threads, rebuild=rebuild, progress=progress
        )
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
