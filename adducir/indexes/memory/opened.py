"""A memory index that is open: its arrays, or those of its parts, asked one after another.

Every part scores its own documents with the statistics of the whole, so that a score is the same
wherever its document lies; the best of all parts are the best of the whole. What was read of a part
is given back to the system before the next is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import count, takewhile
from pathlib import Path

import numpy as np

from adducir.indexes.arrays import Array, damaged
from adducir.indexes.field_weights import FieldWeights
from adducir.indexes.memory.fields import FieldSearcher
from adducir.indexes.memory.files import PARTS, POSTINGS, Arrays, Places, Totals
from adducir.indexes.memory.formulas import Factors, rank_by_formula
from adducir.indexes.memory.forward import LONGEST_CODE, Vectors, encode, terms_of
from adducir.indexes.memory.searching import Ranked, Searcher, Terms, merged
from adducir.indexes.models import BM25, Dirichlet, Model, Saturation


class _Part:
    """An index of one piece, or one part of an index.

    Args:
        folder: Of its arrays.
        whole: The index that it is a part of.
    """

    def __init__(self, folder: Path, backend: str, whole: Totals | None = None) -> None:
        self.arrays = Arrays.open(folder)
        self._whole = whole
        self._places = Places.open(folder, self.arrays, whole) if whole is not None else None
        self._searcher = Searcher(self.arrays, backend, whole, self._places)

    @property
    def has_vectors(self) -> bool:
        return len(self.arrays.forward) > 0 or self.arrays.documents == 0

    def rank(
        self,
        terms: Terms,
        scoring: Saturation | Dirichlet | Factors,
        *,
        accurate: bool,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        """Rank its documents; see :meth:`Opened.rank`."""
        if isinstance(scoring, Factors):
            return self._placed(
                rank_by_formula(
                    self.arrays, terms, scoring, self._places, depth=depth, threads=threads
                )
            )
        return self._placed(
            self._searcher.rank(terms, scoring, accurate=accurate, depth=depth, threads=threads)
        )

    def rank_by_fields(
        self,
        queries: Sequence[Mapping[str, float]],
        weights: FieldWeights,
        model: BM25,
        fields: Sequence[str],
        *,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        """Rank its documents; see :class:`FieldSearcher`."""
        searcher = self._field_searcher(tuple(fields))
        return self._placed(searcher.rank(queries, weights, model, depth=depth, threads=threads))

    @cached_property
    def vectors(self) -> Vectors:
        """All its documents' terms, by its own numbers."""
        code, starts = np.asarray(self.arrays.forward), np.asarray(self.arrays.forward_offsets)
        return Vectors(code, starts, int(np.diff(starts).max(initial=0)), np.empty(0, np.int32))

    def terms_of(self, docs: Array) -> Iterator[tuple[int, Array, Array]]:
        """Those of documents of the whole that it holds: place in ``docs``, terms, frequencies.

        Terms are numbers of the whole, ascending.
        """
        if self._places is None or not len(self._places.docs):
            return
        rows = np.searchsorted(self._places.docs, docs)
        rows[rows == len(self._places.docs)] = 0
        code, starts = self.vectors[:2]
        for place in np.flatnonzero(self._places.docs[rows] == docs).tolist():
            first, last = starts[rows[place] : rows[place] + 2]
            own, tfs = terms_of(code, int(first), int(last))
            terms = np.asarray(self._places.terms[own])
            order = np.argsort(terms)
            yield place, terms[order], tfs[order]

    def _placed(self, ranked: Ranked) -> Ranked:
        if self._places is None:
            return ranked
        return Ranked(ranked.counts, self._places.docs[ranked.docs], ranked.scores)

    def _field_searcher(self, fields: tuple[str, ...]) -> FieldSearcher:
        if fields not in self._field_searchers:
            whole = None if self._whole is None else self._whole.folder
            made = FieldSearcher(self.arrays.folder, fields, self.arrays.docnos, whole)
            self._field_searchers[fields] = made
        return self._field_searchers[fields]

    @cached_property
    def _field_searchers(self) -> dict[tuple[str, ...], FieldSearcher]:
        return {}


