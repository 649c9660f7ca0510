"""The Lucene index: built from a corpus, searched in bulk.

Fields are those of Anserini's IndexCollection, so pyserini and Anserini can read the ``lucene``
folder. All topics go to Java in one call; all hits come back as one block of bytes. Rankings are
Anserini's: score descending, ties by docno ascending, but with Lucene's exact scores, which
Anserini rounds to four decimals.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adducir.core.artifacts import MANIFEST, open_artifact
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.progress import progress
from adducir.core.texts import nearest
from adducir.indexes import jvm
from adducir.indexes.index import Array, Index, Ranked
from adducir.indexes.jvm import translated
from adducir.indexes.kinds import KINDS
from adducir.indexes.models import Model, refuse_unless_scored

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.indexes.building import IndexSettings
    from adducir.indexes.feedback import Terms

FOLDER = "lucene"
"""Where an artifact keeps Lucene's files."""


def write(
    corpus: "Corpus", folder: Path, settings: "IndexSettings", threads: int
) -> dict[str, Any]:
    """Build an index in an empty folder; returns its counts."""
    from adducir.indexes.building import packed, stored
    from adducir.indexes.documents import DocumentWriter

    inside = (folder / FOLDER).absolute()
    inside.mkdir()
    with translated(folder):
        indexer = jvm.java_class("adducir.BulkIndexer")(
            str(inside),
            settings.analysis.java,
            settings.positions,
            settings.vectors,
            settings.accurate_length,
            threads,
            max(16, min(2048, jvm.start().heap // 3)),
        )
        try:
            with (
                progress().doing("indexing", corpus.size_hint(), "documents"),
                DocumentWriter(folder) as store,
            ):
                texts = stored(corpus, settings.fields, store)
                for docnos, block in packed(texts, with_docnos=True):
                    indexer.add(block)
                    progress().advance(len(docnos))
                count = len(store)
                indexer.finish()
        except BaseException:
            indexer.abort()
            raise
        searcher = jvm.java_class("adducir.BulkSearcher")(str(inside))
        indexed, terms, tokens = searcher.statistics()
        searcher.close()
        counts = {"documents": count, "empty": int(indexer.empty()), "indexed": indexed}
        return counts | {"terms": terms, "tokens": tokens}


class LuceneIndex(Index):
    """An index built by ``adducir index``, or a plain folder of Anserini's.

    A folder without Adducir's manifest is assumed to use Anserini's default analysis and one-byte
    lengths.

    Raises:
        ArtifactError: The index is missing, damaged or from another version of Lucene.
        MachineError: No Java.
    """

    def __init__(self, path: Path | str) -> None:
        path, manifest = Path(path), None
        if (path / MANIFEST).is_file():
            manifest = open_artifact(path, KINDS["lucene"])
        elif not (path.is_dir() and any(path.glob("segments_*"))):
            others = (one.parent.name for one in path.parent.glob(f"[!.]*/{MANIFEST}"))
            near = nearest(path.name, others) or "."
            raise ArtifactError(
                "this is not an index." if path.exists() else f"this index does not exist{near}",
                path=path,
                hint="Build one with 'adducir index SOURCE --output indexes/NAME'; a prebuilt one "
                "must be in Pyserini's cache.",
            )
        super().__init__(path, manifest)
        with translated(path):
            folder = path / FOLDER if manifest else path
            # Java keeps its initial working folder; Python's may have changed.
            self._java = jvm.java_class("adducir.BulkSearcher")(str(folder.absolute()))

    @cached_property
    def docnos(self) -> pl.Series:
        with translated(self.path):
            joined = self._java.docnos().tostring().decode()
        return pl.Series("docno", joined.split("\n")[:-1], dtype=pl.String)

    def close(self) -> None:
        self._java.close()

    def _refuse_without_vectors(self) -> None:
        if not self._java.hasVectors():
            raise UsageError(
                f"{self.path} lacks document vectors, which feedback needs.",
                hint="Rebuild it without --set vectors=false, or search without --feedback.",
            )

    def _rank(
        self,
        queries: Sequence[Mapping[str, float]],
        model: Model,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        similarity = model.similarity(exact_lengths=self.accurate_length)
        if similarity is None:
            refuse_unless_scored(model, "lucene", self.path)
            raise UsageError(
                f"{self.path} has exact lengths, which only BM25 supports.",
                hint="Search it with bm25, or build an index without accurate_length=true.",
            )
        terms, weights = list[str](), list[float]()
        for query in queries:
            terms += query
            weights += map(float, query.values())
        with translated(self.path):
            packed = self._java.search(
                terms,
                weights,
                list(map(len, queries)),
                similarity,
                min(depth or len(self), max(1, len(self))),
                threads,
            )
        found = np.frombuffer(packed.tostring(), dtype="<i4")
        counts, rest = found[: len(queries)], found[len(queries) :]
        return counts, rest[: len(rest) // 2], rest[len(rest) // 2 :].view("<f4")

    def _vectors(self, docs: Array) -> "tuple[Terms, Array, Array, Array]":
        from adducir.indexes.feedback import Terms

        with translated(self.path):
            packed = jvm.released(self._java.vectors)(docs.tolist()).tostring()
        size, distinct = np.frombuffer(packed, dtype="<i4", count=2).tolist()
        parts = np.cumsum([2, len(docs), size, size, distinct])
        numbers = np.frombuffer(packed, dtype="<i4", count=parts[-1])
        sizes, terms, tfs, frequencies = np.split(numbers, parts[:-1])[1:]
        names = pl.Series(packed[numbers.nbytes :].decode().split("\n")[:distinct], dtype=pl.String)
        ranks = np.argsort(names.arg_sort().to_numpy())
        is_plain = self.analysis.kind.has_plain_feedback
        known = Terms(names, ranks, frequencies, len(self), is_plain, self._java.frequencies)
        return known, sizes, terms, tfs
