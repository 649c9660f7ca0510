"""A segment: the documents that hold each term, and what models know of them."""

from dataclasses import dataclass

import numpy as np

from adducir.indexes.arrays import Array
from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.inverting import distinct, scatter
from adducir.indexes.models import Statistics


@dataclass(frozen=True, eq=False)
class Segment:
    """D documents that hold R terms.

    Attributes:
        offsets: (R + 1,) int64: where each term's P postings begin.
        docs: (P,) int32: document numbers, ascending within a term.
        tfs: (P,) frequencies of the term in the document.
        lengths: (D,) the sum of a document's frequencies.
        occurrences: (R,) the sum of a term's frequencies.
    """

    offsets: Array
    docs: Array
    tfs: Array
    lengths: Array
    occurrences: Array

    @classmethod
    def invert(cls, ids: Array, begins: Array, ends: Array) -> "tuple[Segment, Array]":
        """Count the terms of documents.

        Args:
            ids: int32 term ids of a vocabulary.
            begins: (D,) int64: where each document begins in ``ids``; ascending.
            ends: (D,) int64: where it ends; ascending. Documents may overlap.

        Returns:
            A segment that numbers terms as they appear, and those numbers by the vocabulary's;
            the last is -1, as for each term that the segment does not hold.
        """
        rows = np.full(int(ids.max(initial=-1)) + 2, -1, dtype=np.int32)
        terms = np.empty(len(ids), dtype=np.int32)
        held = (int(begins[0]), int(ends[-1])) if len(begins) else (0, 0)
        size = _localise(*held, ids, rows, terms)
        tokens = int((ends - begins).sum())
        found, tfs = np.empty(tokens, dtype=np.int32), np.empty(tokens, dtype=np.int32)
        starts = np.zeros(len(begins) + 1, dtype=np.int64)
        seen = np.empty(int((ends - begins).max(initial=0)), dtype=np.int32)
        distinct(begins, ends, terms, np.zeros(size, dtype=np.int32), seen, found, tfs, starts)
        offsets = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(found[: starts[-1]], minlength=size), out=offsets[1:])
        segment = cls(
            offsets,
            np.empty(int(offsets[-1]), dtype=np.int32),
            np.empty(int(offsets[-1]), dtype=np.int32),
            np.zeros(len(begins), dtype=np.int64),
            np.zeros(size, dtype=np.int64),
        )
        into = segment.docs, segment.tfs, segment.lengths, segment.occurrences
        scatter(0, starts, found, tfs, offsets[:-1].copy(), *into)
        return segment, rows

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def frequencies(self) -> Array:
        """(R,) how many documents hold each term."""
        return np.diff(self.offsets)

    @property
    def statistics(self) -> Statistics:
        """What a model knows of a collection that is this segment alone."""
        return Statistics(
            documents=len(self),
            filled=int(np.count_nonzero(self.lengths)),
            tokens=int(self.lengths.sum()),
            frequencies=self.frequencies,
            occurrences=self.occurrences,
            lengths=self.lengths,
        )


@kernel
def _localise(first: int, last: int, ids: Array, rows: Array, terms: Array) -> int:
    """Number terms as they appear, and write each token's number; returns how many there are."""
    count = 0
    for i in range(first, last):
        row = rows[ids[i]]
        if row < 0:
            row = count
            rows[ids[i]] = row
            count += 1
        terms[i] = row
    return count
