"""Token weights on disk: the layout of pretokenized weights, for dot products with every document.

Learned sparse models give common terms to many documents, and queries many terms, so that bounds
prune little, and the fastest exact search adds all postings in order (see :mod:`.impact_search`).
A weight is one byte: itself, if all weights are integers up to 255; or else that many 255ths of
the term's largest weight, rounded up, beside the weight in single precision. Terms have numbers as
in :mod:`.segment`, the most frequent first, and are stored in one of three ways:

- in at least 1 in 10 documents (1 in 6 if weights are stored beside their bytes): a column of one
  byte per document, 0 for documents without the term;
- in several documents per window of 32,768: 16-bit places in windows, and where each window begins;
- others: document numbers.

=======================  ===================================================================
``terms.arrow``          as in :mod:`.segment`, like ``docnos.arrow``, ``postings.offsets`` and
                         ``bounds.tfs``
``impacts.columns``      (C * N,) uint8: the bytes of the first C terms, by document
``impacts.bytes``        uint8: the bytes of the other terms' postings
``impacts.places``       uint16: documents of the next W terms, modulo 32,768
``impacts.edges``        (W * (windows + 1),) uint32: how many of the term's postings precede each
                         window; the last: all
``impacts.docs``         int32: documents of the rest
``impacts.values``       (P,) float32 weights in the order of the offsets; empty if bytes are exact
``impacts.counts``       (C * (N // 64 + 1),) uint32: how many postings of a column precede each
                         64 documents; empty without values
``lengths``              (N,) float64: the sum of each document's weights
``collection``           (V,) float64: the sum of each term's weights
=======================  ===================================================================

Documents' vectors are not stored: feedback, which needs them, searches all postings for them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adducir.indexes.arrays import Array, damaged, is_rising, mapped
from adducir.indexes.memory.scoring import Queries, frozen
from adducir.indexes.memory.segment import FILES, Saved, norms_of

WINDOW = 1 << 15
"""Documents whose sums fit the processor's cache; their places fit 16 bits."""
LARGEST = 255
BLOCK = 64
_SHARE, _SHARE_BESIDE_VALUES = 10, 6  # 1 / the smallest share of documents of a column
_LEAST = 4  # postings per window
_SLACK = 1 + 1e-12  # so that the largest weight divided by a step rounds to at most 255

IMPACT_FILES = {
    **{name: FILES[name] for name in ("offsets", "greatest_tfs", "lengths", "occurrences")},
    "columns": "impacts.columns.npy",
    "bytes": "impacts.bytes.npy",
    "places": "impacts.places.npy",
    "edges": "impacts.edges.npy",
    "docs": "impacts.docs.npy",
    "values": "impacts.values.npy",
    "counts": "impacts.counts.npy",
}
"""Files of the arrays of :class:`SavedImpacts`."""


