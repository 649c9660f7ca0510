"""Lucene's index: built from a corpus, and searched in bulk.

Fields are those of Anserini's IndexCollection, so pyserini and Anserini read the ``lucene`` folder.
All topics go to Java in one call; all hits come back as one block of bytes. Rankings are
Anserini's: score descending, equal scores by docno ascending, but with Lucene's whole scores, which
Anserini rounds to four decimals.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adducir.core.artifacts import MANIFEST, Manifest, build, open_artifact
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.fingerprint import fingerprint
from adducir.core.processes import default_threads
from adducir.core.progress import progress
from adducir.indexes import jvm
from adducir.indexes.index import FieldWeights, Index, Ranked
from adducir.indexes.jvm import translated
from adducir.indexes.models import BM25, Model, refuse_unless_scored

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.indexes.building import IndexSettings
    from adducir.indexes.feedback import FeedbackMethod, Terms, Vectors

KIND = "lucene-index"
FOLDER = "lucene"
"""Of an artifact, where Lucene's own files are."""
BUILDER_VERSION = 1


def build_index(
    corpus: "Corpus",
    path: Path,
    settings: "IndexSettings | None" = None,
    *,
    threads: int | None = None,
    rebuild: bool = False,
) -> Manifest:
    """Build the index, unless ``path`` already holds the one that would be built.

    Content and rankings are the same for any number of ``threads``. The manifest counts
    ``documents``, ``indexed``, ``empty`` (documents without text, which Anserini does not index
    either), ``terms`` and ``tokens``.

    Raises:
        InputError: A record is malformed, a docno occurs twice, or no document has a field.
        MachineError: No Java, or no disk space.
        ArtifactError: ``path`` holds something that is not ours.
        UsageError: The settings name weights.
    """
    from adducir.indexes.building import IndexSettings, engine_versions

    own = (settings or IndexSettings()).of(corpus)
    if own.weights is not None:
        raise UsageError(
            "Lucene's indexes take no token weights.", hint="Build a memory index of them."
        )
    return build(
        path,
        kind=KIND,
        recipe=own.recipe(),
        inputs={"corpus": fingerprint(corpus.identity())},
        builder_version=BUILDER_VERSION,
        make=lambda folder: _make(corpus, folder, own, threads or default_threads()),
        rebuild=rebuild,
        versions=engine_versions(),
    )


