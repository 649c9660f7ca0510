"""From a corpus to a memory index: at once by one process, or by shards."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from adducir.core.artifacts import (
    MANIFEST,
    Manifest,
    Sources,
    artifact_fingerprint,
    build,
    read_manifest,
)
from adducir.core.checking import checked
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import SILENT, Progress
from adducir.core.sharding.building import Order, build_sharded, is_planned
from adducir.core.sharding.execution import HERE, Execution
from adducir.core.verified import open_artifact
from adducir.corpora.documents import Corpus
from adducir.indexes.lucene_builder import IndexSettings, engine_versions, settled
from adducir.indexes.memory.filling import fill_of_weights
from adducir.indexes.memory.joining import merge
from adducir.indexes.memory.weights import Weighted
from adducir.indexes.memory.work import SHARD, work_of

KIND = "memory-index"
BUILDER_VERSION = 1


@checked
def build_memory_index(
    corpus: Corpus,
    path: Path,
    settings: IndexSettings | None = None,
    *,
    threads: int | None = None,
    rebuild: bool = False,
    execution: Execution = HERE,
    shard: int = SHARD,
    keep_parts: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    The other arguments, counts and errors are those of
    :func:`adducir.indexes.lucene_builder.build_index`. A memory index has no positions, and always
    has document vectors and both kinds of length;
    ``accurate_length`` says which of them searches read. Where the settings name ``weights``,
    documents' terms are these; the corpus has the texts, and documents without weights are
    counted as ``empty``. Neither ``execution`` nor ``shard`` shows in the index, and ``keep_parts``
    not in what it finds.

    Args:
        execution: Who builds it. One process alone does so without shards, where none were planned.
        shard: Documents in a shard.
        keep_parts: Keep the shards as parts of the index, each searched for itself; the counts say
            how many ``parts`` there are.

    Raises:
        PartMade: A part of the shards was asked for, and is made.
        IncompleteError: Some shards cannot be made.
    """
    settings = settled(corpus, settings)
    work = work_of(corpus, settings, threads, keep=keep_parts, size=shard)
    order = Order(
        path,
        KIND,
        settings.recipe(),
        {"corpus": fingerprint(corpus.identity())},
        BUILDER_VERSION,
        engine_versions(),
        {"corpus": [corpus.source]},
        rebuild,
    )
    if execution.is_alone and not keep_parts and not is_planned(order, work):
        make = partial(work.at_once, progress=progress)
        return build(make=make, progress=progress, **vars(order))
    return build_sharded(order, work, execution, progress)


def fingerprint_of(corpus: Corpus, settings: IndexSettings) -> str:
    """The fingerprint of the index that :func:`build_memory_index` would build.

    Args:
        settings: With the fields named.
    """
    inputs = {"corpus": fingerprint(corpus.identity())}
    return artifact_fingerprint(KIND, settings.recipe(), inputs, BUILDER_VERSION)


def build_from_weights(
    documents: Iterable[Weighted],
    path: Path,
    settings: IndexSettings,
    *,
    identity: Mapping[str, Any],
    sources: Sources | None = None,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Build an index of ready terms and weights, DeepCT's for example.

    Args:
        documents: Docnos, each once, and the weight of each term; weights of 0 or less are left
            out. Terms are taken as they are: ``settings.analysis`` must give the same for
            queries.
        identity: What the documents depend on, for the fingerprint.
        sources: The names of what they come from.

    Raises:
        InputError: A docno comes twice.
        ArtifactError: ``path`` holds something that is not ours.
    """
    return build(
        path,
        kind=KIND,
        recipe=settings.recipe() | {"weights": True},
        inputs={"weights": fingerprint(identity)},
        builder_version=BUILDER_VERSION,
        make=lambda folder: fill_of_weights(documents, folder, progress),
        rebuild=rebuild,
        versions=engine_versions(),
        sources=sources,
        progress=progress,
    )


def is_in_parts(path: Path) -> bool:
    """Whether a finished memory index in parts is at ``path``."""
    if not (path / MANIFEST).is_file():
        return False
    manifest = read_manifest(path)
    return manifest.kind == KIND and "parts" in manifest.counts


@checked
def merge_parts(path: Path, *, progress: Progress = SILENT) -> Manifest:
    """Merge a finished index in parts into one piece, in its place.

    Every file is compared with its digest first. The index stays as it is until the merged one is
    complete.

    Raises:
        ArtifactError: There is no such index, or it is damaged.
        MachineError: No disk space.
    """
    found = open_artifact(path, KIND)
    count = int(found.counts["parts"])
    kept = {name: found.counts[name] for name in ("documents", "indexed", "empty")}
    return build(
        path,
        kind=KIND,
        recipe=found.recipe,
        inputs=found.inputs,
        builder_version=found.builder_version,
        make=lambda folder: {**kept, **merge(path, count, folder)},
        rebuild=True,
        versions={
            name: version
            for name, version in found.versions.items()
            if name not in ("python", "adducir")  # which are noted anyway
        },
        sources={"corpus": _in_full(path, found.sources.get("corpus", ()))},
        progress=progress,
    )


def _in_full(path: Path, sources: Iterable[str]) -> list[str]:
    """What an index was built of: paths in full, or ids."""
    paths = [(path.parent / name, name) for name in sources]
    return [str(found.resolve()) if found.exists() else name for found, name in paths]