class Shape(NamedTuple):
    """How the terms of an index are stored."""

    documents: int
    windows: int
    columns: int  # C, terms
    placed: int  # C + W
    in_columns: int  # their postings
    in_windows: int  # postings of both
    blocks: int  # of documents

    @classmethod
    def of(cls, offsets: Array, documents: int, *, has_values: bool) -> "Shape":
        falling, windows = -np.diff(offsets), -(-documents // WINDOW)
        least = documents / (_SHARE_BESIDE_VALUES if has_values else _SHARE)
        columns = int(np.searchsorted(falling, -least, side="right"))
        placed = int(np.searchsorted(falling, -_LEAST * (windows + 1), side="right"))
        placed = max(columns, placed)
        ends = int(offsets[columns]), int(offsets[placed])
        return cls(documents, windows, columns, placed, *ends, documents // BLOCK + 1)


def steps_of(greatest: Array) -> Array:
    """(V,) float64: what a term's byte stands for if its weights are not exact bytes."""
    return greatest.astype(np.float64) / LARGEST * _SLACK


class Impacts(NamedTuple):
    """An index's arrays for the kernels."""

    shape: Shape
    offsets: Array
    columns: Array
    bytes: Array
    places: Array
    edges: Array
    docs: Array
    values: Array
    counts: Array


@dataclass(frozen=True, eq=False)
class SavedImpacts(Saved):
    """An index's postings; memory-mapped."""

    offsets: Array
    greatest_tfs: Array
    lengths: Array
    occurrences: Array
    columns: Array
    bytes: Array
    places: Array
    edges: Array
    docs: Array
    values: Array
    counts: Array
    folder: Path
    recheck: Callable[[], None]

    @classmethod
    def open(cls, folder: Path, recheck: Callable[[], None] = lambda: None) -> "SavedImpacts":
        """Map the files, and check sizes and offsets, which keep kernels inside the arrays."""
        arrays = {name: mapped(folder / file) for name, file in IMPACT_FILES.items()}
        saved = cls(**arrays, folder=folder, recheck=recheck)
        for name, is_right in saved._checks():
            if getattr(saved, name).ndim != 1 or not is_right:
                raise damaged(folder / IMPACT_FILES[name])
        return saved

    def _checks(self) -> Iterator[tuple[str, bool]]:
        terms, documents = len(self.occurrences), len(self.lengths)
        yield "lengths", self.lengths.dtype == np.float64
        yield "occurrences", self.occurrences.dtype == np.float64
        yield "offsets", len(self.offsets) > 0 and is_rising(self.offsets, terms, self.offsets[-1])
        falling = self.frequencies
        yield "offsets", bool((falling[1:] <= falling[:-1]).all())
        yield "offsets", terms == 0 or falling[0] <= documents
        shape, postings = self.shape, int(self.offsets[-1])
        yield "greatest_tfs", self.greatest_tfs.shape == (terms,)
        yield "greatest_tfs", self.greatest_tfs.dtype == np.float32
        yield "columns", self.columns.dtype == np.uint8
        yield "columns", len(self.columns) == shape.columns * documents
        yield "bytes", self.bytes.dtype == np.uint8
        yield "bytes", len(self.bytes) == postings - shape.in_columns
        yield "places", self.places.dtype == np.uint16
        yield "places", len(self.places) == shape.in_windows - shape.in_columns
        yield "edges", self.edges.dtype == np.uint32
        placed = shape.placed - shape.columns
        yield "edges", len(self.edges) == placed * (shape.windows + 1)
        edges = self.edges.reshape(placed, shape.windows + 1)
        yield "edges", bool((edges[:, 1:] >= edges[:, :-1]).all() and not edges[:, 0].any())
        yield "edges", np.array_equal(edges[:, -1], falling[shape.columns : shape.placed])
        yield "docs", self.docs.dtype == np.int32
        yield "docs", len(self.docs) == postings - shape.in_windows
        yield "values", self.values.dtype == np.float32 and len(self.values) in (0, postings)
        counted = shape.columns * shape.blocks if len(self.values) else 0
        yield "counts", self.counts.dtype == np.uint32 and len(self.counts) == counted

    @cached_property
    def shape(self) -> Shape:
        return Shape.of(self.offsets, len(self.lengths), has_values=len(self.values) > 0)

    @cached_property
    def norms(self) -> Array:
        return norms_of(self.lengths)

    @cached_property
    def arrays(self) -> Impacts:
        return Impacts(self.shape, *(frozen(getattr(self, name)) for name in Impacts._fields[1:]))

    def postings(self, term: int) -> tuple[Array, Array]:
        shape, (first, last) = self.shape, self.offsets[term : term + 2].tolist()
        if term < shape.columns:
            column = self.columns[term * len(self) : (term + 1) * len(self)]
            docs = np.flatnonzero(column)
            weights = np.asarray(column[docs])
        else:
            weights = np.asarray(self.bytes[first - shape.in_columns : last - shape.in_columns])
            if term < shape.placed:
                row = (term - shape.columns) * (shape.windows + 1)
                counts = np.diff(self.edges[row : row + shape.windows + 1])
                docs = np.repeat(np.arange(shape.windows) * WINDOW, counts)
                docs += self.places[first - shape.in_columns : last - shape.in_columns]
            else:
                docs = np.asarray(self.docs[first - shape.in_windows : last - shape.in_windows])
        if len(self.values):
            weights = np.asarray(self.values[first:last])
        if len(weights) != len(docs):
            raise damaged(self.folder / IMPACT_FILES["columns"])
        return docs, weights

    @cached_property
    def has_frequencies(self) -> bool:
        return bool((self.values % 1 == 0).all())

    def vectors(self, docs: Array) -> tuple[Array, Array, Array]:
        wanted = np.unique(docs)
        parts: list[Array] = [np.empty((3, 0))]
        for term in range(len(self.occurrences)):
            held, weights = self.postings(term)
            at = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
            rows = np.flatnonzero(held[at] == wanted)
            parts.append(np.stack((rows, np.full(len(rows), term), weights[at[rows]])))
        found = np.concatenate(parts, axis=1)
        row, terms = found[:2].astype(np.int64)
        order = np.lexsort((self.ranks[terms], -found[2], row))
        starts = np.searchsorted(row[order], np.arange(len(wanted) + 1))
        places = np.searchsorted(wanted, docs)
        chosen = [order[starts[place] : starts[place + 1]] for place in places.tolist()]
        every = np.concatenate([order[:0], *chosen])
        return np.diff(starts)[places], terms[every], found[2, every].astype(np.int64)


class Plan(NamedTuple):
    """Queries in the integers that a kernel adds, in units of which a sum has at most 65,535.

    A posting adds ``byte * multiplier`` if the query is exact. If not (weights of the query or the
    index that are not integers, zeros, sums that would not fit), it adds ``byte * multiplier /
    256``, rounded up: at least its share of the score. A sum is at most ``slack`` too high.
    """

    multipliers: Array  # (t,) uint16
    slacks: Array  # (q,) int64; -1 for exact queries

    @classmethod
    def of(cls, queries: Queries, saved: SavedImpacts) -> "Plan":
        starts, size = queries.starts, queries.size
        counts = np.diff(starts)
        owner = np.repeat(np.arange(size), counts)
        weights, greatest = queries.weights.astype(np.float64), saved.greatest_tfs[queries.terms]
        totals = np.bincount(owner, weights * greatest, minlength=size)
        is_odd = (weights % 1 != 0) | (weights == 0)
        is_exact = (np.bincount(owner, is_odd, minlength=size) == 0) & (totals <= 65_535)
        is_exact &= len(saved.values) == 0
        steps = weights * (steps_of(greatest) if len(saved.values) else 1.0)
        largest = np.zeros(size)
        np.maximum.at(largest, owner, steps)
        with np.errstate(all="ignore"):  # a query may have zeros only
            units = np.minimum((65_200 - 2 * counts) / totals, LARGEST / largest)
            scaled = np.ceil(steps * (units * 256)[owner])
        # At least 1, so that documents with terms of weight 0 are seen.
        multipliers = np.where(is_exact[owner], weights, np.where(weights > 0, scaled, 1))
        slacks = 3 * counts + 1
        if len(saved.values):  # a weight may be a step less than its byte
            slacks = slacks + np.bincount(owner, multipliers / 256, minlength=size).astype(np.int64)
        slacks = np.where(is_exact, -1, slacks)
        return cls(np.minimum(multipliers, 65_535).astype(np.uint16), slacks)


MOST_TERMS = 1 << 14
"""Terms of a query for which sums of 16 bits are accurate enough."""
