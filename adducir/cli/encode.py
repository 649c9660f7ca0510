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
    output: Path = option("The folder of the vectors.", "-o", writes=common.FOLDER)
    corpus: str | None = option(
        "An ir_datasets id, or a file or folder.", "-c", metavar="SOURCE", default=None, reads=True
    )
    spans: Path | None = option("Masked spans, in place of a corpus.", default=None)
    side: Annotated[Literal["context", "span"], needs("spans")] = option(
        "With --spans: encode the contexts, or the spans themselves.", default="context"
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

    Work that was killed resumes. A digest ties the vectors to their docnos.

    Examples:
        adducir encode --model minilm --corpus corpus.jsonl --output vectors/corpus
        adducir encode --model minilm --corpus corpus.jsonl --workers 8 -o vectors/corpus
    """
    if (settings.corpus is None) == (settings.spans is None):
        raise UsageError("give one of --corpus and --spans.")

    from adducir.cli.console import near, note, open_progress
    from adducir.corpora.sources import open_corpus
    from adducir.encoders.encoding import encode as encode_items
    from adducir.encoders.encoding import items_of_corpus, items_of_spans
    from adducir.encoders.sources import encoder_source

    source = encoder_source(settings.model)
    with open_progress():
        if settings.spans is not None:
            items = items_of_spans(settings.spans, settings.side)
        else:
            documents = open_corpus(
                settings.corpus or "", docno_field=settings.docno_field, format=settings.format
            )
            items = items_of_corpus(documents, settings.fields)
        manifest = encode_items(
            source,
            items,
            settings.output,
            device=settings.device,
            threads=settings.threads,
            tokens=settings.batch_tokens,
            precision=settings.precision,
            rebuild=settings.rebuild,
            execution=settings.execution(),
        )
    note(
        f"{near(settings.output)}: {manifest.counts['vectors']:,} vectors of "
        f"{manifest.counts['width']:,} numbers, computed in {manifest.recipe['precision']}"
    )
