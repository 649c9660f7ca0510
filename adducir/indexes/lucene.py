"""Lucene's index: built from a corpus, and searched in bulk.

Fields are those of Anserini's IndexCollection, so pyserini and Anserini read the ``lucene`` folder.
All topics go to Java in one call; all hits come back as one block of bytes. Rankings are
Anserini's: score descending, equal scores by docno ascending, but with Lucene's whole scores, which
Anserini rounds to four decimals.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
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
from adducir.core.texts import refuse_text
from adducir.indexes import jvm
from adducir.indexes.index import FieldWeights, Hits, Index, Query, check_search, texts_alone
from adducir.indexes.jvm import translated
from adducir.indexes.models import BM25, Model, refuse_unless_scored

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus
    from adducir.indexes.building import IndexSettings
    from adducir.indexes.feedback import FeedbackMethod

KIND = "lucene-index"
FOLDER = "lucene"
"""Of an artifact, where Lucene's own files are."""
BUILDER_VERSION = 1
_QUERIES = 100  # whose documents' vectors are in memory at a time


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
        searcher = jvm.java_class("adducir.BulkSearcher")(str(inside), settings.analysis.java)
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
        self._bridge = jvm.java_class("adducir.BulkSearcher")
        with translated(path):
            folder = path / FOLDER if manifest else path
            # Java keeps the working folder it was started in; Python's may have changed.
            self._java = self._bridge(str(folder.absolute()), self.analysis.java)
            self.has_vectors = bool(self._java.hasVectors())

    @cached_property
    def docnos(self) -> pl.Series:
        with translated(self.path):
            joined = self._java.docnos().tostring().decode()
        return pl.Series("docno", joined.split("\n")[:-1], dtype=pl.String)

    def search(
        self,
        queries: Sequence[Query],
        model: Model,
        *,
        feedback: "FeedbackMethod | None" = None,
        fields: FieldWeights | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> Hits:
        check_search(queries, depth)
        if fields is not None:
            self._check_fields(fields, model, feedback)
        is_one_search = feedback is None or feedback.model(model) is model
        if feedback is not None and not (is_one_search and self._of_anserini(feedback)):
            queries = self.expand(texts_alone(queries), model, feedback, threads=threads)
            model, feedback = feedback.model(model), None
        counts, docs, scores = self._searched(queries, model, feedback, fields, depth, threads)
        return Hits(counts, self.docnos.gather(docs), scores)

    def expand(
        self,
        queries: Sequence[str],
        model: Model,
        feedback: "FeedbackMethod",
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        refuse_text(queries, "queries")
        self._refuse_feedback_without_vectors()
        method = self._of_anserini(feedback)
        if method is None:
            return list(self._expanded(queries, model, feedback, threads or default_threads()))
        with translated(self.path):
            found = self._java.expand(
                list(queries),
                [self._java.textQuery(query) for query in queries],
                self._similarity(model),
                method,
                feedback.fb_docs,
                threads or default_threads(),
            )
        return [_weights(lines) for lines in found]

    def expand_from(
        self, query: str, documents: Sequence[tuple[str, float]], feedback: "FeedbackMethod"
    ) -> dict[str, float]:
        docs = [self.number(docno) for docno, _ in documents[: feedback.depth]]
        scores = [float(score) for _, score in documents[: feedback.depth]]
        self._refuse_feedback_without_vectors()
        with translated(self.path):
            if (method := self._of_anserini(feedback)) is not None:
                return _weights(self._java.expandFrom(query, docs, scores, method))
            return self._read([query], [docs], [scores], feedback, 1)[0]

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

    def _refuse_feedback_without_vectors(self) -> None:
        if not self.has_vectors:
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

    def _of_anserini(self, feedback: "FeedbackMethod") -> Any:
        is_plain = self.analysis.kind.has_plain_feedback
        return feedback.of_anserini(self._java, has_plain_feedback=is_plain)

    def _searched(
        self,
        queries: Sequence[Query],
        model: Model,
        feedback: "FeedbackMethod | None",
        fields: FieldWeights | None,
        depth: int | None,
        threads: int | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Counts of hits, Lucene's numbers of the documents, and scores."""
        similarity = self._similarity(model)
        texts = [""] * len(queries)
        if feedback is not None:
            self._refuse_feedback_without_vectors()
            texts = texts_alone(queries)
        with translated(self.path):
            packed = self._java.search(
                texts,
                self._fielded(queries, fields) if fields else list(map(self._query, queries)),
                similarity,
                None if feedback is None else self._of_anserini(feedback),
                0 if feedback is None else feedback.fb_docs,
                min(depth or len(self), max(1, len(self))),
                threads or default_threads(),
            )
        found = np.frombuffer(packed.tostring(), dtype="<i4")
        counts, rest = found[: len(queries)], found[len(queries) :]
        return counts, rest[: len(rest) // 2], rest[len(rest) // 2 :].view("<f4")

    def _query(self, query: Query) -> Any:
        if isinstance(query, str):
            return self._java.textQuery(query)
        return self._bridge.weightedQuery(list(query), list(map(float, query.values())))

    def _fielded(self, queries: Sequence[Query], fields: FieldWeights) -> list[Any]:
        texts = [query for query in queries if isinstance(query, str)]
        counts = map(Counter, self.analysis.terms(texts))
        names, boosts = list(fields), list(map(float, fields.values()))
        terms = [next(counts) if isinstance(query, str) else query for query in queries]
        return [
            self._bridge.fieldsQuery(list(own), list(map(float, own.values())), names, boosts)
            for own in terms
        ]

    def _expanded(
        self, queries: Sequence[str], model: Model, method: "FeedbackMethod", threads: int
    ) -> Iterator[dict[str, float]]:
        for first in range(0, len(queries), _QUERIES):
            some = queries[first : first + _QUERIES]
            counts, *found = self._searched(some, model, None, None, method.depth, threads)
            ends = np.cumsum(counts)[:-1]
            docs, scores = ([part.tolist() for part in np.split(one, ends)] for one in found)
            with translated(self.path):
                yield from self._read(some, docs, scores, method, threads)

    def _read(
        self,
        queries: Sequence[str],
        docs: Sequence[Sequence[int]],
        scores: Sequence[Sequence[float]],
        method: "FeedbackMethod",
        threads: int,
    ) -> list[dict[str, float]]:
        from adducir.indexes.feedback import Collection, Document, expanded

        counts = [Counter(terms) for terms in self.analysis.terms(queries)]
        own = list(dict.fromkeys(term for query in counts for term in query))
        wanted = list(dict.fromkeys(doc for some in docs for doc in some))
        frequencies = dict(zip(own, self._java.frequencies(own), strict=True)) if own else {}
        vectors: dict[int, dict[str, int]] = {}
        for doc, vector in zip(
            wanted, self._java.vectors(wanted, threads) if wanted else (), strict=True
        ):
            lines = [line.split("\t") for line in vector.splitlines()]
            vectors[doc] = {term: int(tf) for term, tf, _ in lines}
            frequencies.update((term, int(documents)) for term, _, documents in lines)
        found = [
            [Document(score, vectors[doc]) for doc, score in zip(some, values, strict=True)]
            for some, values in zip(docs, scores, strict=True)
        ]
        plain = self.analysis.kind.has_plain_feedback
        return expanded(method, counts, found, Collection(len(self), plain, frequencies))


def _weights(lines: str) -> dict[str, float]:
    from adducir.indexes.feedback import heaviest_first

    pairs = (line.split("\t") for line in lines.splitlines())
    return heaviest_first({term: float(weight) for term, weight in pairs})
