"""A segment: the documents that hold each term, and what models know of them.

A memory index is a segment that is saved as these files:

=====================  =====================================================================
``terms.txt``          V terms, one per line; a term's number is its line, from 0: terms in more
                       documents come first, then in order of their text
``postings.offsets``   (V + 1,) int64: where each term's postings begin
``postings.docs``      (P,) int32 document numbers, ascending within a term
``postings.tfs``       (P,) term frequencies (or weights) in the smallest type that holds all
``forward.bytes``      each document's terms as varints, see :mod:`.inverting`; feedback reads them
``forward.offsets``    (N + 1,) int64: where each document's terms begin
``lengths``            (N,) int32 (float64 for weights): tokens of each document
``norms``              (N,) uint8: Lucene's one-byte lengths
``collection``         (V,) int64 (float64 for weights): frequency of each term in all documents
``docnos.txt``         N docnos, one per line, ascending: a document's number is its line, so that
                       the order of numbers is the order of docnos, which breaks ties
=====================  =====================================================================

All arrays are NumPy's ``.npy``. A posting takes 4 bytes for the document, as a rule 1 for the
frequency, and about 2 in ``forward.bytes``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from adducir.indexes.arrays import Array, damaged, is_rising, mapped
from adducir.indexes.memory.compiled import kernel
from adducir.indexes.memory.inverting import distinct, scatter
from adducir.indexes.models import Statistics

TERMS, DOCNOS = "terms.txt", "docnos.txt"
FILES = {
    "offsets": "postings.offsets.npy",
    "docs": "postings.docs.npy",
    "tfs": "postings.tfs.npy",
    "lengths": "lengths.npy",
    "occurrences": "collection.npy",
    "norms": "norms.npy",
    "forward": "forward.bytes.npy",
    "forward_offsets": "forward.offsets.npy",
}
"""Of the arrays of :class:`SavedSegment`."""


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


@dataclass(frozen=True, eq=False)
class SavedSegment(Segment):
    """The open files of a memory index; see the module for shapes."""

    norms: Array
    forward: Array
    forward_offsets: Array
    folder: Path

    @classmethod
    def open(cls, folder: Path) -> "SavedSegment":
        """Map the files in ``folder``, and check what bounds the places that are read.

        What the arrays hold is not read here: the kernels stay inside them whatever it is.
        """
        segment = cls(
            **{name: mapped(folder / file) for name, file in FILES.items()}, folder=folder
        )
        for name, is_right in segment._checks():
            if getattr(segment, name).ndim != 1 or not is_right:
                raise damaged(folder / FILES[name])
        return segment

    def _checks(self) -> Iterator[tuple[str, bool]]:
        """Names of arrays, and whether each is of a type and size that it can have."""
        documents, postings = len(self.lengths), len(self.docs)
        yield "docs", self.docs.dtype == np.int32
        yield "tfs", len(self.tfs) == postings and self.tfs.dtype.kind in "iuf"
        yield "lengths", self.lengths.dtype in (np.int32, np.float64)
        yield "norms", len(self.norms) == documents and self.norms.dtype == np.uint8
        yield "occurrences", self.occurrences.dtype in (np.int64, np.float64)
        yield "offsets", is_rising(self.offsets, len(self.occurrences), postings)
        yield "forward", self.forward.dtype == np.uint8
        yield "forward_offsets", is_rising(self.forward_offsets, documents, len(self.forward))

    @cached_property
    def tokens(self) -> float:
        """The sum of all lengths."""
        return float(self.lengths.sum(dtype=np.float64))

    @cached_property
    def terms(self) -> list[str]:
        """The V terms by their numbers."""
        return _lines(self.folder / TERMS, len(self.occurrences))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.terms)}

    @cached_property
    def docnos(self) -> pl.Series:
        """The N docnos by document number."""
        return pl.Series("docno", _lines(self.folder / DOCNOS, len(self)), dtype=pl.String)


def _lines(path: Path, count: int) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path) from error
    if len(lines) != count + 1 or lines.pop():
        raise damaged(path)
    return lines


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
