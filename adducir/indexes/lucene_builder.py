"""From a corpus to a Lucene index with the documents' texts beside it.

The index has the fields that Anserini's own IndexCollection writes, so pyserini and Anserini read
its ``lucene`` folder. Documents are read and checked here and indexed by Java's threads; neither
waits for the other.
"""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from adducir.core.artifacts import Manifest, build
from adducir.core.errors import UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.processes import default_threads
from adducir.core.progress import progress
from adducir.core.texts import refuse_text
from adducir.corpora.documents import Corpus
from adducir.corpora.token_weights import identity_of
from adducir.indexes import jvm
from adducir.indexes.analysis import Analysis
from adducir.indexes.documents import DocumentWriter
from adducir.indexes.feeding import documents_with, fed, packed
from adducir.indexes.jvm import INDEX_FOLDER, INDEX_KIND, translated

BUILDER_VERSION = 1


@dataclass(frozen=True)
class IndexSettings:
    """What determines the content of an index.

    Attributes:
        fields: The fields that are indexed, joined; empty for the corpus's own default.
        positions: Whether postings hold positions (phrase queries need them).
        vectors: Whether documents' term vectors are stored (RM3 needs them).
        accurate_length: Whether BM25 sees exact document lengths instead of Lucene's one byte.
        weights: Tokens and weights that stand for the documents' texts, for the memory engine; see
            :mod:`adducir.corpora.token_weights`.
        separate_fields: Whether each field is indexed by itself too, so that a search can weight
            them: see :mod:`adducir.indexes.field_weights`.
    """

    fields: tuple[str, ...] = ()
    analysis: Analysis = field(default_factory=Analysis)
    positions: bool = True
    vectors: bool = True
    accurate_length: bool = False
    weights: Path | None = None
    separate_fields: bool = False

    def __post_init__(self) -> None:
        refuse_text(self.fields, "fields")

    def recipe(self) -> dict[str, Any]:
        """Plain values, for fingerprints and manifests.

        Raises:
            InputError: There are no such weights.
        """
        plain = asdict(self) | {"fields": list(self.fields), "analysis": self.analysis.settings()}
        weights = plain.pop("weights")
        if not self.separate_fields:
            del plain["separate_fields"]
        return plain if weights is None else plain | {"weights": identity_of(weights)}

    @property
    def separate(self) -> tuple[str, ...]:
        """The fields that are indexed by themselves."""
        return self.fields if self.separate_fields else ()


def build_index(
    corpus: Corpus,
    path: Path,
    settings: IndexSettings | None = None,
    *,
    threads: int | None = None,
    rebuild: bool = False,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    Args:
        threads: Java threads; by default one per core. The index's content and every ranking from
            it are the same for any number.

    Returns:
        The manifest. Its counts: ``documents``, ``indexed``, ``empty`` (documents without text,
        which can never be found and which Anserini does not index either), ``terms``, ``tokens``.

    Raises:
        InputError: A record is malformed, a docno occurs twice, or no document has a field.
        MachineError: No Java, or no disk space.
        ArtifactError: ``path`` holds something that is not ours.
        UsageError: The settings name weights.
    """
    settings = settled(corpus, settings)
    if settings.weights is not None:
        raise UsageError(
            "Lucene's indexes take no token weights.", hint="Build a memory index of them."
        )

    def make(folder: Path) -> dict[str, Any]:
        return _make(corpus, folder, settings, threads or default_threads())

    return build(
        path,
        kind=INDEX_KIND,
        recipe=settings.recipe(),
        inputs={"corpus": fingerprint(corpus.identity())},
        builder_version=BUILDER_VERSION,
        make=make,
        rebuild=rebuild,
        versions=engine_versions(),
    )


def settled(corpus: Corpus, settings: IndexSettings | None) -> IndexSettings:
    """The settings, with the corpus's default fields where none are named."""
    settings = settings or IndexSettings()
    return settings if settings.fields else replace(settings, fields=tuple(corpus.default_fields))


def engine_versions() -> dict[str, str]:
    """The versions of Anserini and Java, for manifests."""
    java = jvm.find_java()
    return {"anserini": jvm.anserini_version(), "java": str(java.version)}


def _make(corpus: Corpus, folder: Path, settings: IndexSettings, threads: int) -> dict[str, Any]:
    bridge = jvm.java_class("adducir.BulkIndexer")
    (folder / INDEX_FOLDER).mkdir()
    with translated(folder):
        indexer = bridge(
            str((folder / INDEX_FOLDER).absolute()),
            settings.analysis.java,
            settings.positions,
            settings.vectors,
            settings.accurate_length,
            list(settings.separate),
            threads,
            max(16, min(2048, jvm.settled_heap() // 3)),
        )
        progress().start("indexing", corpus.size_hint(), "documents")
        try:
            with DocumentWriter(folder) as store:
                documents, sound = 0, documents_with(corpus, settings.fields)
                texts = fed(sound, settings.fields, store, settings.separate)
                for docnos, block in packed(texts, with_docnos=True):
                    indexer.add(block)
                    documents += len(docnos)
                    progress().advance(len(docnos))
            indexer.finish()
        except BaseException:
            indexer.abort()
            raise
        finally:
            progress().finish()
        statistics = _statistics((folder / INDEX_FOLDER).absolute(), settings.analysis)
        return {"documents": documents, "empty": int(indexer.empty()), **statistics}


def _statistics(folder: Path, analysis: Analysis) -> dict[str, int]:
    searcher = jvm.java_class("adducir.BulkSearcher")(str(folder), analysis.java)
    documents, terms, tokens = searcher.statistics()
    searcher.close()
    return {"indexed": documents, "terms": terms, "tokens": tokens}
