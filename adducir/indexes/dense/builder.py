"""From a corpus to a dense index: encode, put into FAISS, keep the texts beside it.

The artifact holds ``index.faiss``, ``docnos.txt`` in the order of the vectors, ``dense.json`` (what
encoded them), and the documents as all indexes keep them. The manifest's digest ties docnos and
vectors, and its digests of the files are checked whenever the index is opened.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adducir.core.artifacts import Manifest, artifact_fingerprint
from adducir.core.chunks import Made, build_in_chunks
from adducir.core.errors import InputError, explaining_writes
from adducir.core.executors import HERE, Execution
from adducir.core.names import nameless_file
from adducir.core.progress import progress
from adducir.corpora.documents import Corpus
from adducir.encoders.encoding import SHARD, EncodingWork
from adducir.encoders.items import Items, items_of_corpus
from adducir.encoders.sources import EncoderSource
from adducir.encoders.vectors import Floats, read_shard, write_docnos
from adducir.indexes.dense import engine
from adducir.indexes.dense.recall import recall
from adducir.indexes.dense.settings import DenseSettings
from adducir.indexes.documents import DocumentWriter
from adducir.models.artifacts import model_versions
from adducir.models.machine import Precision, using_threads

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
        precision: What the network computes in.
        shard: Documents in a shard.
        execution: Who makes the shards.
    """

    device: str = "auto"
    threads: int | None = None
    tokens: int | None = None
    precision: Precision = "float32"
    shard: int = SHARD
    execution: Execution = HERE


def build_dense_index(
    corpus: Corpus,
    path: Path,
    source: EncoderSource,
    settings: DenseSettings | None = None,
    *,
    fields: tuple[str, ...] = (),
    running: Running | None = None,
    rebuild: bool = False,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    Encoding that was killed resumes: shards that were made are not made again.

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
    precision = running.precision
    encoding = EncodingWork(
        source, items, precision, running.shard, running.device, running.threads, running.tokens
    )
    with using_threads(running.threads):
        return build_in_chunks(
            path,
            _DenseWork(**vars(encoding), corpus=corpus, index=path, settings=settings),
            kind=KIND,
            recipe=_recipe(items, settings, precision),
            inputs={"corpus": items.identity, "model": source.identity()},
            builder_version=_BUILDER_VERSION,
            versions={**model_versions(), "faiss": engine.version()},
            rebuild=rebuild,
            execution=running.execution,
        )


def dense_identity(
    corpus: Corpus,
    model: str,
    settings: DenseSettings,
    fields: tuple[str, ...] = (),
    precision: Precision = "float32",
) -> str:
    """The fingerprint of the index that :func:`build_dense_index` would build.

    Args:
        model: The encoder's identity, which may still have to be trained.
    """
    items = items_of_corpus(corpus, fields)
    inputs = {"corpus": items.identity, "model": model}
    recipe = _recipe(items, settings, precision)
    return artifact_fingerprint(KIND, recipe, inputs, _BUILDER_VERSION)


def _recipe(items: Items, settings: DenseSettings, precision: Precision) -> dict[str, Any]:
    """All that determines an index beside its corpus and encoder."""
    return {**items.what, **settings.recipe(), "precision": precision}


@dataclass(frozen=True)
class _DenseWork(EncodingWork):
    """Vectors as :class:`.EncodingWork` makes them, put into an index at the end."""

    corpus: Corpus = field(kw_only=True)
    index: Path = field(kw_only=True)
    settings: DenseSettings = field(kw_only=True)

    def finish(self, folder: Path, made: Made) -> dict[str, Any]:
        docnos = [name for names in made.names for name in names]
        counts = self.counted(made, docnos)
        write_docnos(folder, docnos)
        with DocumentWriter(folder) as store:
            for document, docno in zip(self.corpus, docnos, strict=True):
                if document.docno != docno:
                    raise InputError(
                        f"{docno!r} was changed while the index was built.", path=self.corpus.source
                    )
                store.add(document)
        _report(folder, self.index, self.source, self.source.identity())
        found = {
            "documents": counts["vectors"],
            "width": counts["width"],
            "digest": counts["digest"],
            "shards": counts["shards"],
            "shard": counts["shard"],
        }
        return found | self._indexed(folder, made, docnos, counts["width"])

    def _indexed(
        self, folder: Path, made: Made, docnos: Sequence[str], width: int
    ) -> dict[str, Any]:
        """Put the vectors of all shards into FAISS; the shards themselves are not kept."""
        shards = (
            read_shard(path, docnos[number * self.size : (number + 1) * self.size])
            for number, path in enumerate(made.files)
        )
        index = engine.new_index(self.settings, len(docnos), width)
        if self.settings.kind == "flat":
            engine.add_flat(index, shards, len(docnos))
            engine.write(index, folder / INDEX)
            return {}
        with (
            engine.threads_of_faiss(self.threads),
            _mapped(folder, shards, (len(docnos), width)) as vectors,
        ):
            if not index.is_trained:
                progress().note(f"learning the lists and codes of {len(vectors):,} vectors")
                index.train(vectors)
            index.add(vectors)  # at once: vectors that come in several calls make another graph
            engine.write(index, folder / INDEX)
            return {"recall": recall(index, vectors, self.settings.sample, self.settings.seed)}


@contextmanager
def _mapped(folder: Path, shards: Iterable[Floats], shape: tuple[int, int]) -> Iterator[Floats]:
    """The vectors of shards as one array, in a file without a name: the system may drop its pages.

    Raises:
        MachineError: The disk is full, or the folder cannot be written.
    """
    with nameless_file(folder) as file:
        with explaining_writes(folder):
            for vectors in shards:
                file.write(np.ascontiguousarray(vectors, dtype=np.float32).data)
            file.flush()
        yield np.memmap(file, dtype=np.float32, mode="r", shape=shape)


def _report(folder: Path, path: Path, source: EncoderSource, identity: str) -> None:
    """Say which encoder queries need; a folder's path is determined from the index's own."""
    name = source.name
    if source.folder is not None or (source.is_shared and source.query.folder is not None):
        own = source.folder or source.query.folder
        if own is not None and source.name != "minilm":
            name = os.path.relpath(own.resolve(), path.resolve())
    text = json.dumps({"encoder": name, "identity": identity}, indent=2, sort_keys=True)
    (folder / DETAILS).write_text(f"{text}\n", encoding="utf-8")
