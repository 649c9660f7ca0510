"""``adducir index --engine dense``."""

from pathlib import Path
from typing import NamedTuple

from adducir.cli import options
from adducir.study.errors import UsageError


class Asked(NamedTuple):
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


def index_dense(asked: Asked) -> None:
    """Build a dense index and say what it holds.

    Raises:
        UsageError: No encoder, or settings that mean nothing.
    """
    from adducir.cli.console import near, open_progress
    from adducir.corpora.sources import open_corpus
    from adducir.encoders.sources import encoder_source
    from adducir.indexes.dense.build import Running, build_dense_index
    from adducir.indexes.dense.settings import dense_settings

    if asked.encoder is None:
        raise UsageError(
            "--engine dense needs --encoder.", mend="'--encoder minilm' needs no download."
        )
    settings = dense_settings(asked.kind.value, asked.changes)
    with open_progress() as progress:
        corpus = open_corpus(
            asked.source,
            docno_field=asked.docno_field,
            format=asked.format,
            progress=progress,
        )
        manifest = build_dense_index(
            corpus,
            asked.output,
            encoder_source(asked.encoder),
            settings,
            fields=asked.fields,
            running=Running(
                device=asked.device.value, threads=asked.threads, precision=asked.precision.value
            ),
            rebuild=asked.rebuild,
            progress=progress,
        )
        counts = manifest.counts
        measured = counts.get("recall") or {}
        recall = f", recall@{measured['at']} {measured['recall']:.3f}" if measured else ""
        progress.note(
            f"{near(asked.output)}: {counts['documents']:,} documents, vectors of "
            f"{counts['width']:,} numbers computed in {manifest.recipe['precision']}, "
            f"{asked.kind.value}{recall}"
        )
