"""Encodes a corpus or spans into an artifact of vectors, in shards that survive a kill."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from adducir.core.artifacts import Manifest, artifact_fingerprint
from adducir.core.errors import ArtifactError, InputError
from adducir.core.files import file_digest
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import SILENT, Progress
from adducir.corpora.documents import Corpus, refuse_duplicates, text_of
from adducir.datasets.spans.record import MaskedSpan, candidates_of, read_spans
from adducir.encoders.kinds import Floats, TextEncoder
from adducir.encoders.model import DualEncoder, Side, load_encoder
from adducir.encoders.sources import EncoderSource
from adducir.encoders.vectors import (
    KIND,
    NAME,
    digests_of_shard,
    read_shard,
    tie_of,
    write_docnos,
    write_shard,
)
from adducir.models.artifacts import build_by_parts, settled_precision
from adducir.models.machine import AnyPrecision, Precision, choose_device
from adducir.models.shards import in_shards, keep_shard

SHARD = 2000
"""Texts in a shard: what a kill can lose."""
SpanSide = Literal["context", "span"]

_BUILDER_VERSION = 2


@dataclass(frozen=True)
class Items:
    """What is encoded.

    Attributes:
        what: What it is, as plain values: it determines the artifact with ``identity``.
        identity: The fingerprint of the source.
        total: How many there are; None where that is not known.
        items: Gives docno and text, or docno and span for contexts, anew at each call.
        source: The name of the source; empty where it has none.
    """

    what: dict[str, Any]
    identity: str
    side: Side
    total: int | None
    items: Callable[[], Iterator[tuple[str, str | MaskedSpan]]]
    source: str = ""


def items_of_corpus(corpus: Corpus, fields: tuple[str, ...] = ()) -> Items:
    """Documents of a corpus, their fields joined by newlines.

    Args:
        fields: Which; by default those that would be indexed.
    """
    chosen = fields or tuple(corpus.default_fields)

    def read() -> Iterator[tuple[str, str]]:
        for document in refuse_duplicates(corpus):
            yield document.docno, text_of(document, chosen)

    what = {"items": "documents", "fields": list(chosen)}
    identity = fingerprint(corpus.identity())
    return Items(what, identity, "document", corpus.size_hint(), read, corpus.source)


def items_of_spans(path: Path, side: SpanSide) -> Items:
    """The contexts of a file of spans, by their ids; or its spans, by their candidates.

    A span that has no candidate is named by its id. Spans of one candidate are encoded once.

    Raises:
        InputError: A line is no span, or a candidate has two texts.
    """

    def contexts() -> Iterator[tuple[str, MaskedSpan]]:
        return ((span.id, span) for span in read_spans(path))

    def spans() -> Iterator[tuple[str, str]]:
        yield from candidates_of(read_spans(path), path).items()

    identity = file_digest(path)
    if side == "context":
        return Items({"items": "contexts"}, identity, "query", None, contexts, str(path))
    return Items({"items": "spans"}, identity, "document", None, spans, str(path))


def encode(
    source: EncoderSource,
    items: Items,
    output: Path,
    *,
    encoder: DualEncoder | None = None,
    device: str = "auto",
    threads: int | None = None,
    tokens: int | None = None,
    precision: AnyPrecision = "float32",
    shard: int = SHARD,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Encode, unless ``output`` holds the vectors already.

    Work that was killed resumes after its last complete shard.

    Args:
        source: The encoder, from :func:`adducir.encoders.sources.encoder_source`.
        encoder: The encoder itself where it is not to be as the source has it; its settings count.
        device: See :func:`adducir.models.machine.choose_device`.
        tokens: Padded tokens in a batch.
        precision: What the network computes in; see
            :func:`adducir.models.artifacts.settled_precision` for ``auto``.
        shard: Texts in a shard.

    Returns:
        The manifest. Its counts: ``vectors``, ``width``, ``shards``, ``shard`` and ``digest``,
        which ties docnos and vectors.

    Raises:
        InputError: The model or a text cannot be read.
        ArtifactError: ``output`` holds something that is not ours to replace.
    """
    settings = encoder.settings if encoder is not None else source.settings
    inputs = {"items": items.identity, "model": source.identity()}

    def recipe_in(chosen: Precision) -> dict[str, Any]:
        return {
            **items.what,
            "precision": chosen,
            "shard": shard,
            "settings": settings and settings.model_dump(mode="json"),
        }

    def fingerprint_in(chosen: Precision) -> str:
        return artifact_fingerprint(KIND, recipe_in(chosen), inputs, _BUILDER_VERSION)

    settled = settled_precision(precision, device, output, fingerprint_in, progress=progress)

    def make(folder: Path, parts: Path) -> dict[str, Any]:
        made = (encoder or load_encoder(source)).to(choose_device(device))
        return encode_shards(made, items, folder, parts, tokens, settled, shard, progress)

    return build_by_parts(
        output,
        make,
        kind=KIND,
        recipe=recipe_in(settled),
        inputs=inputs,
        builder_version=_BUILDER_VERSION,
        threads=threads,
        sources={"items": [items.source] if items.source else []},
        rebuild=rebuild,
        progress=progress,
    )


def encode_shards(
    encoder: DualEncoder | TextEncoder,
    items: Items,
    folder: Path,
    parts: Path,
    tokens: int | None = None,
    precision: Precision = "float32",
    shard: int = SHARD,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Encode into ``folder``, by shards that are kept in ``parts`` as soon as they are made.

    Returns:
        The counts of the artifact; see :func:`encode`.

    Raises:
        InputError: There is nothing to encode, or a text cannot be read.
    """
    docnos: list[str] = []
    files: list[Path] = []
    for batch in in_shards(items.items(), shard, progress, "encoding", items.total, "texts"):
        names = [docno for docno, _ in batch]
        files.append(parts / NAME.format(len(files)))
        if _is_of(files[-1], names):
            progress.advance(len(batch))
        else:
            texts = [text for _, text in batch]
            options = {"tokens": tokens, "precision": precision, "on_batch": progress.advance}
            write_shard(files[-1], names, _vectors(encoder, texts, items.side, options))
        docnos += names
    if not docnos:
        raise InputError("there is nothing to encode.")
    digests = [digests_of_shard(path)["values"] for path in files]
    width = int(read_shard(files[0], docnos[:shard]).shape[1])
    for path in files:
        keep_shard(path, folder)
    write_docnos(folder, docnos)
    return {
        "vectors": len(docnos),
        "width": width,
        "shards": len(files),
        "shard": shard,
        "digest": tie_of(docnos, digests),
    }


def _vectors(encoder: Any, texts: list[Any], side: Side, options: dict[str, Any]) -> Floats:
    """The vectors of a shard, by a DualEncoder or a TextEncoder, which has its methods."""
    if isinstance(texts[0], MaskedSpan):
        inputs = encoder.read_contexts(texts)
    elif side == "query":
        inputs = encoder.read_queries(texts)
    else:
        inputs = encoder.read_documents(texts)
    values: Floats = encoder.vectors(inputs, side, **options)
    return values


def _is_of(path: Path, docnos: list[str]) -> bool:
    """Whether a shard is there, undamaged, and of these docnos."""
    try:
        return path.exists() and len(read_shard(path, docnos)) > 0
    except ArtifactError:
        return False
