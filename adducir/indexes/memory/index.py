"""Searching a memory index; everything that :class:`adducir.indexes.LuceneIndex` does, faster."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from adducir.core.artifacts import Manifest, open_artifact
from adducir.core.errors import UsageError
from adducir.core.processes import default_threads
from adducir.core.texts import refuse_text
from adducir.indexes.feedback import FeedbackMethod, check_weights
from adducir.indexes.field_weights import FieldWeights
from adducir.indexes.index import Hits, Index, Query, check_depth, texts_alone
from adducir.indexes.jvm import translated
from adducir.indexes.memory import KIND, engine_backend
from adducir.indexes.memory.feedback import Feedback
from adducir.indexes.memory.opened import Opened
from adducir.indexes.memory.searching import Ranked, Terms
from adducir.indexes.models import Model, refuse_unless_scored


class MemoryIndex(Index):
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

    manifest: Manifest

    def __init__(self, path: Path | str, *, backend: str | None = None) -> None:
        self._settle(Path(path), open_artifact(Path(path), KIND))
        self.backend = backend or engine_backend()
        is_of_impacts = "weights" in self.manifest.recipe and self.analysis.is_pretokenized
        self.default_model = "impact" if is_of_impacts else "bm25"
        self._opened = Opened(self.path, self.backend)
        self._totals = self._opened.totals
        self.has_vectors = self._opened.has_vectors

    def __len__(self) -> int:
        """How many documents can be found (those without a term are not indexed)."""
        return self._totals.documents

    @property
    def docnos(self) -> pl.Series:
        """Every docno, in ascending order."""
        return self._totals.docnos

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
        """See :class:`Index`; scores are double precision unless the model is Lucene's."""
        check_depth(depth)
        refuse_text(queries, "queries")
        threads = threads or default_threads()
        if fields is not None:
            bm25, requested = self._by_fields(fields, model, feedback), self._weights(queries)
            kept = self.separate_fields
            return self._hits(
                self._opened.rank_by_fields(
                    requested, fields, bm25, kept, depth=depth, threads=threads
                )
            )
        if feedback is None:
            terms = Terms.of(self._weights(queries), self._totals.numbers)
        else:
            counts, found = self._first(texts_alone(queries), model, feedback, threads)
            terms = self._feedback.terms(counts, found, feedback, threads)
            model = feedback.model(model)
        return self._hits(self._rank(terms, model, depth, threads))

    def _hits(self, ranked: Ranked) -> Hits:
        docnos = self.docnos.gather(ranked.docs)
        return Hits(ranked.counts.astype(np.int32), docnos, ranked.scores)

    def expand(
        self,
        queries: Sequence[str],
        model: Model,
        feedback: FeedbackMethod,
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        threads = threads or default_threads()
        counts, found = self._first(texts_alone(queries), model, feedback, threads)
        return self._feedback.weights(counts, found, feedback, threads)

    def expand_from(
        self, query: str, documents: Sequence[tuple[str, float]], feedback: FeedbackMethod
    ) -> dict[str, float]:
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
        indexed = self.manifest.counts.get("indexed", self._totals.documents)
        plain = self.analysis.has_plain_feedback
        return Feedback(self._totals, self._opened.vectors, int(indexed), plain)

    def _rank(self, terms: Terms, model: Model, depth: int | None, threads: int) -> Ranked:
        refuse_unless_scored(model, "memory", self.path)
        return self._opened.rank(
            terms,
            model,
            documents=int(self.manifest.counts.get("documents", self._totals.documents)),
            accurate=self.accurate_length,
            depth=depth,
            threads=threads,
        )

    def _first(
        self, queries: Sequence[str], model: Model, feedback: FeedbackMethod, threads: int
    ) -> tuple[list[Counter[str]], Ranked]:
        """The terms of the queries, and the documents that feedback reads."""
        _ = self._feedback  # refused before anything is searched
        counts = self._counts(queries)
        terms = Terms.of(counts, self._totals.numbers)
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
