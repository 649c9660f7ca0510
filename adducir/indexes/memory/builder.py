"""From a corpus to a memory index."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from adducir.core.artifacts import Manifest, build
from adducir.core.fingerprint import fingerprint
from adducir.corpora.documents import Corpus
from adducir.indexes.documents import DocumentWriter
from adducir.indexes.feeding import documents_with, fed
from adducir.indexes.lucene_builder import IndexSettings, engine_versions, settled
from adducir.indexes.memory import BUILDER_VERSION, KIND
from adducir.indexes.memory.filling import fill, fill_of_weights
from adducir.indexes.memory.weights import Weighted, by_term, read_weights


def build_memory_index(
    corpus: Corpus,
    path: Path,
    settings: IndexSettings | None = None,
    *,
    threads: int | None = None,
    rebuild: bool = False,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    The other arguments, counts and errors are those of
    :func:`adducir.indexes.lucene_builder.build_index`. A memory index has no positions, and always
    has document vectors and both kinds of length;
    ``accurate_length`` says which of them searches read. Where the settings name ``weights``,
    documents' terms are these; the corpus has the texts, and documents without weights are
    counted as ``empty``.
    """
    settings = settled(corpus, settings)

    def make(folder: Path) -> Mapping[str, Any]:
        documents = documents_with(corpus, settings.fields)
        if settings.weights is None:
            return fill(documents, folder, settings, threads, corpus.size_hint())
        with DocumentWriter(folder) as store:
            docnos = {docno for docno, _ in fed(documents, settings.fields, store)}
        weighted = by_term(read_weights(settings.weights, docnos), settings.analysis)
        counts = fill_of_weights(weighted, folder)
        without = len(docnos) - counts["documents"]
        return counts | {"documents": len(docnos), "empty": counts["empty"] + without}

    return build(
        path,
        kind=KIND,
        recipe=settings.recipe(),
        inputs={"corpus": fingerprint(corpus.identity())},
        builder_version=BUILDER_VERSION,
        make=make,
        rebuild=rebuild,
        versions=engine_versions(),
    )


def build_from_weights(
    documents: Iterable[Weighted],
    path: Path,
    settings: IndexSettings,
    *,
    identity: Mapping[str, Any],
    rebuild: bool = False,
) -> Manifest:
    """Build an index of ready terms and weights, DeepCT's for example.

    Args:
        documents: Docnos, each once, and the weight of each term; weights of 0 or less are left
            out. Terms are taken as they are: ``settings.analysis`` must give the same for
            queries.
        identity: What the documents depend on, for the fingerprint.

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
        make=lambda folder: fill_of_weights(documents, folder),
        rebuild=rebuild,
        versions=engine_versions(),
    )
