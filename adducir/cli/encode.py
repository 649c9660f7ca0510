"""``adducir encode``."""

from pathlib import Path
from typing import Annotated, Literal

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.outputs import ARTIFACT
from adducir.cli.parameters import option
from adducir.cli.shards import ShardOptions
from adducir.core.errors import UsageError


def encode(
    model: Annotated[
        str,
        option(
            "An encoder: its folder or recipe, 'minilm', a name of the Hub, or two of them "
            "with a comma between (queries, documents).",
            "-m",
            metavar="MODEL",
        ),
    ],
    output: Annotated[Path, option("The folder of the vectors.", "-o"), ARTIFACT],
    corpus: Annotated[
        str | None, option("An ir_datasets id, or a file or folder.", "-c", metavar="SOURCE")
    ] = None,
    spans: Annotated[
        Path | None, option("Masked spans, in place of a corpus.", metavar="FILE")
    ] = None,
    side: Annotated[
        Literal["context", "span"],
        option("With --spans: encode the contexts, or the spans themselves."),
        with_any("spans"),
    ] = "context",
    fields: Annotated[
        list[str] | None,
        option(
            "With --corpus: the fields to encode, with commas or repeated.",
            shown="the corpus's texts",
        ),
        with_any("corpus"),
    ] = None,
    docno_field: Annotated[options.DocnoField, with_any("corpus")] = None,
    format_name: Annotated[options.CorpusFormat, with_any("corpus")] = None,
    device: options.Device = "auto",
    precision: options.PrecisionOption = "float32",
    threads: options.Threads = None,
    *,
    shards: ShardOptions,
    rebuild: options.Rebuild = False,
) -> None:
    """Encode a corpus, or contexts and spans, into vectors.

    Work that was killed resumes. A digest ties the vectors to their docnos.
    """
    if (corpus is None) == (spans is None):
        raise UsageError("give one of --corpus and --spans.")

    from adducir.cli.console import near, note, open_progress
    from adducir.corpora.sources import open_corpus
    from adducir.encoders.encoding import encode as encode_items
    from adducir.encoders.items import items_of_corpus, items_of_spans
    from adducir.encoders.sources import encoder_source

    source = encoder_source(model)
    with open_progress():
        if spans is not None:
            items = items_of_spans(spans, side)
        else:
            documents = open_corpus(corpus or "", docno_field=docno_field, format=format_name)
            items = items_of_corpus(documents, tuple(options.listed(fields)))
        manifest = encode_items(
            source,
            items,
            output,
            device=device,
            threads=threads,
            tokens=shards.batch_tokens,
            precision=precision,
            rebuild=rebuild,
            execution=shards.execution(),
        )
    counts = manifest.counts
    note(
        f"{near(output)}: {counts['vectors']:,} vectors of {counts['width']:,} numbers, "
        f"computed in {manifest.recipe['precision']}"
    )
