"""Term-document arrays of a candidate set, from term numbers, by the kernels of memory indexes."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.candidates.vocabulary import Numbers
from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.inverting import distinct, scatter


@dataclass(frozen=True, eq=False)
class Spans:
    """D candidates, as spans of one array of term numbers.

    Attributes:
        values: int32 term numbers.
        begins: (D,) int64: where each candidate begins in ``values``; ascending.
        ends: (D,) int64: where it ends; ascending. Candidates may overlap.
    """

    values: Array
    begins: Array
    ends: Array

    @classmethod
    def of(cls, numbers: Numbers) -> "Spans":
        """Each text is a candidate."""
        return cls(numbers.values, numbers.starts[:-1], numbers.starts[1:])

    def windows(self, n: int) -> "Spans":
        """All runs of ``n`` neighbouring candidates, as candidates."""
        last = max(len(self.begins) - n + 1, 0)
        return Spans(self.values, self.begins[:last], self.ends[n - 1 :])


class Postings(NamedTuple):
    """The candidates that hold each of R terms, numbered by first appearance; as in an index.

    Attributes:
        offsets: (R + 1,) int64: where each term's P postings begin; none is without.
        docs: (P,) uint32: candidates, ascending in a term.
        tfs: (P,) int32: term frequencies.
        lengths: (D,) int64: terms of each candidate.
        collection: (R,) int64: how often each term occurs.
        rows: (V + 1,) int32: the row of each term number; -1 for none, and in the last place.
    """

    offsets: Array
    docs: Array
    tfs: Array
    lengths: Array
    collection: Array
    rows: Array

    def rows_of(self, numbers: Array) -> Array:
        """The row of each term number, or -1; numbers may be newer than the set."""
        found: Array = self.rows[np.minimum(numbers, len(self.rows) - 1)]
        return found


def invert(spans: Spans) -> Postings:
    """Count the terms of every candidate."""
    begins, ends = spans.begins, spans.ends
    rows = np.full(int(spans.values.max(initial=-1)) + 2, -1, dtype=np.int32)
    local = np.empty(len(spans.values), dtype=np.int32)
    held = (int(begins[0]), int(ends[-1])) if len(begins) else (0, 0)
    size = _localise(*held, spans.values, rows, local)
    tokens = int((ends - begins).sum())
    terms, tfs = np.empty(tokens, dtype=np.int32), np.empty(tokens, dtype=np.int32)
    starts = np.zeros(len(begins) + 1, dtype=np.int64)
    seen = np.empty(int((ends - begins).max(initial=0)), dtype=np.int32)
    distinct(begins, ends, local, np.zeros(size, dtype=np.int32), seen, terms, tfs, starts)
    offsets = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(terms[: starts[-1]], minlength=size), out=offsets[1:])
    found = Postings(
        offsets,
        np.empty(int(offsets[-1]), dtype=np.uint32),
        np.empty(int(offsets[-1]), dtype=np.int32),
        np.zeros(len(begins), dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        rows,
    )
    into = found.docs, found.tfs, found.lengths, found.collection
    scatter(0, starts, terms, tfs, offsets[:-1].copy(), *into)
    return found


@kernel
def _localise(first: int, last: int, values: Array, rows: Array, local: Array) -> int:
    """Give terms rows as they appear, and write each token's row; returns how many there are."""
    count = 0
    for i in range(first, last):
        row = rows[values[i]]
        if row < 0:
            row = count
            rows[values[i]] = row
            count += 1
        local[i] = row
    return count
