"""Searching a memory index; everything that :class:`adducir.indexes.LuceneIndex` does, faster."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from adducir.core.artifacts import Manifest, open_artifact
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.processes import default_threads
from adducir.indexes.feedback import FeedbackMethod, check_weights
from adducir.indexes.index import FieldWeights, Hits, Index, Query, check_search, texts_alone
from adducir.indexes.jvm import translated
from adducir.indexes.memory import BUILDER_VERSION, KIND
from adducir.indexes.memory.ranking import Ranked, Ranker
from adducir.indexes.memory.scoring import Queries
from adducir.indexes.memory.segment import SavedSegment
from adducir.indexes.models import Model, refuse_unless_scored

if TYPE_CHECKING:
    from adducir.indexes.memory.feedback import Feedback


class MemoryIndex(Index):
    """An index that ``adducir index --engine memory`` built.

    Scores by Lucene's models are Lucene's and feedback is Anserini's; scores of other models are
    doubles. Weights of ready tokens are searched by ``impact``, all else by ``bm25`` where no model
    is named.
    """

    manifest: Manifest

    def __init__(self, path: Path | str) -> None:
        manifest = open_artifact(Path(path), KIND)
        if manifest.builder_version != BUILDER_VERSION:
            raise ArtifactError(
                "this memory index was built by another version of Adducir.",
                path=Path(path),
                hint="Build it again with 'adducir index --rebuild'.",
            )
        super().__init__(Path(path), manifest)
        if "weights" in manifest.recipe and self.analysis.kind.is_pretokenized:
            self.default_model = "impact"
        self._segment = SavedSegment.open(self.path)
        self.has_vectors = len(self._segment.forward) > 0 or not len(self._segment)
        documents = int(manifest.counts.get("documents", len(self._segment)))
        self._ranker = Ranker(self._segment, documents, accurate=self.accurate_length)

    def __len__(self) -> int:
        return len(self._segment)

    @property
    def docnos(self) -> pl.Series:
        return self._segment.docnos

    def number(self, docno: str) -> int:
        place = int(self.docnos.set_sorted().search_sorted(docno)) if len(self) else 0
        if place == len(self) or self.docnos[place] != docno:
            raise UsageError(f"the index {self.path} holds no document {docno!r}.")
        return place

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
        check_search(queries, depth)
        if fields is not None:
            raise UsageError(
                "a memory index holds its fields joined, so they cannot have weights.",
                hint="Build a Lucene index with --set separate_fields=true.",
            )
        weighted: list[Mapping[str, float]] = []
        if feedback is not None:
            weighted += self.expand(texts_alone(queries), model, feedback, threads=threads)
            model = feedback.model(model)
        else:
            counts = iter(self._counts([query for query in queries if isinstance(query, str)]))
            for query in queries:  # a text's terms count as often as they occur
                weighted.append(next(counts) if isinstance(query, str) else query)
                check_weights(weighted[-1])
        ranked = self._rank(weighted, model, depth, threads)
        return Hits(ranked.counts.astype(np.int32), self.docnos.gather(ranked.docs), ranked.scores)

    def expand(
        self,
        queries: Sequence[str],
        model: Model,
        feedback: FeedbackMethod,
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        self._feedback.check(feedback)  # refused before anything is searched
        counts = self._counts(texts_alone(queries))
        found = self._rank(counts, model, feedback.depth, threads)
        return self._feedback.weights(counts, found, feedback, threads or default_threads())

    def expand_from(
        self, query: str, documents: Sequence[tuple[str, float]], feedback: FeedbackMethod
    ) -> dict[str, float]:
        best = documents[: feedback.depth]
        docs = np.array([self.number(docno) for docno, _ in best], dtype=np.int32)
        scores = np.array([score for _, score in best], dtype=np.float32)
        if not (scores >= 0).all():
            raise UsageError("feedback weighs documents by their scores, which must be 0 or more.")
        found = Ranked(np.array([len(docs)]), docs, scores)
        return self._feedback.weights(self._counts([query]), found, feedback, 1)[0]

    @cached_property
    def _feedback(self) -> "Feedback":
        from adducir.indexes.memory.feedback import Feedback

        if not self.has_vectors:
            raise UsageError(
                f"{self.path} holds weighted terms; feedback reads documents' frequencies.",
                hint="Search without feedback, or expand from an index of the texts.",
            )
        indexed = self.manifest.counts.get("indexed", len(self))
        return Feedback(self._segment, int(indexed), plain=self.analysis.kind.has_plain_feedback)

    def _rank(
        self,
        queries: Sequence[Mapping[str, float]],
        model: Model,
        depth: int | None,
        threads: int | None,
    ) -> Ranked:
        refuse_unless_scored(model, "memory", self.path)
        asked = Queries.of(queries, self._segment)
        return self._ranker.rank(asked, model, depth=depth, threads=threads or default_threads())

    def _counts(self, texts: Sequence[str]) -> list[Counter[str]]:
        with translated(self.path):
            return [Counter(terms) for terms in self.analysis.terms(texts)]
