"""Searching a Lucene index in bulk.

All topics go to Java in one call and are searched by several threads; all hits come back as one
block of bytes. Rankings are those of Anserini: score descending, equal scores by docno ascending,
but with Lucene's whole scores, which Anserini rounds to four decimals.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.core.artifacts import MANIFEST, Manifest, open_artifact
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.processes import default_threads
from adducir.core.texts import refuse_text
from adducir.indexes import jvm
from adducir.indexes.feedback import (
    RM3,
    Document,
    FeedbackMethod,
    Weights,
    check_weights,
    heaviest_first,
)
from adducir.indexes.field_weights import FieldWeights
from adducir.indexes.index import Hits, Index, Query, check_depth, texts_alone
from adducir.indexes.jvm import INDEX_FOLDER, INDEX_KIND, translated
from adducir.indexes.models import Model, refuse_unless_scored

_QUERIES = 100  # whose documents' vectors are in memory at a time


class LuceneIndex(Index):
    """An index that ``adducir index`` built, or a plain folder of Anserini's.

    Args:
        path: The artifact's folder, or a folder that Lucene itself wrote; the latter is taken to
            be of Anserini's default analysis and one-byte lengths.

    Raises:
        ArtifactError: No index, a damaged one, or one of another Lucene.
        MachineError: No Java.
    """

    default_model = "bm25"

    def __init__(self, path: Path | str) -> None:
        self._settle(Path(path), _manifest(Path(path)))
        self._bridge = jvm.java_class("adducir.BulkSearcher")
        with translated(self.path):
            folder = self.path / INDEX_FOLDER if self.manifest else self.path
            # Java keeps the working folder it was started in; Python's may have changed.
            self._java = self._bridge(str(folder.absolute()), self.analysis.java)
            self.has_vectors = bool(self._java.hasVectors())

    def __len__(self) -> int:
        """How many documents can be found (those without text are not indexed)."""
        return len(self.docnos)

    @cached_property
    def docnos(self) -> pl.Series:
        """Every docno, in the order of Lucene's document numbers."""
        with translated(self.path):
            joined = jvm.bytes_of(self._java.docnos()).decode()
        return pl.Series("docno", joined.split("\n")[:-1], dtype=pl.String)

    def search(
        self,
        queries: Sequence[Query],
        model: Model,
        *,
        feedback: FeedbackMethod | None = None,
        fields: FieldWeights | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> Hits:
        check_depth(depth)
        refuse_text(queries, "queries")
        if fields is not None:
            self._by_fields(fields, model, feedback)
        if feedback is not None and not isinstance(feedback, RM3):
            queries = self.expand(texts_alone(queries), model, feedback, threads=threads)
            model, feedback = feedback.model(model), None
        packed = self._searched(queries, model, feedback, depth, threads, fields)
        return self._unpacked(packed, len(queries))

    def expand(
        self,
        queries: Sequence[str],
        model: Model,
        feedback: FeedbackMethod,
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        refuse_text(queries, "queries")
        self._refuse_feedback_without_vectors()
        if not isinstance(feedback, RM3):
            return list(self._expanded(queries, model, feedback, threads))
        with translated(self.path):
            expanded = self._java.expand(
                *self._queries(queries, feedback),
                self._similarity(model),
                self._rm3(feedback),
                feedback.fb_docs,
                threads or default_threads(),
            )
        return [_weights(lines) for lines in expanded]

    def expand_from(
        self, query: str, documents: Sequence[tuple[str, float]], feedback: FeedbackMethod
    ) -> dict[str, float]:
        numbers = [self._number(docno) for docno, _ in documents]
        self._refuse_feedback_without_vectors()
        docs = numbers[: feedback.depth]
        scores = [float(score) for _, score in documents[: feedback.depth]]
        if not isinstance(feedback, RM3):
            return self._expansions([query], [docs], [scores], feedback, 1)[0]
        with translated(self.path):
            return _weights(self._java.expandFrom(query, docs, scores, self._rm3(feedback)))

    def close(self) -> None:
        """Let go of the files."""
        self._java.close()

    def _similarity(self, model: Model) -> Any:
        refuse_unless_scored(model, "lucene", self.path)
        similarity = model.similarity(exact_lengths=self.accurate_length)
        if similarity is None:
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

    def _rm3(self, rm3: RM3) -> Any:
        plain = self.analysis.has_plain_feedback
        return self._java.rm3(rm3.fb_terms, rm3.fb_docs, rm3.original_query_weight, plain)

    def _searched(
        self,
        queries: Sequence[Query],
        model: Model,
        rm3: RM3 | None,
        depth: int | None,
        threads: int | None,
        fields: FieldWeights | None = None,
    ) -> np.ndarray:
        """What :meth:`_unpacked` reads."""
        similarity = self._similarity(model)
        if rm3 is not None:
            self._refuse_feedback_without_vectors()
        with translated(self.path):
            packed = self._java.search(
                *(self._fielded(queries, fields) if fields else self._queries(queries, rm3)),
                similarity,
                None if rm3 is None else self._rm3(rm3),
                0 if rm3 is None else rm3.fb_docs,
                min(depth or len(self), max(1, len(self))),
                threads or default_threads(),
            )
        return np.frombuffer(jvm.bytes_of(packed), dtype="<i4")

    def _expanded(
        self, queries: Sequence[str], model: Model, method: FeedbackMethod, threads: int | None
    ) -> Iterator[dict[str, float]]:
        """The query that a method makes of each query, from the documents that it finds."""
        for first in range(0, len(queries), _QUERIES):
            some = queries[first : first + _QUERIES]
            packed = self._searched(some, model, None, method.depth, threads)
            hits = (len(packed) - len(some)) // 2
            ends = np.cumsum(packed[: len(some)])[:-1]
            docs = np.split(packed[len(some) : len(some) + hits], ends)
            scores = np.split(packed[len(some) + hits :].view("<f4"), ends)
            yield from self._expansions(
                some,
                [one.tolist() for one in docs],
                [one.tolist() for one in scores],
                method,
                threads or default_threads(),
            )

    def _expansions(
        self,
        queries: Sequence[str],
        docs: Sequence[Sequence[int]],
        scores: Sequence[Sequence[float]],
        method: FeedbackMethod,
        threads: int,
    ) -> list[dict[str, float]]:
        """The query that a method makes of each query and its documents."""
        with translated(self.path):
            counts = [Counter(terms) for terms in self.analysis.terms(queries)]
            found = _Found.read(
                self._java,
                counts,
                docs,
                threads,
                documents=len(self),
                has_plain_feedback=self.analysis.has_plain_feedback,
            )
        return found.expanded(counts, docs, scores, method)

    def _queries(self, queries: Sequence[Query], rm3: RM3 | None) -> tuple[list[str], list[Any]]:
        if rm3 is not None:
            texts = texts_alone(queries)
            return texts, [self._java.textQuery(query) for query in texts]
        built = []
        for query in queries:
            if isinstance(query, str):
                built.append(self._java.textQuery(query))
            else:
                weights = [float(weight) for weight in query.values()]
                built.append(self._bridge.weightedQuery(list(query), weights))
        return [""] * len(built), built

    def _fielded(
        self, queries: Sequence[Query], fields: FieldWeights
    ) -> tuple[list[str], list[Any]]:
        """Queries over weighted fields."""
        counts = map(
            Counter, self.analysis.terms([query for query in queries if isinstance(query, str)])
        )
        built = []
        for query in queries:
            terms = next(counts) if isinstance(query, str) else query
            weights = list(map(float, terms.values()))
            names, boosts = list(fields), list(map(float, fields.values()))
            built.append(self._bridge.fieldsQuery(list(terms), weights, names, boosts))
        return [""] * len(built), built

    def _unpacked(self, packed: np.ndarray, queries: int) -> Hits:
        hits = (len(packed) - queries) // 2
        counts, rest = packed[:queries], packed[queries:]
        scores = rest[hits:].view("<f4")
        return Hits(counts, self.docnos.gather(rest[:hits]), scores)


@dataclass(frozen=True)
class _Found:
    """The documents that some queries found, and how many documents hold each term that occurs.

    Attributes:
        documents: How many documents the index has.
        has_plain_feedback: See :class:`.Collection`.
        frequencies: By term, how many documents hold it.
        terms: By Lucene's document number, the document's terms with their frequencies.
    """

    documents: int
    has_plain_feedback: bool
    frequencies: dict[str, int]
    terms: Mapping[int, Mapping[str, int]]

    @classmethod
    def read(
        cls,
        java: Any,
        queries: Sequence[Counter[str]],
        docs: Sequence[Sequence[int]],
        threads: int,
        *,
        documents: int,
        has_plain_feedback: bool,
    ) -> "_Found":
        """Read documents' vectors.

        Args:
            java: A ``BulkSearcher``.
            docs: The documents of each query.
        """
        own = list({term: 0 for query in queries for term in query})
        found = list({doc: 0 for some in docs for doc in some})
        frequencies = dict(zip(own, java.frequencies(own), strict=True)) if own else {}
        terms = {}
        for doc, vector in zip(found, java.vectors(found, threads) if found else (), strict=True):
            lines = [line.split("\t") for line in vector.splitlines()]
            terms[doc] = {term: int(frequency) for term, frequency, _ in lines}
            frequencies.update((term, int(documents)) for term, _, documents in lines)
        return cls(documents, has_plain_feedback, frequencies, terms)

    def frequency(self, term: str) -> int:
        """How many documents hold a term; 0 for a term of neither a query nor a document."""
        return self.frequencies.get(term, 0)

    def expanded(
        self,
        queries: Sequence[Counter[str]],
        docs: Sequence[Sequence[int]],
        scores: Sequence[Sequence[float]],
        method: FeedbackMethod,
    ) -> list[Weights]:
        """The query that a method makes of each query, heaviest terms first.

        Args:
            docs: The documents of each query, best first.

        Raises:
            UsageError: The method gives a weight that is negative or not finite.
        """
        expanded = []
        for query, some, values in zip(queries, docs, scores, strict=True):
            found = [Document(one, self.terms[doc]) for doc, one in zip(some, values, strict=True)]
            weights = method.expanded(query, found, self)
            check_weights(weights)
            expanded.append(heaviest_first(weights))
        return expanded


def _manifest(path: Path) -> Manifest | None:
    if (path / MANIFEST).is_file():
        return open_artifact(path, INDEX_KIND)
    if path.is_dir() and any(path.glob("segments_*")):
        return None
    raise ArtifactError(
        "there is no index here." if path.exists() else "there is no such index.",
        path=path,
        hint="Build one with 'adducir index SOURCE --output indexes/NAME'.",
    )


def _weights(lines: str) -> dict[str, float]:
    pairs = (line.split("\t") for line in lines.splitlines())
    return heaviest_first({term: float(weight) for term, weight in pairs})
