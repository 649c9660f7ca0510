"""``adducir index``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import common
from adducir.cli.command import option
from adducir.cli.workers import Computing
from adducir.core.errors import UsageError
from adducir.core.recipe import needs, without
from adducir.core.texts import counted
from adducir.corpora.reading import Reading
from adducir.encoders.statement import EncodingSettings
from adducir.models.machine import Precision

if TYPE_CHECKING:
    from adducir.core.artifacts import Manifest
    from adducir.corpora.documents import Corpus

LUCENE = needs(engine=("lucene", None))
LEXICAL = needs(engine=("lucene", "memory", None))
DENSE = needs(engine="dense")
TEXTS = without("weights")
PANEL = "Dense (--engine dense)"


class Index(Computing, Reading, EncodingSettings):
    conditions = dict.fromkeys((*Computing.model_fields, *EncodingSettings.model_fields), DENSE)
    source: str | None = option(
        "An ir_datasets id, or a file or folder: JSONL, CSV, Parquet, TREC, TSV, text, HTML, PDF.",
        metavar="SOURCE",
        argument=True,
        default=None,
        shown="the file of --weights",
        reads=True,
    )
    output: Path = option("The index's folder, such as indexes/NAME.", "-o", writes=common.FOLDER)
    fields: common.Names = option(
        "The fields to index, comma-separated or repeated.", default=(), shown="the corpus's texts"
    )
    engine: Literal["lucene", "memory", "dense"] | None = option(
        "Lucene, arrays in memory that rank as Lucene does, or an encoder's vectors.",
        default=None,
        shown="lucene; with --weights memory",
    )
    weights: Annotated[Path | None, needs(engine=("memory", None))] = option(
        "Index these token weights (JSON lines) instead of texts.",
        default=None,
    )
    language: Annotated[str | None, LEXICAL] = option(
        "The language of documents and queries, such as de, fr or zh.",
        metavar="CODE",
        default=None,
        shown="en; with --weights pretokenized",
    )
    stemmer: Annotated[Literal["porter", "krovetz", "none"] | None, LEXICAL] = option(
        "English's stemmer.", default=None, shown="porter"
    )
    stopwords: Annotated[str, LEXICAL] = option(
        "'lucene', 'none', or a file with one stop word per line.", default="lucene"
    )
    threads: Annotated[common.Threads, TEXTS] = None
    positions: Annotated[bool, LUCENE, TEXTS] = option(
        "Store positions of terms.", default=True, rare=True
    )
    vectors: Annotated[bool, LUCENE, TEXTS] = option(
        "Store document vectors, for RM3.", default=True, rare=True
    )
    accurate_length: Annotated[bool, LEXICAL] = option(
        "Store exact document lengths, for BM25 only, instead of Lucene's one byte.",
        default=False,
        rare=True,
    )
    rebuild: common.Rebuild = False
    encoder: Annotated[str | None, DENSE] = option(
        "The encoder's folder or recipe, 'minilm', or a name on the Hub.",
        metavar="MODEL",
        default=None,
        panel=PANEL,
    )
    kind: Annotated[str, DENSE] = option(
        "FAISS's index: Flat is exact; HNSW32 or IVF1024,PQ48x8 are not, so recall is measured.",
        default="Flat",
        rare=True,
    )
    parameters: Annotated[str, DENSE] = option(
        "FAISS's parameters, such as efSearch=64 or nprobe=16.", default="", rare=True
    )
    device: Annotated[Literal["auto", "cpu", "cuda", "mps"], DENSE] = option(
        "Where the encoder runs.", default="auto", rare=True
    )
    precision: Annotated[Precision, DENSE] = option(
        "Numeric precision; bfloat16 is coarser and usually faster.",
        default="float32",
        rare=True,
    )


def index(settings: Index) -> None:
    """Build an index from a corpus.

    An index that is up to date is not rebuilt. Repeated docnos and malformed records are errors,
    which leave nothing half-built.

    Examples:
        adducir index bundled:arguments --fields conclusion,premise -o indexes/arguments
        adducir index vaswani --engine memory --output indexes/vaswani
    """
    source = settings.source or settings.weights
    if source is None:
        raise UsageError("name a SOURCE, or --weights.")

    from adducir.cli.console import near, open_progress

    with open_progress() as progress:
        corpus = settings.opened(str(source), settings.fields)
        build = _build_dense if settings.engine == "dense" else _build_lexical
        manifest = build(settings, corpus)
        progress.note(f"{near(settings.output)}: {summary(manifest)}")


def _build_lexical(settings: Index, corpus: "Corpus") -> "Manifest":
    from adducir.indexes.analysis import PRETOKENIZED, Analysis
    from adducir.indexes.building import IndexSettings
    from adducir.indexes.engines import build_index

    weights = settings.weights
    language = settings.language or ("en" if weights is None else PRETOKENIZED)
    content = IndexSettings(
        fields=settings.fields,
        analysis=Analysis.of(settings.stemmer or "", settings.stopwords, language),
        positions=settings.positions,
        vectors=settings.vectors,
        accurate_length=settings.accurate_length,
        weights=weights,
    )
    return build_index(
        corpus,
        settings.output,
        content,
        engine="memory" if settings.engine == "memory" or weights else "lucene",
        threads=settings.threads,
        rebuild=settings.rebuild,
    )


def _build_dense(settings: Index, corpus: "Corpus") -> "Manifest":
    from adducir.encoders.kinds import encoder_source
    from adducir.indexes.building import DenseSettings
    from adducir.indexes.dense import build_dense_index

    if settings.encoder is None:
        raise UsageError(
            "--engine dense needs --encoder.", hint="'--encoder minilm' needs no download."
        )
    return build_dense_index(
        corpus,
        settings.output,
        encoder_source(settings.encoder, encoding=settings),
        DenseSettings(kind=settings.kind, parameters=settings.parameters),
        fields=settings.fields,
        running=settings.running(),
        rebuild=settings.rebuild,
    )


def summary(manifest: "Manifest") -> str:
    counts = manifest.counts
    if "width" in counts:
        measured = counts.get("recall")
        recall = f", recall@{measured['at']} {measured['recall']:.3f}" if measured else ""
        return (
            f"{counts['documents']:,} documents, vectors of {counts['width']:,} numbers computed "
            f"in {manifest.recipe['precision']}{recall}"
        )
    empty = counts.get("empty", 0)
    without_text = f" ({empty:,} without text, which cannot be found)" if empty else ""
    return (
        f"{counted(counts['documents'], 'document')}{without_text}, "
        f"{counted(counts['terms'], 'term')}, {counted(counts['tokens'], 'token')}"
    )
