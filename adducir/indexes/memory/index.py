"""Search a memory index with compiled code or any formula, in threads."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from adducir.core.errors import ArtifactError, UsageError, worded
from adducir.core.manifests import Manifest, open_artifact, refuse_replaced
from adducir.core.processes import in_threads
from adducir.indexes.arrays import Array, damaged
from adducir.indexes.index import Index, Ranked
from adducir.indexes.kinds import IMPACTS_VERSION, KINDS, VERSIONS, holds_impacts
from adducir.indexes.memory.impacts import Plan, SavedImpacts
from adducir.indexes.memory.scoring import Formula, Postings, Queries
from adducir.indexes.memory.segment import FILES, SavedSegment
from adducir.indexes.models import BM25, QLD, Impact, Model, refuse_unfit

if TYPE_CHECKING:
    from adducir.indexes.feedback import Terms

_KERNELS = "adducir.indexes.memory.kernels"
_FEW = 1 << 25  # postings


class MemoryIndex(Index):
    """An index built by ``adducir index --engine memory``.

    Scores of Lucene's models equal Lucene's, and feedback equals Anserini's; scores of other models
    are doubles. The default model for pretokenized weights is ``impact``.
    """

    manifest: Manifest
    _read = 0  # postings, by NumPy

    def __init__(self, path: Path | str) -> None:
        manifest = open_artifact(Path(path), KINDS["memory"])
        of_impacts = holds_impacts(manifest.recipe)
        if manifest.builder_version != (IMPACTS_VERSION if of_impacts else VERSIONS["memory"]):
            raise ArtifactError(
                "this memory index was built by another version of Adducir.",
                path=Path(path),
                hint=f"Build it again ({worded('rebuild', 'true')}).",
            )
        super().__init__(Path(path), manifest)
        recheck = partial(refuse_replaced, self.path, manifest)
        self._segment: SavedSegment | SavedImpacts
        if of_impacts:
            self.default_model = "impact"
            self._segment = SavedImpacts.open(self.path, recheck)
            self._by_impacts(Queries.of([], self._segment), self._segment, 1, 1)  # loads the kernel
        else:
            self._segment = SavedSegment.open(self.path, recheck)

    def __len__(self) -> int:
        return len(self._segment)

    @property
    def docnos(self) -> pl.Series:
        return self._segment.docnos

    def number(self, docno: str) -> int:
        place = int(self.docnos.set_sorted().search_sorted(docno)) if len(self) else 0
        if place == len(self) or self.docnos[place] != docno:
            raise UsageError(f"the index {self.path} does not contain the document {docno!r}.")
        return place

    def _rank(
        self, queries: Sequence[Mapping[str, float]], model: Model, depth: int | None, threads: int
    ) -> Ranked:
        """Hits from compiled code for BM25 and QLD, except for a process's first few queries.

        Loading it takes longer than adding that many postings with NumPy. Scores are the same.
        """
        refuse_unfit(model, "memory", self.path, accurate=self.accurate_length, fields=())
        segment, terms = self._segment, Queries.of(queries, self._segment)
        try:
            if type(model) is Impact and isinstance(segment, SavedImpacts):
                return self._by_impacts(terms, segment, depth, threads)
            if type(model) is not BM25 and type(model) is not QLD:
                return self._by_model(terms, model, depth, threads)
            formula = Formula.of(model, segment, accurate=self.accurate_length)
            terms = terms.for_kernels(model, segment)
            if _KERNELS not in sys.modules:
                self._read += int(segment.frequencies[terms.terms].sum())
                self._read += terms.size * len(segment) // 4
            if isinstance(segment, SavedImpacts) or self._read <= _FEW:
                added = partial(formula.added, terms, segment.norms)
                return self._exhaustive(terms, added, np.float32, depth, threads)
            from adducir.indexes.memory.kernels import search

            kernel = partial(search, self._postings, formula, terms)
            return self._compiled(kernel, terms, np.float32, depth, threads)
        except IndexError as error:  # an invalid document number
            raise damaged(segment.folder / FILES["docs"]) from error

    def _by_impacts(
        self, queries: Queries, saved: SavedImpacts, depth: int | None, threads: int
    ) -> Ranked:
        from adducir.indexes.memory.impact_search import search

        kernel = partial(search, saved.impacts, queries, Plan.of(queries, saved))
        return self._compiled(kernel, queries, np.float64, depth, threads)

    def _compiled(
        self,
        kernel: Callable[..., None],
        queries: Queries,
        precision: type[np.floating],
        depth: int | None,
        threads: int,
    ) -> Ranked:
        # The maximum number of hits of each query.
        sizes = np.concatenate(([0], np.cumsum(self._segment.frequencies[queries.terms])))
        matches = sizes[queries.starts[1:]] - sizes[queries.starts[:-1]]
        limits = np.minimum(matches, len(self._segment) if depth is None else depth)
        limits = np.minimum(limits, len(self._segment))
        starts = np.concatenate(([0], np.cumsum(limits)))
        docs = np.empty(starts[-1], dtype=np.int32)
        scores = np.empty(starts[-1], dtype=precision)
        counts = np.zeros(len(limits), dtype=np.int64)

        def search(first: int, last: int) -> None:
            kernel(first, last, starts, docs, scores, counts)

        if queries.size == 0:
            search(0, 0)  # loads it
        in_threads(search, queries.size, threads)
        if (counts < limits).any():
            kept = np.arange(len(docs)) - np.repeat(starts[:-1], limits) < np.repeat(counts, limits)
            docs, scores = docs[kept], scores[kept]
        return counts.astype(np.int32), docs, scores

    @cached_property
    def _postings(self) -> Postings:
        return Postings.of(self._segment)

    def _by_model(self, queries: Queries, model: Model, depth: int | None, threads: int) -> Ranked:
        """Any other model: in doubles from exact lengths."""
        counted, documents = self._segment.statistics, self.manifest.count("documents")
        of_terms, of_documents = model.factors(replace(counted, documents=documents))

        def added(place: int, docs: Array, tfs: Array) -> Array:
            term, weight = queries.terms[place], np.float64(queries.weights[place])
            return weight * model.added(of_terms[term], tfs.astype(np.float64), of_documents[docs])

        return self._exhaustive(queries, added, np.float64, depth, threads)

    def _exhaustive(
        self,
        queries: Queries,
        added: Callable[[int, Array, Array], Array],
        precision: type[np.floating],
        depth: int | None,
        threads: int,
    ) -> Ranked:
        segment, size = self._segment, len(self._segment)
        none: tuple[Array, Array] = np.empty(0, dtype=np.int32), np.empty(0, dtype=precision)
        ranked = [none] * (queries.size + 1)  # the last stays empty

        def search(first: int, last: int) -> None:
            for query in range(first, last):
                sums, seen = np.zeros(size), np.zeros(size, dtype=bool)
                for n in range(queries.starts[query], queries.starts[query + 1]):
                    docs, tfs = segment.postings(queries.terms[n])
                    sums[docs] += added(n, docs, tfs)
                    seen[docs] = True
                matching = np.flatnonzero(seen)
                scores = sums[matching].astype(precision)
                if depth is not None and depth < len(scores):
                    last_score = np.partition(scores, len(scores) - depth)[len(scores) - depth]
                    matching, scores = matching[scores >= last_score], scores[scores >= last_score]
                best = np.argsort(-scores, kind="stable")[:depth]
                ranked[query] = matching[best].astype(np.int32), scores[best]

        in_threads(search, queries.size, threads)
        counts = np.array([len(docs) for docs, _ in ranked[:-1]], dtype=np.int32)
        docs, scores = map(np.concatenate, zip(*ranked, strict=True))
        return counts, docs, scores

    def _refuse_without_vectors(self) -> None:
        if not self._segment.has_frequencies:
            raise UsageError(
                f"{self.path} has weighted terms, but feedback needs documents' frequencies.",
                hint="Search without feedback, or expand queries with an index of the texts.",
            )

    @cached_property
    def _terms(self) -> "Terms":
        from adducir.indexes.feedback import Terms

        segment, indexed = self._segment, int(self.manifest.count("indexed"))
        frequencies, is_plain = segment.frequencies, self.analysis.kind.has_plain_feedback
        names = segment.terms, segment.ranks, frequencies
        counted = (partial(segment.counts_of, each) for each in (frequencies, segment.occurrences))
        return Terms(*names, indexed, is_plain, *counted)

    def _postings_of(self, term: str) -> tuple[Array, Array]:
        segment = self._segment
        if not isinstance(segment, SavedSegment):  # token weights in blocks
            self._refuse_without_vectors()
            return super()._postings_of(term)
        (number,) = segment.numbers([term]).tolist()
        if number < 0:
            return segment.arrays["docs"][:0], segment.arrays["tfs"][:0]
        return segment.postings(number)

    def _vectors(self, docs: Array) -> "tuple[Terms, Array, Array, Array]":
        return self._terms, *self._segment.vectors(docs)
