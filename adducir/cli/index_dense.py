"""``adducir index --engine dense``."""

from pathlib import Path
from typing import NamedTuple

from adducir.cli import options
from adducir.core.errors import UsageError


class Request(NamedTuple):
    """What the user asked for; see the options of ``adducir index``."""

    source: str
    output: Path
    fields: tuple[str, ...]
    docno_field: str | None
    format: str | None
    encoder: str | None
    kind: options.DenseKind
    changes: tuple[str, ...]
    device: options.DeviceName
    precision: options.AnyPrecision
    threads: int | None
    rebuild: bool


def index_dense(request: Request) -> None:
    """Build a dense index and say what it holds.

    Raises:
        UsageError: No encoder, or settings that mean nothing.
    """
    from adducir.cli.console import near, open_progress
    from adducir.corpora.sources import open_corpus
    from adducir.encoders.sources import encoder_source
    from adducir.indexes.dense.builder import Running, build_dense_index
    from adducir.indexes.dense.settings import dense_settings

    if request.encoder is None:
        raise UsageError(
            "--engine dense needs --encoder.", hint="'--encoder minilm' needs no download."
        )
    settings = dense_settings(request.kind.value, request.changes)
    with open_progress() as progress:
        corpus = open_corpus(
            request.source,
            docno_field=request.docno_field,
            format=request.format,
            progress=progress,
        )
        manifest = build_dense_index(
            corpus,
            request.output,
            encoder_source(request.encoder),
            settings,
            fields=request.fields,
            running=Running(
                device=request.device.value,
                threads=request.threads,
                precision=request.precision.value,
            ),
            rebuild=request.rebuild,
            progress=progress,
        )
        counts = manifest.counts
        measured = counts.get("recall") or {}
        recall = f", recall@{measured['at']} {measured['recall']:.3f}" if measured else ""
        progress.note(
            f"{near(request.output)}: {counts['documents']:,} documents, vectors of "
            f"{counts['width']:,} numbers computed in {manifest.recipe['precision']}, "
            f"{request.kind.value}{recall}"
        )