def _make(
    corpus: "Corpus", folder: Path, settings: "IndexSettings", threads: int
) -> dict[str, Any]:
    from adducir.indexes.building import documents_with, packed, stored
    from adducir.indexes.documents import DocumentWriter

    inside = (folder / FOLDER).absolute()
    inside.mkdir()
    separate = settings.fields if settings.separate_fields else ()
    with translated(folder):
        indexer = jvm.java_class("adducir.BulkIndexer")(
            str(inside),
            settings.analysis.java,
            settings.positions,
            settings.vectors,
            settings.accurate_length,
            list(separate),
            threads,
            max(16, min(2048, jvm.start().heap // 3)),
        )
        try:
            with (
                progress().doing("indexing", corpus.size_hint(), "documents"),
                DocumentWriter(folder) as store,
            ):
                documents = documents_with(corpus, settings.fields)
                texts = stored(documents, settings.fields, store, separate)
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
    """An index that ``adducir index`` built, or a plain folder of Anserini's.

    A folder that Lucene itself wrote is taken to be of Anserini's default analysis and one-byte
    lengths. ``separate_fields`` are the fields that are kept by themselves too.

    Raises:
        ArtifactError: No index, a damaged one, or one of another Lucene.
        MachineError: No Java.
    """

    def __init__(self, path: Path | str) -> None:
        path, manifest = Path(path), None
        if (path / MANIFEST).is_file():
            manifest = open_artifact(path, KIND)
        elif not (path.is_dir() and any(path.glob("segments_*"))):
            raise ArtifactError(
                "there is no index here." if path.exists() else "no such index.",
                path=path,
                hint="Build one with 'adducir index SOURCE --output indexes/NAME'.",
            )
        super().__init__(path, manifest)
        is_separate = manifest is not None and manifest.recipe.get("separate_fields")
        self.separate_fields = self.fields if is_separate else ()
        with translated(path):
            folder = path / FOLDER if manifest else path
            # Java keeps the working folder it was started in; Python's may have changed.
            self._java = jvm.java_class("adducir.BulkSearcher")(str(folder.absolute()))

    @cached_property
    def docnos(self) -> pl.Series:
        with translated(self.path):
            joined = self._java.docnos().tostring().decode()
        return pl.Series("docno", joined.split("\n")[:-1], dtype=pl.String)

    def close(self) -> None:
        self._java.close()

    def _similarity(self, model: Model) -> Any:
        similarity = model.similarity(exact_lengths=self.accurate_length)
        if similarity is None:
            refuse_unless_scored(model, "lucene", self.path)
            raise UsageError(
                f"{self.path} holds exact lengths, which only BM25 reads.",
                hint="Search it with bm25, or build an index without accurate_length=true.",
            )
        return similarity

    def _refuse_without_vectors(self) -> None:
        if not self._java.hasVectors():
            raise UsageError(
                f"{self.path} holds no document vectors, which feedback reads.",
                hint="Build it again without --set vectors=false, or search without --feedback.",
            )

    def _check_fields(
        self, weights: FieldWeights, model: Model, feedback: "FeedbackMethod | None"
    ) -> None:
        """Refuse BM25F where the index cannot be searched by weighted fields.

        Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", CIKM
        2004, as Lucene's CombinedFieldQuery has it: before BM25's saturation, a term's frequencies
        in the fields are added up, each times its field's weight, and so are the fields' lengths.
        """
        known = self.separate_fields
        if not known:
            raise UsageError(
                f"{self.path} holds its fields joined, so they cannot have weights.",
                hint="Build it again with --set separate_fields=true.",
            )
        unknown = [field for field in weights if field not in known]
        if unknown or not weights:
            name = f"holds no field {unknown[0]!r}" if unknown else "needs weights of fields"
            hint = f"Its fields are {', '.join(known)}."
            raise UsageError(f"{self.path} {name}.", hint=hint)
        if not all(math.isfinite(weight) and weight >= 1 for weight in weights.values()):
            raise UsageError(
                f"the weights of fields must be 1 or more, not {dict(weights)}.",
                hint="Give the least important field 1, and the others greater weights.",
            )
        if type(model) is not BM25 or self.accurate_length or feedback is not None:
            raise UsageError(
                "field weights are for the model bm25, lengths in one byte, and no feedback."
            )

    def _rank(
        self,
        queries: Sequence[Mapping[str, float]],
        model: Model,
        fields: FieldWeights | None,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        similarity, boosts = self._similarity(model), fields or {}
        with translated(self.path):
            packed = self._java.search(
                [term for query in queries for term in query],
                [float(weight) for query in queries for weight in query.values()],
                list(map(len, queries)),
                list(boosts),
                list(map(float, boosts.values())),
                similarity,
                min(depth or len(self), max(1, len(self))),
                threads,
            )
        found = np.frombuffer(packed.tostring(), dtype="<i4")
        counts, rest = found[: len(queries)], found[len(queries) :]
        return Ranked(counts, rest[: len(rest) // 2], rest[len(rest) // 2 :].view("<f4"))

    def _vectors(self, found: Ranked) -> "tuple[Vectors, Terms]":
        from adducir.indexes.feedback import Terms, Vectors

        with translated(self.path):
            packed = jvm.released(self._java.vectors)(found.docs.tolist()).tostring()
        size, distinct = np.frombuffer(packed, dtype="<i4", count=2).tolist()
        parts = np.cumsum([2, len(found.docs), size, size, distinct])
        numbers = np.frombuffer(packed, dtype="<i4", count=parts[-1])
        sizes, terms, tfs, frequencies = np.split(numbers, parts[:-1])[1:]
        names = pl.Series(packed[numbers.nbytes :].decode().split("\n")[:distinct], dtype=pl.String)
        ranks = np.argsort(names.arg_sort().to_numpy())
        is_plain = self.analysis.kind.has_plain_feedback
        known = Terms(names, ranks, frequencies, len(self), is_plain, self._java.frequencies)
        return Vectors(found.counts, found.scores, sizes, terms, tfs), known
