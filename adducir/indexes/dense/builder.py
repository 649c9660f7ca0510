"""From a corpus to a dense index: encode, put into FAISS, keep the texts beside it.

The artifact holds ``index.faiss``, ``docnos.txt`` in the order of the vectors, ``dense.json`` (what
encoded them), and the documents as all indexes keep them. The manifest's digest ties docnos and
vectors, and its digests of the files are checked whenever the index is opened.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from adducir.core.artifacts import Manifest, artifact_fingerprint
from adducir.core.files import read_lines
from adducir.core.progress import SILENT, Progress
from adducir.corpora.documents import Corpus, refuse_duplicates, text_of
from adducir.encoders.encoding import SHARD, Items, encode_shards, items_of_corpus
from adducir.encoders.model import load_encoder
from adducir.encoders.sources import EncoderSource
from adducir.encoders.vectors import DOCNOS, NAME, read_shard
from adducir.indexes.dense import engine
from adducir.indexes.dense.recall import recall
from adducir.indexes.dense.settings import DenseSettings
from adducir.indexes.documents import DocumentWriter
from adducir.models.artifacts import build_by_parts, settled_precision
from adducir.models.machine import AnyPrecision, Precision, choose_device

KIND = "dense-index"
INDEX = "index.faiss"
DETAILS = "dense.json"
_BUILDER_VERSION = 1


@dataclass(frozen=True)
class Running:
    """How the encoder runs; no vector depends on more than the precision.

    Attributes:
        device: See :func:`adducir.models.machine.choose_device`.
        threads: Of torch, then of FAISS; by default one per core. An HNSW graph that several
            threads build is not always the same.
        tokens: Padded tokens in a batch.
        precision: What the network computes in; see
            :func:`adducir.models.artifacts.settled_precision` for ``auto``.
        shard: Documents that a kill can lose.
    """

    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    precision: AnyPrecision = "float32"
    shard: int = SHARD


def build_dense_index(
    corpus: Corpus,
    path: Path,
    source: EncoderSource,
    settings: DenseSettings | None = None,
    *,
    fields: tuple[str, ...] = (),
    running: Running | None = None,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    Encoding that was killed resumes after its last complete shard.

    Args:
        fields: The fields to encode; by default those that any index would take.

    Returns:
        The manifest. Its counts: ``documents``, ``width``, ``digest``, and of an approximate
        index ``recall`` against ``flat``.

    Raises:
        InputError: A record is malformed, a docno occurs twice, or the model cannot be read.
        UsageError: The settings do not fit the vectors.
        ArtifactError: ``path`` holds something that is not ours.
    """
    settings, running = settings or DenseSettings(), running or Running()
    items = items_of_corpus(corpus, fields)
    inputs = {"corpus": items.identity, "model": source.identity()}

    def fingerprint_in(precision: Precision) -> str:
        return dense_identity(corpus, source, settings, fields, precision)

    precision = settled_precision(
        running.precision,
        running.device,
        path,
        fingerprint_in,
        progress=progress,
    )

    def make(folder: Path, parts: Path) -> dict[str, Any]:
        counts = _encoded(corpus, items, folder, parts, source, running, precision, progress)
        _report(folder, path, source, inputs["model"])
        return counts | _indexed(folder, parts, counts, settings, running, progress)

    return build_by_parts(
        path,
        make,
        kind=KIND,
        recipe=_recipe(items, source, settings, precision),
        inputs=inputs,
        builder_version=_BUILDER_VERSION,
        threads=running.threads,
        versions={"faiss": engine.version()},
        sources={"corpus": [corpus.source]},
        rebuild=rebuild,
        progress=progress,
    )


def dense_identity(
    corpus: Corpus,
    source: EncoderSource,
    settings: DenseSettings,
    fields: tuple[str, ...] = (),
    precision: Precision = "float32",
) -> str:
    """The fingerprint of the index that :func:`build_dense_index` would build."""
    items = items_of_corpus(corpus, fields)
    inputs = {"corpus": items.identity, "model": source.identity()}
    recipe = _recipe(items, source, settings, precision)
    return artifact_fingerprint(KIND, recipe, inputs, _BUILDER_VERSION)


def _recipe(
    items: Items, source: EncoderSource, settings: DenseSettings, precision: Precision
) -> dict[str, Any]:
    """All that determines an index beside its corpus and encoder."""
    chosen = source.settings
    return {
        **items.what,
        **settings.recipe(),
        "precision": precision,
        "settings": chosen and chosen.model_dump(mode="json"),
    }


def _encoded(
    corpus: Corpus,
    items: Items,
    folder: Path,
    parts: Path,
    source: EncoderSource,
    running: Running,
    precision: Precision,
    progress: Progress,
) -> dict[str, Any]:
    """Encode the documents, and write their texts on the way."""
    encoder = load_encoder(source).to(choose_device(running.device))
    with DocumentWriter(folder) as store:
        names = items.what["fields"]

        def read() -> Iterator[tuple[str, str]]:
            for document in refuse_duplicates(corpus):
                store.add(document)
                yield document.docno, text_of(document, names)

        counts = encode_shards(
            encoder,
            replace(items, items=read),
            folder,
            parts,
            running.tokens,
            precision,
            running.shard,
            progress,
        )
    return {
        "documents": counts["vectors"],
        "width": counts["width"],
        "digest": counts["digest"],
        "shards": counts["shards"],
        "shard": counts["shard"],
    }


def _report(folder: Path, path: Path, source: EncoderSource, identity: str) -> None:
    """Say which encoder queries need; a folder's path is determined from the index's own."""
    name = source.name
    if source.folder is not None or (source.is_shared and source.query.folder is not None):
        own = source.folder or source.query.folder
        if own is not None and source.name != "minilm":
            name = os.path.relpath(own.resolve(), path.resolve())
    text = json.dumps({"encoder": name, "identity": identity}, indent=2, sort_keys=True)
    (folder / DETAILS).write_text(f"{text}\n", encoding="utf-8")


def _indexed(
    folder: Path,
    parts: Path,
    counts: dict[str, Any],
    settings: DenseSettings,
    running: Running,
    progress: Progress,
) -> dict[str, Any]:
    """Put the vectors of all shards into FAISS; the shards themselves are not kept."""
    docnos = [line.rstrip("\n") for _, line in read_lines(folder / DOCNOS)]
    vectors = np.empty((counts["documents"], counts["width"]), dtype=np.float32)
    for number in range(counts["shards"]):
        here = slice(number * counts["shard"], (number + 1) * counts["shard"])
        vectors[here] = read_shard(parts / NAME.format(number), docnos[here])
        (folder / NAME.format(number)).unlink()
    index = engine.new_index(settings, len(vectors), counts["width"])
    with engine.threads_of_faiss(running.threads):
        if not index.is_trained:
            progress.note(f"learning the lists and codes of {len(vectors):,} vectors")
            index.train(vectors)
        index.add(vectors)
        engine.write(index, folder / INDEX)
        if settings.kind == "flat":
            return {}
        return {"recall": recall(index, vectors, settings.sample, settings.seed)}
