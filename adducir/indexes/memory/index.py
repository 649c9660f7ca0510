"""Searching a memory index; everything that :class:`adducir.indexes.LuceneIndex` does, faster."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.core.checking import checked
from adducir.core.errors import UsageError
from adducir.core.verified import open_artifact
from adducir.indexes.analysis import Analysis
from adducir.indexes.arrays import damaged
from adducir.indexes.documents import DocumentStore
from adducir.indexes.feedback.method import FeedbackMethod
from adducir.indexes.feedback.weights import check_weights
from adducir.indexes.field_weights import FieldWeights, checked_fields
from adducir.indexes.java_errors import translated
from adducir.indexes.lucene import Hits, Query
from adducir.indexes.lucene_builder import default_threads
from adducir.indexes.memory import engine_backend
from adducir.indexes.memory.builder import KIND
from adducir.indexes.memory.feedback import Feedback
from adducir.indexes.memory.fields import FieldSearcher
from adducir.indexes.memory.files import Arrays
from adducir.indexes.memory.formulas import rank_by_formula
from adducir.indexes.memory.searching import Ranked, Searcher, Terms
from adducir.indexes.models.model import Model
from adducir.indexes.models.refusing import refuse_unless_scored


class MemoryIndex:
    """An index that ``adducir index --engine memory`` built.

    Scores and rankings by Lucene's models are Lucene's, see :mod:`.scoring`, and feedback is
    Anserini's, see :mod:`adducir.indexes.feedback`.

    Args:
        backend: ``numba`` or ``numpy``; by default what is there, see :func:`engine_backend`.

    Attributes:
        accurate_length: Whether BM25 sees exact lengths. The index holds both kinds; the recipe's
            choice can be changed between searches.
        default_model: The name of the model for what it holds: ``impact`` for weights of ready
            tokens, otherwise ``bm25``.

    Raises:
        ArtifactError: No memory index, or a damaged one.
    """

    @checked
    def __init__(self, path: Path | str, *, backend: str | None = None) -> None:
        self.path = Path(path)
        self.manifest = open_artifact(self.path, KIND)
        recipe = self.manifest.recipe
        self.backend = backend or engine_backend()
        self.accurate_length = bool(recipe.get("accurate_length", False))
        self.fields = tuple(recipe.get("fields", ()))
        self.analysis = Analysis.from_settings(recipe["analysis"])
        is_of_impacts = "weights" in recipe and self.analysis.is_pretokenized
        self.default_model = "impact" if is_of_impacts else "bm25"
        self.separate_fields = self.fields if recipe.get("separate_fields") else ()
        self._arrays = Arrays.open(self.path)
        self.has_vectors = len(self._arrays.forward) > 0 or self._arrays.documents == 0
        self._searcher = Searcher(self._arrays, self.backend)

    def __len__(self) -> int:
        """How many documents can be found (those without a term are not indexed)."""
        return self._arrays.documents

    @property
    def identity(self) -> dict[str, Any]:
        """What the index is, for fingerprints and run metadata."""
        return {"name": self.path.name, "fingerprint": self.manifest.fingerprint}

    @property
    def docnos(self) -> pl.Series:
        """Every docno, in ascending order."""
        return self._arrays.docnos

    @cached_property
    def documents(self) -> DocumentStore:
        """The documents' texts."""
        return DocumentStore(self.path)

    @checked
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
        """Rank the documents for each query.

        Args:
            queries: Texts, or weighted index terms (these take no ``feedback``).
            model: The retrieval model; scores are double precision unless the model is Lucene's.
            feedback: Expand each query first.
            fields: The weights of fields, where the index keeps them separate; BM25 alone.
            depth: Hits a query, at most; None for all documents that hold a term of the query.

        Raises:
            UsageError: ``feedback`` on an index of weights or with weighted queries; a model that
                only Lucene has; a negative weight; ``depth`` below 1; ``fields`` that the index or
                the model has not.
        """
        if depth is not None and depth < 1:
            raise UsageError(f"a depth must be 1 or more, not {depth}.")
        threads = threads or default_threads()
        if fields is not None:
            ranked = self._rank_fields(queries, model, feedback, fields, depth, threads)
            return self._hits(ranked)
        if feedback is None:
            terms = Terms.of(self._weights(queries), self._arrays.numbers)
        else:
            counts, found = self._first(_texts(queries), model, feedback, threads)
            terms = self._feedback.terms(counts, found, feedback, threads)
            model = feedback.model(model)
        return self._hits(self._rank(terms, model, depth, threads))

    def _hits(self, ranked: Ranked) -> Hits:
        docnos = self.docnos.gather(ranked.docs)
        return Hits(ranked.counts.astype(np.int32), docnos, ranked.scores)

    @checked
    def expand(
        self,
        queries: Sequence[str],
        model: Model,
        feedback: FeedbackMethod,
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        """The query that feedback makes of each query: index terms and weights, heaviest first.

        Raises:
            UsageError: As :meth:`search`.
        """
        threads = threads or default_threads()
        counts, found = self._first(queries, model, feedback, threads)
        return self._feedback.weights(counts, found, feedback, threads)

    def expand_from(
        self, query: str, documents: Sequence[tuple[str, float]], feedback: FeedbackMethod
    ) -> dict[str, float]:
        """The query that feedback makes of ``query`` and given documents, best first, with scores.

        Raises:
            UsageError: The index holds weights, or not one of the documents, or a score is
                negative.
        """
        best = documents[: feedback.depth]
        docs = np.array([self._number(docno) for docno, _ in best], dtype=np.int32)
        scores = np.array([score for _, score in best], dtype=np.float32)
        if not (scores >= 0).all():
            raise UsageError("feedback weighs documents by their scores, which must be 0 or more.")
        found = Ranked(np.array([len(docs)]), docs, scores)
        return self._feedback.weights(self._counts([query]), found, feedback, 1)[0]

    def close(self) -> None:
        """Nothing needs to be closed."""

    @cached_property
    def _feedback(self) -> Feedback:
        if not self.has_vectors:
            raise UsageError(
                f"{self.path} holds weighted terms; feedback reads documents' frequencies.",
                hint="Search without feedback, or expand from an index of the texts.",
            )
        indexed = self.manifest.counts.get("indexed", self._arrays.documents)
        return Feedback(self._arrays, int(indexed), self.analysis.has_plain_feedback)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {docno: number for number, docno in enumerate(self.docnos)}

    def _number(self, docno: str) -> int:
        if docno not in self._numbers:
            raise UsageError(f"the index {self.path} holds no document {docno!r}.")
        return self._numbers[docno]

    def _rank(self, terms: Terms, model: Model, depth: int | None, threads: int) -> Ranked:
        refuse_unless_scored(model, "memory", self.path)
        formula = model.compiled()
        try:
            if formula is not None:
                return self._searcher.rank(
                    terms, formula, accurate=self.accurate_length, depth=depth, threads=threads
                )
            corpus = int(self.manifest.counts.get("documents", self._arrays.documents))
            return rank_by_formula(self._arrays, corpus, terms, model, depth=depth, threads=threads)
        except IndexError as error:  # a document number that there is not
            raise damaged(self.path / "postings.docs.npy") from error

    @cached_property
    def _field_searcher(self) -> FieldSearcher:
        return FieldSearcher(self.path, self.separate_fields, self.docnos)

    def _rank_fields(
        self,
        queries: Sequence[Query],
        model: Model,
        feedback: FeedbackMethod | None,
        fields: FieldWeights,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        bm25 = checked_fields(
            fields,
            self.separate_fields,
            model,
            self.path,
            exact_lengths=self.accurate_length,
            has_feedback=feedback is not None,
        )
        weighted = self._weights(queries)
        return self._field_searcher.rank(weighted, fields, bm25, depth=depth, threads=threads)

    def _first(
        self, queries: Sequence[str], model: Model, feedback: FeedbackMethod, threads: int
    ) -> tuple[list[Counter[str]], Ranked]:
        """The terms of the queries, and the documents that feedback reads."""
        _ = self._feedback  # refused before anything is searched
        counts = self._counts(queries)
        terms = Terms.of(counts, self._arrays.numbers)
        return counts, self._rank(terms, model, feedback.depth, threads)

    def _weights(self, queries: Sequence[Query]) -> list[Mapping[str, float]]:
        """Every query as terms and weights; a text's terms count as often as they occur."""
        counts = iter(self._counts([query for query in queries if isinstance(query, str)]))
        weighted: list[Mapping[str, float]] = []
        for query in queries:
            if isinstance(query, str):
                weighted.append(next(counts))
            else:
                check_weights(query)
                weighted.append(query)
        return weighted

    def _counts(self, texts: Sequence[str]) -> list[Counter[str]]:
        with translated(self.path):
            return [Counter(terms) for terms in self.analysis.terms(texts)]


def _texts(queries: Sequence[Query]) -> list[str]:
    texts = [query for query in queries if isinstance(query, str)]
    if len(texts) < len(queries):
        raise UsageError("feedback expands a query's text, not weighted terms.")
    return texts
