"""Searching a memory index; everything that :class:`adducir.indexes.LuceneIndex` does, faster."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from adducir.core.artifacts import Manifest, open_artifact
from adducir.core.errors import ArtifactError, UsageError
from adducir.indexes.arrays import damaged
from adducir.indexes.feedback import Terms, Vectors
from adducir.indexes.index import FieldWeights, Index, Ranked
from adducir.indexes.memory import BUILDER_VERSION, KIND
from adducir.indexes.memory.ranking import Ranker
from adducir.indexes.memory.scoring import Queries
from adducir.indexes.memory.segment import FILES, SavedSegment
from adducir.indexes.models import Model, refuse_unless_scored


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

    def _rank(
        self,
        queries: Sequence[Mapping[str, float]],
        model: Model,
        fields: FieldWeights | None,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        refuse_unless_scored(model, "memory", self.path)
        asked = Queries.of(queries, self._segment)
        return self._ranker.rank(asked, model, depth=depth, threads=threads)

    def _refuse_without_vectors(self) -> None:
        if len(self) and not len(self._segment.forward):
            raise UsageError(
                f"{self.path} holds weighted terms; feedback reads documents' frequencies.",
                hint="Search without feedback, or expand from an index of the texts.",
            )

    @cached_property
    def _terms(self) -> Terms:
        segment, indexed = self._segment, self.manifest.counts.get("indexed", len(self))
        counts = segment.frequencies

        def lookup(terms: list[str]) -> list[int]:
            return [int(counts[n]) if n >= 0 else 0 for n in segment.numbers(terms).tolist()]

        is_plain = self.analysis.kind.has_plain_feedback
        return Terms(segment.terms, segment.ranks, counts, int(indexed), is_plain, lookup)

    def _vectors(self, found: Ranked) -> tuple[Vectors, Terms]:
        segment = self._segment
        offsets, numbers, frequencies = map(
            np.asarray, (segment.forward_offsets, segment.forward, segment.forward_tfs)
        )
        parts = [slice(*offsets[doc : doc + 2].tolist()) for doc in found.docs.tolist()]
        none = np.empty(0, dtype=np.int32)
        terms = np.concatenate([none, *(numbers[part] for part in parts)])
        tfs = np.concatenate([none, *(frequencies[part] for part in parts)])
        if len(terms) and not (terms.min() >= 0 and terms.max() < len(segment.occurrences)):
            raise damaged(segment.folder / FILES["forward"])
        sizes = offsets[found.docs + 1] - offsets[found.docs]
        return Vectors(found.counts, found.scores, sizes, terms, tfs), self._terms
