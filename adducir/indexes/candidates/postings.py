"""Term-document arrays of one or many candidate sets, from term numbers.

The sets share arrays but nothing else: a term that occurs in two sets has a row in each. Rows are
numbered set after set, within a set by a term's first appearance.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adducir.indexes.candidates.vocabulary import Numbers
from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.files import Array


@dataclass(frozen=True, eq=False)
class Spans:
    """D candidates of S sets, as spans of one array of term numbers.

    Attributes:
        values: int32 term numbers.
        begins: (D,) int64: where each candidate begins in ``values``; ascending.
        ends: (D,) int64: where it ends; ascending. Candidates of one set may overlap.
        set_docs: (S + 1,) int64: each set's first candidate.
    """

    values: Array
    begins: Array
    ends: Array
    set_docs: Array

    @classmethod
    def of(cls, numbers: Numbers, sizes: list[int]) -> "Spans":
        """Each text is a candidate; ``sizes`` says how many candidates each set has."""
        set_docs = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=set_docs[1:])
        return cls(numbers.values, numbers.starts[:-1], numbers.starts[1:], set_docs)

    def windows(self, n: int) -> "Spans":
        """All runs of ``n`` neighbouring candidates of a single set, as candidates."""
        last = max(len(self.begins) - n + 1, 0)
        set_docs = np.array([0, last], dtype=np.int64)
        return Spans(self.values, self.begins[:last], self.ends[n - 1 :], set_docs)


@dataclass(frozen=True, eq=False)
class Postings:
    """The candidates that hold each term, for S sets of D candidates with R terms in all.

    Attributes:
        set_docs: (S + 1,) int64: each set's first candidate.
        set_rows: (S + 1,) int64: each set's first row.
        row_terms: (R,) int32: the term number of each row.
        offsets: (R + 1,) int64: where each row's P postings begin; no row is empty.
        docs: (P,) uint32: candidates, counted from their set's first, ascending in a row.
        tfs: (P,) int32: term frequencies.
        lengths: (D,) int64: terms of each candidate.
        room: (V + 1,) int32: the row of each term in the last set or an earlier one; the last
            place is -1.
    """

    set_docs: Array
    set_rows: Array
    row_terms: Array
    offsets: Array
    docs: Array
    tfs: Array
    lengths: Array
    room: Array

    @property
    def sets(self) -> int:
        """S."""
        return len(self.set_docs) - 1

    @cached_property
    def frequencies(self) -> Array:
        """(R,) int64: how many candidates hold each row's term."""
        return np.diff(self.offsets)

    def rows(self, numbers: Numbers, sets: Array) -> Array:
        """The row of each query term, or -1.

        Args:
            numbers: The q queries.
            sets: (q,) int64, ascending: each query's set.

        Returns:
            int32, as long as ``numbers.values``.
        """
        vocabulary = len(self.room) - 1
        values = np.minimum(numbers.values, vocabulary)  # terms newer than the set have no row
        if self.sets == 1:
            found: Array = self.room[values]
            return found
        found = np.empty(len(values), dtype=np.int32)
        room = np.full(vocabulary + 1, -1, dtype=np.int32)
        _find(numbers.starts, values, sets, self.set_rows, self.row_terms, room, found)
        return found


def invert(spans: Spans) -> Postings:
    """Count the terms of every candidate."""
    vocabulary = int(spans.values.max(initial=-1)) + 1
    room = np.full(vocabulary + 1, -1, dtype=np.int32)
    local = np.empty(len(spans.values), dtype=np.int32)
    row_terms = np.empty(len(spans.values), dtype=np.int32)
    set_rows = np.zeros(len(spans.set_docs), dtype=np.int64)
    _localise(
        spans.begins, spans.ends, spans.set_docs, spans.values, room, local, row_terms, set_rows
    )
    rows = int(set_rows[-1])
    offsets = np.zeros(rows + 1, dtype=np.int64)
    _count(spans.begins, spans.ends, local, np.full(rows, -1, dtype=np.int64), offsets[1:])
    np.cumsum(offsets, out=offsets)
    docs = np.empty(int(offsets[-1]), dtype=np.uint32)
    tfs = np.empty(int(offsets[-1]), dtype=np.int32)
    _fill(spans.begins, spans.ends, spans.set_docs, local, offsets, offsets[:-1].copy(), docs, tfs)
    return Postings(
        set_docs=spans.set_docs,
        set_rows=set_rows,
        row_terms=row_terms[:rows].copy(),
        offsets=offsets,
        docs=docs,
        tfs=tfs,
        lengths=spans.ends - spans.begins,
        room=room,
    )


@kernel
def _localise(
    begins: Array,
    ends: Array,
    set_docs: Array,
    values: Array,
    room: Array,
    local: Array,
    row_terms: Array,
    set_rows: Array,
) -> None:
    """Give the terms of each set rows; a row below the set's first one is an earlier set's."""
    rows = 0
    for one in range(len(set_docs) - 1):
        first = rows
        if set_docs[one] < set_docs[one + 1]:
            for i in range(begins[set_docs[one]], ends[set_docs[one + 1] - 1]):
                row = room[values[i]]
                if row < first:
                    row = rows
                    room[values[i]] = row
                    row_terms[row] = values[i]
                    rows += 1
                local[i] = row
        set_rows[one + 1] = rows


@kernel
def _count(begins: Array, ends: Array, local: Array, last: Array, frequencies: Array) -> None:
    """Count the candidates of each row; ``last`` (R,) holds -1."""
    for document in range(len(begins)):
        for i in range(begins[document], ends[document]):
            row = local[i]
            if last[row] != document:
                last[row] = document
                frequencies[row] += 1


@kernel
def _fill(
    begins: Array,
    ends: Array,
    set_docs: Array,
    local: Array,
    offsets: Array,
    cursors: Array,
    docs: Array,
    tfs: Array,
) -> None:
    """Write postings; ``cursors`` (R,) hold where each row begins and move on."""
    for one in range(len(set_docs) - 1):
        for document in range(set_docs[one], set_docs[one + 1]):
            own = document - set_docs[one]
            for i in range(begins[document], ends[document]):
                row = local[i]
                place = cursors[row]
                if place > offsets[row] and docs[place - 1] == own:
                    tfs[place - 1] += 1
                else:
                    docs[place] = own
                    tfs[place] = 1
                    cursors[row] = place + 1


@kernel
def _find(
    starts: Array,
    values: Array,
    sets: Array,
    set_rows: Array,
    row_terms: Array,
    room: Array,
    found: Array,
) -> None:
    """Look up query terms, set after set."""
    ready = -1
    for query in range(len(sets)):
        one = sets[query]
        if one != ready:
            for row in range(set_rows[one], set_rows[one + 1]):
                room[row_terms[row]] = row
            ready = one
        for i in range(starts[query], starts[query + 1]):
            row = room[values[i]]
            found[i] = row if row >= set_rows[one] else -1
