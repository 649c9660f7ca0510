"""From a corpus to a dense index: encode, put into FAISS, keep the texts beside it."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adducir.core.artifacts import Manifest, artifact_fingerprint
from adducir.core.chunks import Made
from adducir.core.errors import InputError, UsageError, explaining_writes
from adducir.core.many_texts import nameless_file
from adducir.core.progress import progress
from adducir.corpora.documents import Corpus
from adducir.encoders.encoding import (
    CHUNK,
    EncodingWork,
    Items,
    items_of_corpus,
    read_vectors,
)
from adducir.encoders.kinds import EncoderSource, Floats
from adducir.indexes.building import EXACT, DenseSettings, new_dense_index
from adducir.indexes.dense import DETAILS, INDEX, KIND, nearest, threads_of_faiss
from adducir.indexes.documents import DocumentWriter
from adducir.models.machine import Precision
from adducir.models.work import PLAIN, Running

_BUILDER_VERSION = 2
_EQUAL = 1e-5


def build_dense_index(
    corpus: Corpus,
    path: Path,
    source: EncoderSource,
    settings: DenseSettings | None = None,
    *,
    fields: tuple[str, ...] = (),
    running: Running = PLAIN,
    rebuild: bool = False,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    Encoding that was killed resumes at the first missing shard. ``fields`` are by default those
    that any index would take. Of the threads torch's come first, then FAISS's: an HNSW graph of
    several threads is not always the same. The manifest counts ``documents``, ``width``, and of an
    approximate index ``recall`` against ``Flat``. Settings that do not fit the vectors are a
    UsageError.
    """
    import faiss

    settings, items = settings or DenseSettings(), items_of_corpus(corpus, fields)
    work = _DenseWork(
        source=source,
        texts=items,
        size=CHUNK,
        running=running,
        corpus=corpus,
        index=path,
        settings=settings,
    )
    return work.build(
        path,
        kind=KIND,
        recipe=_recipe(items, settings, running.precision),
        inputs={"corpus": items.identity, "model": source.identity()},
        builder_version=_BUILDER_VERSION,
        versions={"faiss": str(faiss.__version__)},
        rebuild=rebuild,
    )


def dense_identity(
    corpus: Corpus,
    model: str,
    settings: DenseSettings,
    fields: tuple[str, ...] = (),
    precision: Precision = "float32",
) -> str:
    """The fingerprint of that index; ``model``: of an encoder that may not exist yet."""
    items = items_of_corpus(corpus, fields)
    inputs = {"corpus": items.identity, "model": model}
    return artifact_fingerprint(KIND, _recipe(items, settings, precision), inputs, _BUILDER_VERSION)


def _recipe(items: Items, settings: DenseSettings, precision: Precision) -> dict[str, Any]:
    return {**items.what, **settings.recipe(), "precision": precision}


@dataclass(frozen=True, kw_only=True)
class _DenseWork(EncodingWork):
    corpus: Corpus
    index: Path
    settings: DenseSettings

    def finish(self, folder: Path, made: Made) -> dict[str, Any]:
        docnos = [name for names in made.names for name in names]
        counts = self.counted(folder, made)
        with DocumentWriter(folder) as store:
            for document, docno in zip(self.corpus, docnos, strict=True):
                if document.docno != docno:
                    raise InputError(
                        f"{docno!r} was changed while the index was built.", path=self.corpus.source
                    )
                store.add(document)
        source, name = self.source, self.source.name
        own = source.folder or (source.query.folder if source.is_shared else None)
        if own is not None and name != "minilm":  # a folder, as it lies from the index
            name = os.path.relpath(own.resolve(), self.index.resolve())
        details = {"encoder": name, "identity": source.identity()}
        text = json.dumps(details, indent=2, sort_keys=True)
        (folder / DETAILS).write_text(f"{text}\n", encoding="utf-8")
        found = {key: counts[key] for key in ("width", "shards", "shard")}
        shards = map(read_vectors, made.files)
        shape = len(docnos), int(counts["width"])
        with threads_of_faiss(self.running.threads):
            recall = put_together(shards, shape, self.settings, folder)
        return {"documents": counts["vectors"], **found, **recall}


def put_together(
    shards: Iterator[Floats], shape: tuple[int, int], settings: DenseSettings, folder: Path
) -> dict[str, Any]:
    """Write an index of all shards, held one at a time; ``recall`` of an approximate one."""
    import faiss

    try:
        index = new_dense_index(settings.kind, settings.parameters, shape[1])
        if settings.kind == EXACT:
            index.codes.resize(shape[0] * index.code_size)  # the place for all; growing would copy
            for vectors in shards:
                index.add(np.ascontiguousarray(vectors))
            recall = {}
        else:
            # In a file without a name: the system may drop its pages.
            with nameless_file(folder) as file:
                with explaining_writes(folder):
                    for vectors in shards:
                        file.write(np.ascontiguousarray(vectors, dtype=np.float32).data)
                    file.flush()
                mapped: Floats = np.memmap(file, dtype=np.float32, mode="r", shape=shape)
                if not index.is_trained:
                    progress().note(f"learning the lists and codes of {len(mapped):,} vectors")
                    index.train(mapped)
                index.add(mapped)  # at once: vectors that come in several calls make another graph
                recall = {"recall": recall_of(index, mapped, settings.sample, settings.seed)}
    except RuntimeError as error:
        raise UsageError(
            f"FAISS cannot make {settings.kind!r} of {shape[0]:,} vectors of {shape[1]:,} numbers: "
            f"{str(error).splitlines()[0]}",
            hint="'Flat' is exact, and fast for few.",
        ) from error
    try:
        faiss.write_index(index, str(folder / INDEX))
    except RuntimeError as error:
        raise OSError(f"FAISS could not write the index: {error}") from error
    return recall


def recall_of(
    index: Any, vectors: Floats, sample: int, seed: int, *, at: int = 10
) -> dict[str, Any]:
    """The mean share of the ``at`` exact neighbours of some vectors that an index finds.

    The queries are vectors of the index itself, drawn at random; a vector is not its own neighbour.
    A neighbour that scores as the last exact one does is as good. Fewer than two vectors give
    nothing.
    """
    import faiss

    count = len(vectors)
    at = min(at, count - 1)
    if at < 1:
        return {}
    draw = np.random.default_rng(seed)
    chosen = np.sort(draw.choice(count, size=min(sample, count), replace=False))
    _, found = nearest(index, vectors[chosen], at + 1)
    exact, numbers = faiss.knn(vectors[chosen], vectors, at + 1, faiss.METRIC_INNER_PRODUCT)
    good = 0
    for own, row, scores, places in zip(chosen, found, exact, numbers, strict=True):
        bound = scores[places != own][at - 1]
        others = row[(row >= 0) & (row != own)][:at]
        good += int((vectors[others] @ vectors[own] >= bound - _EQUAL * abs(bound)).sum())
    return {"at": at, "queries": len(chosen), "recall": round(good / (at * len(chosen)), 4)}
