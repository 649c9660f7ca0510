"""Memory indexes that are built in parts, by as many processes or machines, and joined afterwards.

Part i of n has the documents i, i + n, i + 2n, ... of the corpus, and is an artifact of its own. It
lies where long work keeps what is finished (:mod:`adducir.core.scratch`), beside the index that is
to be, until :func:`.joining.join_parts` makes that index of all parts.
"""

from pathlib import Path

from adducir.core.artifacts import (
    MANIFEST,
    Manifest,
    build,
    is_current,
    read_manifest,
    refuse_other_artifact,
)
from adducir.core.checking import checked
from adducir.core.fingerprint import fingerprint
from adducir.core.progress import SILENT, Progress
from adducir.core.scratch import parts_folder
from adducir.core.sharding.executors.part import Part
from adducir.corpora.documents import Corpus
from adducir.indexes.lucene_builder import IndexSettings, engine_versions, settled
from adducir.indexes.memory.builder import BUILDER_VERSION, KIND, builder, fingerprint_of

PART_KIND = "memory-index-part"


def folder_name(part: Part) -> str:
    """The name of a part's folder."""
    return f"{part.number}-of-{part.count}"


@checked
def build_memory_part(
    corpus: Corpus,
    path: Path,
    part: Part,
    settings: IndexSettings | None = None,
    *,
    threads: int | None = None,
    rebuild: bool = False,
    progress: Progress = SILENT,
) -> Manifest:
    """Build one part of the index that is to be at ``path``, unless it is there.

    Parts can be built at the same time. The whole corpus is read for each, and checked; its own
    documents are analysed, and held to have different docnos.

    Args:
        path: The folder of the index, the same for all parts.
        settings: As of :func:`.builder.build_memory_index`, the same for all parts.

    Returns:
        The manifest of the part; that of the index, if it is there already.

    Raises:
        InputError, MachineError, ArtifactError: As :func:`.builder.build_memory_index`.
    """
    settings = settled(corpus, settings)
    whole, sources = fingerprint_of(corpus, settings), {"corpus": [corpus.source]}
    inputs = {"corpus": fingerprint(corpus.identity())}
    if not rebuild and is_current(path, whole):
        return read_manifest(path)
    if (path / MANIFEST).is_file():
        refuse_other_artifact(path, read_manifest(path), KIND, sources, inputs)
    return build(
        parts_folder(path, whole) / folder_name(part),
        kind=PART_KIND,
        recipe={"index": settings.recipe(), "part": part.number, "of": part.count},
        inputs=inputs,
        builder_version=BUILDER_VERSION,
        make=builder(corpus, settings, threads, progress, part.of),
        rebuild=rebuild,
        versions=engine_versions(),
        sources=sources,
        progress=progress,
    )
