"""From a corpus to a memory index: at once by one process, or by shards."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from adducir.core.artifacts import (
    Manifest,
    Sources,
    build,
)
from adducir.core.checking import checked
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import SILENT, Progress
from adducir.core.sharding.building import Order, build_sharded, is_planned
from adducir.core.sharding.execution import HERE, Execution
from adducir.corpora.documents import Corpus
from adducir.indexes.lucene_builder import IndexSettings, engine_versions, settled
from adducir.indexes.memory.files import BUILDER_VERSION, KIND, SHARD
from adducir.indexes.memory.filling import fill_of_weights
from adducir.indexes.memory.weights import Weighted
from adducir.indexes.memory.work import work_of


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
