"""Token weights on disk: the layout of pretokenized weights, for dot products with every document.

Learned sparse models give common terms to many documents, and queries many terms, so that bounds
prune little, and the fastest exact search adds all postings in order (see :mod:`.impact_search`).
A weight is one byte: itself, if all weights are integers up to 255; or else that many 255ths of
the term's largest weight, rounded up, beside the weight in single precision. Terms have numbers as
in :mod:`.segment`, the most frequent first, and are stored in one of three ways:

- in at least 1 in 10 documents (1 in 6 if weights are stored beside their bytes): a column of one
  byte per document, 0 for documents without the term;
- in several documents per window of 8,192: 16-bit places in windows, and where each window begins;
- others: document numbers.

=======================  ===================================================================
``terms.arrow``          as in :mod:`.segment`, like ``docnos.arrow``, ``postings.offsets`` and
                         ``bounds.tfs``
``impacts.columns``      (C * N,) uint8: the bytes of the first C terms, by document
``impacts.bytes``        uint8: the bytes of the other terms' postings
``impacts.places``       uint16: documents of the next W terms, modulo 8,192
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

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

import numpy as np

from adducir.indexes.arrays import Array, damaged, is_rising
from adducir.indexes.memory.scoring import Queries
from adducir.indexes.memory.segment import FILES, Saved, norms_of

WINDOW = 1 << 13
"""Documents whose sums fit the processor's first cache; their places fit 16 bits."""
LARGEST, LARGEST_SUM = 255, (1 << 32) - 1
BLOCK = 64
_SHARE, _SHARE_BESIDE_VALUES = 10, 6  # 1 / the smallest share of documents of a column
_LEAST = 4  # postings per window
_FEW_TERMS = 1 << 16
_SLACK = 1 + 1e-12  # so that the largest weight divided by a step rounds to at most 255

TYPES: dict[str, type[np.number]] = {
    "offsets": np.int64,
    "greatest_tfs": np.float32,
    "lengths": np.float64,
    "occurrences": np.float64,
    "columns": np.uint8,
    "bytes": np.uint8,
    "places": np.uint16,
    "edges": np.uint32,
    "docs": np.int32,
    "values": np.float32,
    "counts": np.uint32,
}
IMPACT_FILES = {
    **{name: f"impacts.{name}.npy" for name in TYPES},
    **{name: FILES[name] for name in ("offsets", "greatest_tfs", "lengths", "occurrences")},
}
"""The files of an index's arrays."""


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

    def sizes(self, postings: int, *, has_values: bool) -> dict[str, int]:
        """The lengths of the arrays that depend on how terms are stored."""
        return {
            "columns": self.columns * self.documents,
            "bytes": postings - self.in_columns,
            "places": self.in_windows - self.in_columns,
            "edges": (self.placed - self.columns) * (self.windows + 1),
            "docs": postings - self.in_windows,
            "values": postings if has_values else 0,
            "counts": self.columns * self.blocks if has_values else 0,
        }


def steps_of(greatest: Array) -> Array:
    """(V,) float64: what a term's byte stands for if its weights are not exact bytes."""
    return greatest.astype(np.float64) / LARGEST * _SLACK


class Impacts(NamedTuple):
    """An index's arrays for the kernels; memory-mapped."""

    shape: Shape
    offsets: Array
    columns: Array
    bytes: Array
    places: Array
    edges: Array
    docs: Array
    values: Array
    counts: Array


