"""``adducir deepct expand``."""

from pathlib import Path
from typing import Annotated, Literal

from adducir.cli import options
from adducir.cli.effects import with_any
from adducir.cli.outputs import LINES, SOURCE
from adducir.cli.parameters import option
from adducir.cli.shards import ShardOptions
from adducir.core.errors import UsageError
from adducir.core.paths import is_standard_output


def deepct_expand(
    model: Annotated[
        Path, option("A term weighter's folder, or its recipe.", "-m", metavar="MODEL")
    ],
    corpus: Annotated[
        str, option("An ir_datasets id, or a file or folder.", "-c", metavar="SOURCE"), SOURCE
    ],
    output: Annotated[Path, option("JSON lines to write, such as X.jsonl.gz.", "-o"), LINES],
    weights: Annotated[
        Path | None,
        option(
            "Where the words' weights are kept, for another rendering.",
            metavar="FOLDER",
            shown="beside the output, ending in .weights",
        ),
    ] = None,
    scale: Annotated[float, option("How often a word of weight 1 comes.", min=0.0)] = 100.0,
    transform: Annotated[
        Literal["linear", "sqrt"], option("Scale the weight, or its square root.")
    ] = "linear",
    pairs: Annotated[
        bool, option("Write each word with its count, for the memory engine, not repeated.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        option(
            "With --pairs: fields whose own words are counted too, with commas or repeated.",
            metavar="FIELDS",
        ),
        with_any("pairs"),
    ] = None,
    docno_field: options.DocnoField = None,
    format_name: options.CorpusFormat = None,
    device: options.Device = "auto",
    precision: options.PrecisionOption = "float32",
    threads: options.Threads = None,
    *,
    shards: ShardOptions,
    rebuild: options.Rebuild = False,
) -> None:
    """Predict every word's weight in a corpus and write its words repeated by them.

    Every document is written, with all its fields and the field `weighted`. Work that
    was killed resumes; another rendering of the same weights costs no prediction.
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
            device=device,
            threads=threads,
            tokens=shards.batch_tokens,
            precision=precision,
            rebuild=rebuild,
            execution=shards.execution(),
            progress=progress,
        )
        rendering = Rendering(scale=scale, transform=transform)
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