class Opened:
    """The arrays of an index.

    Attributes:
        totals: What is known of all its documents and terms.
        has_vectors: Whether it holds documents' terms.

    Raises:
        ArtifactError: A file is missing or damaged.
    """

    def __init__(self, folder: Path, backend: str) -> None:
        folders = part_folders(folder)
        if folders:
            self.totals = Totals.open(folder)
            self._parts = [_Part(part, backend, self.totals) for part in folders]
        else:
            self._parts = [_Part(folder, backend)]
            self.totals = self._parts[0].arrays
        self.has_vectors = all(part.has_vectors for part in self._parts)

    @property
    def parts(self) -> int:
        """How many parts it has; 1 for an index of one piece."""
        return len(self._parts)

    def rank(
        self,
        terms: Terms,
        model: Model,
        *,
        documents: int,
        accurate: bool,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        """Rank the documents that hold a term of the query.

        Args:
            documents: How many documents the corpus has, those without a term included.
            accurate: BM25 with exact lengths.
            depth: Hits a query, at most; None for all.

        Raises:
            ArtifactError: A damaged index has a number of no document.
        """
        scoring = model.compiled() or Factors.of(model, self.totals, documents)
        try:
            return self._best(
                (
                    part.rank(terms, scoring, accurate=accurate, depth=depth, threads=threads)
                    for part in self._each()
                ),
                depth,
            )
        except IndexError as error:  # a document number that there is not
            raise damaged(self.totals.folder / f"{POSTINGS[0]}.npy") from error

    def rank_by_fields(
        self,
        queries: Sequence[Mapping[str, float]],
        weights: FieldWeights,
        model: BM25,
        fields: Sequence[str],
        *,
        depth: int | None,
        threads: int,
    ) -> Ranked:
        """Rank the documents that hold a term of the query in a field; see :mod:`.fields`.

        Args:
            queries: Terms with their weights.
            weights: The weight of each field that is searched.
            fields: The fields that the index keeps by themselves.
            depth: Hits a query, at most; None for all.
        """
        return self._best(
            (
                part.rank_by_fields(queries, weights, model, fields, depth=depth, threads=threads)
                for part in self._each()
            ),
            depth,
        )

    def vectors(self, docs: Array) -> Vectors:
        """The terms of documents; see :mod:`.forward`."""
        if self.totals is self._parts[0].arrays:
            return self._parts[0].vectors._replace(rows=docs)
        distinct, rows = np.unique(docs, return_inverse=True)
        found = {place: held for part in self._each() for place, *held in part.terms_of(distinct)}
        none = np.empty(0, dtype=np.int32)
        held = [found.get(place, (none, none)) for place in range(len(distinct))]
        starts = np.concatenate(([0], np.cumsum([len(terms) for terms, _ in held]))).astype(int)
        terms = np.concatenate([none, *(terms for terms, _ in held)])
        tfs = np.concatenate([none, *(tfs for _, tfs in held)])
        code = np.empty(LONGEST_CODE * len(terms), dtype=np.uint8)
        offsets = np.empty(len(starts), dtype=np.int64)
        encode(starts, terms, tfs, code, offsets)
        longest = int(np.diff(offsets).max(initial=0))
        for array in (code, offsets):  # as arrays in files are: compiled code is made for that
            array.flags.writeable = False
        return Vectors(code, offsets, longest, rows.astype(np.int32))

    def _each(self) -> Iterator[_Part]:
        """The parts, one at a time in memory."""
        for part in self._parts:
            yield part
            if self.parts > 1:
                part.arrays.let_go()

    def _best(self, rankings: Iterator[Ranked], depth: int | None) -> Ranked:
        return reduce(lambda one, other: merged(one, other, depth), rankings)


def part_folders(folder: Path) -> list[Path]:
    """The folders of an index's parts, in order; none for an index of one piece."""
    return list(takewhile(Path.is_dir, (folder / PARTS / str(n) for n in count(1))))
