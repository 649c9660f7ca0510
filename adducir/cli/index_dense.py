"""``adducir index --engine dense``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from adducir.cli import options
from adducir.cli.effects import where
from adducir.cli.parameters import option
from adducir.cli.shards import ShardOptions, shards_if
from adducir.core.errors import UsageError
from adducir.models.machine import Precision

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus

PANEL = "Dense (--engine dense)"
DENSE = where("engine", "dense")
DenseShards = Annotated[ShardOptions, shards_if(DENSE, PANEL)]


@dataclass(frozen=True, kw_only=True)
class Dense:
    """What determines a dense index."""

    encoder: Annotated[
        str | None,
        option(
            "The encoder's folder or recipe, 'minilm', or a name of the Hub.",
            metavar="MODEL",
            panel=PANEL,
        ),
        DENSE,
    ] = None
    kind: Annotated[
        Literal["flat", "hnsw", "ivf-pq"],
        option(
            "Exact (flat), or approximate with recall measured (hnsw, ivf-pq).",
            panel=PANEL,
            rare=True,
        ),
        DENSE,
    ] = "flat"
    settings: Annotated[
        list[str] | None,
        option(
            "What is rarely needed: positions, vectors, accurate_length, separate_fields; dense: "
            "kind, device, precision, ray, slurm, batch_tokens, and settings of the kind, as in "
            "links=16; can be repeated.",
            "--set",
            metavar="KEY=VALUE",
        ),
        DENSE,
    ] = None
    device: Annotated[
        options.DeviceName, option("Where the encoder runs.", panel=PANEL, rare=True), DENSE
    ] = "auto"
    precision: Annotated[
        Precision,
        option(
            "What the encoder computes in; bfloat16 is coarser, and mostly faster.",
            panel=PANEL,
            rare=True,
        ),
        DENSE,
    ] = "float32"


def build_dense(
    dense: Dense,
    shards: ShardOptions,
    corpus: "Corpus",
    output: Path,
    fields: tuple[str, ...],
    threads: int | None,
    rebuild: bool,
) -> None:
    """Build a dense index and say what it holds.

    Raises:
        UsageError: No encoder, or settings that mean nothing.
    """
    from adducir.cli.console import near
    from adducir.core.progress import progress
    from adducir.encoders.sources import encoder_source
    from adducir.indexes.dense.builder import Running, build_dense_index
    from adducir.indexes.dense.settings import dense_settings

    if dense.encoder is None:
        raise UsageError(
            "--engine dense needs --encoder.", hint="'--encoder minilm' needs no download."
        )
    manifest = build_dense_index(
        corpus,
        output,
        encoder_source(dense.encoder),
        dense_settings(dense.kind, dense.settings or ()),
        fields=fields,
        running=Running(
            device=dense.device,
            threads=threads,
            tokens=shards.batch_tokens,
            precision=dense.precision,
            execution=shards.execution(),
        ),
        rebuild=rebuild,
    )
    counts = manifest.counts
    measured = counts.get("recall") or {}
    recall = f", recall@{measured['at']} {measured['recall']:.3f}" if measured else ""
    progress().note(
        f"{near(output)}: {counts['documents']:,} documents, vectors of "
        f"{counts['width']:,} numbers computed in {manifest.recipe['precision']}, "
        f"{dense.kind}{recall}"
    )