class SavedImpacts(Saved):
    files = IMPACT_FILES

    def _checks(self) -> Iterator[tuple[str, bool]]:
        arrays, offsets = self.arrays, self.offsets
        for name, array in arrays.items():
            yield name, array.dtype == TYPES[name]
        documents, terms = len(self), len(self.occurrences)
        yield "offsets", len(offsets) > 0 and is_rising(offsets, terms, offsets[-1])
        falling = self.frequencies
        yield "offsets", bool((falling[1:] <= falling[:-1]).all())
        yield "offsets", terms == 0 or falling[0] <= documents
        yield "greatest_tfs", len(arrays["greatest_tfs"]) == terms
        shape = self.impacts.shape
        for name, size in shape.sizes(int(offsets[-1]), has_values=self.has_values).items():
            yield name, len(arrays[name]) == size
        edges = arrays["edges"].reshape(shape.placed - shape.columns, shape.windows + 1)
        yield "edges", bool((edges[:, 1:] >= edges[:, :-1]).all() and not edges[:, 0].any())
        yield "edges", np.array_equal(edges[:, -1], falling[shape.columns : shape.placed])

    @property
    def has_values(self) -> bool:
        """Whether bytes are not weights themselves."""
        return len(self.arrays["values"]) > 0

    @cached_property
    def impacts(self) -> Impacts:
        shape = Shape.of(self.offsets, len(self), has_values=self.has_values)
        return Impacts(shape, *(self.arrays[name] for name in Impacts._fields[1:]))

    @cached_property
    def norms(self) -> Array:
        return norms_of(self.lengths)

    @cached_property
    def _by_term(self) -> dict[str, int]:
        return dict(self._terms.iter_rows())

    def numbers(self, terms: Sequence[str]) -> Array:
        if len(self.occurrences) > _FEW_TERMS:
            return super().numbers(terms)
        # Faster than a search, and soon made of some 30,000 tokens.
        return np.array(list(map(self._by_term.get, terms, repeat(-1))), dtype=np.int64)

    def postings(self, term: int) -> tuple[Array, Array]:
        held, (first, last) = self.impacts, self.offsets[term : term + 2].tolist()
        shape = held.shape
        if term < shape.columns:
            column = held.columns[term * len(self) : (term + 1) * len(self)]
            docs = np.flatnonzero(column)
            weights = np.asarray(column[docs])
        else:
            weights = np.asarray(held.bytes[first - shape.in_columns : last - shape.in_columns])
            if term < shape.placed:
                row = (term - shape.columns) * (shape.windows + 1)
                counts = np.diff(held.edges[row : row + shape.windows + 1])
                docs = np.repeat(np.arange(shape.windows) * WINDOW, counts)
                docs += held.places[first - shape.in_columns : last - shape.in_columns]
            else:
                docs = np.asarray(held.docs[first - shape.in_windows : last - shape.in_windows])
        if self.has_values:
            weights = np.asarray(held.values[first:last])
        if len(weights) != len(docs):
            raise damaged(self.folder / IMPACT_FILES["columns"])
        return docs, weights

    @cached_property
    def has_frequencies(self) -> bool:
        return bool((self.arrays["values"] % 1 == 0).all())

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
    """Queries in the integers that a kernel adds, so that no sum has more than 32 bits.

    A posting adds ``byte * multiplier``. Sums are scores if the query's weights and the index's are
    integers; if not, or if they would not fit, a multiplier is the weight in units that fit,
    rounded up: at least its share of the score. A sum is at most ``slack`` too high.
    """

    multipliers: Array  # (t,) uint32
    slacks: Array  # (q,) int64; -1 for exact queries

    @classmethod
    def of(cls, queries: Queries, saved: SavedImpacts) -> "Plan":
        starts, size = queries.starts, queries.size
        counts = np.diff(starts)
        owner = np.repeat(np.arange(size), counts)
        weights, has_values = queries.weights.astype(np.float64), saved.has_values
        greatest = saved.arrays["greatest_tfs"][queries.terms]
        totals = np.bincount(owner, weights * greatest, minlength=size)
        is_odd = (weights % 1 != 0) | (weights == 0)
        is_exact = (np.bincount(owner, is_odd, minlength=size) == 0) & (totals <= LARGEST_SUM)
        is_exact &= not has_values
        if is_exact.all():
            return cls(weights.astype(np.uint32), np.full(size, -1))
        steps = weights * (steps_of(greatest) if has_values else 1.0)
        totals = LARGEST * np.bincount(owner, steps, minlength=size)
        with np.errstate(all="ignore"):  # a query may have zeros only
            units = (LARGEST_SUM - 3 * LARGEST * counts) / totals
            scaled = np.ceil(steps * units[owner]) + 1
        # At least 1, so that documents with terms of weight 0 are seen.
        multipliers = np.where(is_exact[owner], weights, np.where(weights > 0, scaled, 1))
        slacks = 3 * LARGEST * counts + 1
        if has_values:  # a weight may be a step less than its byte
            slacks = slacks + np.bincount(owner, multipliers, minlength=size).astype(np.int64)
        return cls(multipliers.astype(np.uint32), np.where(is_exact, -1, slacks))
