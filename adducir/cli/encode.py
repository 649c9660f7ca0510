"""``adducir encode``."""

from pathlib import Path
from typing import Annotated, Literal

from adducir.cli import common
from adducir.cli.command import option
from adducir.core.errors import UsageError
from adducir.core.recipe import needs


class Encode(common.Computing):
    model: str = option(
        "An encoder: its folder or recipe, 'minilm', a name of the Hub, or two of them with a "
        "comma between (queries, documents).",
        "-m",
        metavar="MODEL",
    )
    output: Path = option("The folder of the vectors or weights.", "-o", writes=common.FOLDER)
    sparse: bool = option(
        "Token weights by a learned sparse encoder (SPLADE, for example), in place of vectors.",
        default=False,
    )
    corpus: str | None = option(
        "An ir_datasets id, or a file or folder.", "-c", metavar="SOURCE", default=None, reads=True
    )
    spans: Path | None = option("Masked spans, in place of a corpus.", default=None)
    side: Annotated[Literal["context", "span"], needs("spans")] = option(
        "With --spans: encode the contexts, or the spans themselves.", default="context"
    )
    topics: Annotated[str | None, needs("sparse")] = option(
        "With --sparse: the queries of topics, in place of a corpus.", "-t", default=None
    )
    fields: Annotated[common.Names, needs("corpus")] = option(
        "With --corpus: the fields to encode, with commas or repeated.",
        default=(),
        shown="the corpus's texts",
    )
    docno_field: Annotated[common.DocnoField, needs("corpus")] = None
    format: Annotated[common.CorpusFormat, needs("corpus")] = None
    device: common.Device = "auto"
    precision: common.PrecisionOption = "float32"
    threads: common.Threads = None
    rebuild: common.Rebuild = False


def encode(settings: Encode) -> None:
    """Encode a corpus, or contexts and spans, into vectors.

    Work that was killed resumes. A digest ties the vectors to their docnos. With --sparse the
    folder has weights.jsonl.gz, which `adducir index --weights` and `adducir search --topics` read.

    Examples:
        adducir encode --model minilm --corpus corpus.jsonl --output vectors/corpus
        adducir encode --model minilm --corpus corpus.jsonl --workers 8 -o vectors/corpus
        adducir encode --sparse --model naver/splade-v3 --corpus corpus.jsonl -o weights/corpus
        adducir encode --sparse --model naver/splade-v3 --topics topics.tsv -o weights/queries
    """
    if (settings.corpus, settings.spans, settings.topics).count(None) != 2:
        raise UsageError("give one of --corpus, --spans and --topics.")
    if settings.sparse and settings.spans is not None:
        raise UsageError("--sparse encodes a corpus or topics, not spans.")

    from adducir.cli.console import near, note, open_progress
    from adducir.corpora.sources import open_corpus
    from adducir.corpora.topics import load_topics
    from adducir.encoders.encoding import encode as encode_items
    from adducir.encoders.encoding import items_of_corpus, items_of_spans, items_of_topics
    from adducir.encoders.sources import encoder_source

    source = encoder_source(settings.model)
    with open_progress():
        if settings.spans is not None:
            items = items_of_spans(settings.spans, settings.side)
        elif settings.topics is not None:
            items = items_of_topics(load_topics(settings.topics))
        else:
            documents = open_corpus(
                settings.corpus or "", docno_field=settings.docno_field, format=settings.format
            )
            items = items_of_corpus(documents, settings.fields)
        manifest = encode_items(
            source,
            items,
            settings.output,
            sparse=settings.sparse,
            device=settings.device,
            threads=settings.threads,
            tokens=settings.batch_tokens,
            precision=settings.precision,
            rebuild=settings.rebuild,
            execution=settings.execution(),
        )
    counts = manifest.counts
    what = (
        f"{counts['weights']:,} weights of {counts['texts']:,} texts"
        if settings.sparse
        else f"{counts['vectors']:,} vectors of {counts['width']:,} numbers"
    )
    note(f"{near(settings.output)}: {what}, computed in {manifest.recipe['precision']}")
