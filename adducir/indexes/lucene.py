"""The Lucene index: built from a corpus, searched in bulk.

Fields are those of Anserini's IndexCollection, so pyserini and Anserini can read the ``lucene``
folder. All topics go to Java in one call; all hits come back as one block of bytes. Rankings are
Anserini's: score descending, ties by docno ascending, but with Lucene's exact scores, which
Anserini rounds to four decimals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adducir.core.errors import ArtifactError, UsageError, worded
from adducir.core.manifests import MANIFEST, open_artifact
from adducir.core.progress import progress
from adducir.core.texts import nearest
from adducir.indexes import jvm
from adducir.indexes.arrays import damaged
from adducir.indexes.index import Array, Index, Ranked, Scored
from adducir.indexes.jvm import translated
from adducir.indexes.kinds import KINDS

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.indexes.feedback import Terms
    from adducir.indexes.models import Model
    from adducir.indexes.settings import LuceneSettings

FOLDER = "lucene"
"""Where an artifact keeps Lucene's files."""
_HEAP_PER_HIT = 128  # bytes; a hit takes 28 when it is packed, and other calls take heap, too
_MOST_HITS = 1 << 27
_CONTENTS = "contents"  # the Lucene field of all indexed text


def write(
    corpus: "Corpus", folder: Path, settings: "LuceneSettings", threads: int
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
            list(settings.separate),
        )
        try:
            with (
                progress().doing("indexing", corpus.size_hint(), "documents"),
                DocumentWriter(folder) as store,
            ):
                texts = stored(corpus, settings.fields, store, settings.separate)
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
            others = (manifest_.parent.name for manifest_ in path.parent.glob(f"[!.]*/{MANIFEST}"))
            near = nearest(path.name, others) or "."
            raise ArtifactError(
                "this is not an index." if path.exists() else f"this index does not exist{near}",
                path=path,
                hint="Build one with `adducir index` or `adducir.build_index`; a prebuilt one must "
                "be in Pyserini's cache.",
            )
        super().__init__(path, manifest)
        self.analysis = replace(self.analysis, by_lucene=True)
        with translated(path):
            folder = path / FOLDER if manifest else path
            # Java keeps its initial working folder; Python's may have changed.
            self._java = jvm.java_class("adducir.BulkSearcher")(str(folder.absolute()))

    @cached_property
    def docnos(self) -> pl.Series:
        with translated(self.path):
            blocks = range(self._java.docnoBlocks())
            try:
                lines = [self._java.docnos(block).tostring()[:-1].decode() for block in blocks]
            except UnicodeDecodeError as error:
                raise damaged(self.path) from error
        parts = [pl.Series("docno", [text]).str.split("\n").explode() for text in lines]
        return pl.concat(parts) if parts else pl.Series("docno", [], dtype=pl.String)

    def close(self) -> None:
        self._java.close()

    def _refuse_without_vectors(self) -> None:
        if not self._java.hasVectors():
            raise UsageError(
                f"{self.path} lacks document vectors, which feedback needs.",
                hint=f"Rebuild it without {worded('vectors', 'false')}, or search without "
                f"{worded('feedback')}.",
            )

    def _scoring(self, model: "Model") -> tuple[Any, tuple[list[str], list[float]]]:
        """Lucene's object for a model, and the fields with their weights."""
        from adducir.indexes.models import refuse_unfit

        boosts = model.by_field or {_CONTENTS: 1.0}
        fields = [name for name in self._java.fields() if name != "id"] if model.by_field else []
        refuse_unfit(model, "lucene", self.path, accurate=self.accurate_length, fields=fields)
        similarity = model.similarity(exact_lengths=self.accurate_length)
        return similarity, (list(boosts), list(boosts.values()))

    def _score(
        self, weighted: Sequence[Any], numbers: Sequence[Array], model: "Model", threads: int
    ) -> list[Scored]:
        similarity, fields = self._scoring(model)
        orders = [np.argsort(docs, kind="stable") for docs in numbers]
        docs = [
            int(doc) for each, order in zip(numbers, orders, strict=True) for doc in each[order]
        ]
        counts = list(map(len, numbers))
        with translated(self.path):
            values = self._java.score(*_flat(weighted), similarity, docs, counts, threads, *fields)
        parts = np.split(np.array(values, dtype=np.float64), np.cumsum(counts))[:-1]
        return [part[np.argsort(order)] for part, order in zip(parts, orders, strict=True)]

    def _rank(
        self,
        queries: Sequence[Mapping[str, float]],
        model: "Model",
        depth: int | None,
        threads: int,
    ) -> Ranked:
        similarity, fields = self._scoring(model)
        depth = min(depth or len(self), max(1, len(self)))
        # Java's heap must hold all hits of a call, and an array of Java ends at 2 GB.
        most_hits = min((jvm.start().heap << 20) // _HEAP_PER_HIT, _MOST_HITS)
        size, answers = max(1, most_hits // depth), list[Ranked]()
        for first in range(0, max(1, len(queries)), size):
            some = queries[first : first + size]
            with translated(self.path):
                packed = self._java.search(*_flat(some), similarity, depth, threads, *fields)
            numbers = np.frombuffer(packed.tostring(), dtype="<i4")
            counts, docs, scores = np.split(numbers, [len(some), (len(some) + len(numbers)) // 2])
            answers.append((counts, docs, scores.view("<f4")))
        if len(answers) == 1:
            return answers[0]
        counts, docs, scores = map(np.concatenate, zip(*answers, strict=True))
        return counts, docs, scores

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
        java = self._java
        statistics = java.frequencies, java.occurrences
        vocabulary = Terms(names, ranks, frequencies, len(self), is_plain, *statistics)
        return vocabulary, sizes, terms, tfs


def _flat(queries: Sequence[Mapping[str, float]]) -> tuple[list[str], list[float], list[int]]:
    """The terms of all queries, their weights, and how many each query has."""
    terms = [term for query in queries for term in query]
    weights = [float(weight) for query in queries for weight in query.values()]
    return terms, weights, list(map(len, queries))
