"""``adducir deepct expand``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.outputs import LINES, SOURCE
from adducir.core.errors import UsageError
from adducir.core.standard_output import is_standard_output


class Transform(StrEnum):
    """What is scaled."""

    LINEAR = "linear"
    SQRT = "sqrt"


def deepct_expand(
    model: Annotated[
        Path,
        typer.Option(
            "--model", "-m", metavar="MODEL", help="A term weighter's folder, or its recipe."
        ),
    ],
    corpus: Annotated[
        str,
        typer.Option(
            "--corpus", "-c", metavar="SOURCE", help="An ir_datasets id, or a file or folder."
        ),
        SOURCE,
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="JSON lines to write, such as X.jsonl.gz."
        ),
        LINES,
    ],
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights",
            metavar="FOLDER",
            help="Where the words' weights are kept, for another rendering.",
            show_default="beside the output, ending in .weights",
        ),
    ] = None,
    scale: Annotated[
        float, typer.Option("--scale", min=0.0, help="How often a word of weight 1 comes.")
    ] = 100.0,
    transform: Annotated[
        Transform, typer.Option("--transform", help="Scale the weight, or its square root.")
    ] = Transform.LINEAR,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs", help="Write each word with its count, for the memory engine, not repeated."
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="FIELDS",
            help="With --pairs: fields whose own words are counted too, with commas or repeated.",
        ),
        with_any("pairs"),
    ] = None,
    docno_field: Annotated[
        str | None, typer.Option("--docno-field", help="The field of the docno.")
    ] = None,
    format_name: Annotated[
        str | None,
        options.CorpusFormat,
    ] = None,
    device: options.Device = options.DeviceName.AUTO,
    precision: options.PrecisionOption = options.Precision.FLOAT32,
    threads: options.Threads = None,
    rebuild: options.Rebuild = False,
) -> None:
    """Predict every word's weight in a corpus and write its words repeated by them.

    Every document is written, with all its fields and the field `weighted`. The weights are made
    in shards: work that was killed resumes after the last complete shard, and another rendering of
    the same weights costs no prediction.
    """
    from adducir.cli.console import near, note, open_progress
    from adducir.corpora.sources import open_corpus
    from adducir.deepct.expanded import ExpandedCorpus
    from adducir.deepct.rendering import Rendering
    from adducir.deepct.settings import Settings
    from adducir.deepct.weighting import predict_corpus_weights
    from adducir.deepct.writing import write_expanded, write_pairs
    from adducir.models.sources import trained_folder

    if scale <= 0:
        raise UsageError("--scale must be more than 0.")
    if weights is None and is_standard_output(output):
        raise UsageError("standard output has no name to keep the weights by: give --weights.")
    folder = trained_folder(model)
    target = weights or output.with_name(_stem(output.name) + ".weights")
    with open_progress() as progress:
        documents = open_corpus(
            corpus,
            docno_field=docno_field,
            format=format_name,
            progress=progress,
        )
        settings = Settings.load(folder)
        manifest = predict_corpus_weights(
            folder,
            documents,
            target,
            device=device.value,
            threads=threads,
            precision=precision.value,
            rebuild=rebuild,
            progress=progress,
        )
        rendering = Rendering(scale=scale, transform=transform.value)
        expanded = ExpandedCorpus(documents, target, manifest.fingerprint, settings, rendering)
        if pairs:
            written = write_pairs(expanded, output, options.listed(keep), progress)
        else:
            written = write_expanded(expanded, output, progress)
    lost = f", {written.lost:,} of which keep their words once" if written.lost else ""
    words = manifest.counts["words"]
    note(f"{near(output)}: {written.documents:,} documents of {words:,} weighted words{lost}")


def _stem(name: str) -> str:
    for ending in (".gz", ".jsonl", ".ndjson", ".json"):
        name = name.removesuffix(ending)
    return name
