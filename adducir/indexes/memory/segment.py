"""A segment: the documents that contain each term, and what models need of them.

A memory index is a segment saved as these memory-mapped files:

=====================  =====================================================================
``terms.arrow``        V terms in alphabetical order, with their numbers: terms in more documents
                       have lower numbers, ties in alphabetical order
``postings.offsets``   (V + 1,) int64: where each term's postings begin
``postings.docs``      (P,) int32 document numbers, ascending within a term
``postings.tfs``       (P,) term frequencies (or weights) in the smallest type that holds all
``postings.codes``     (P,) uint8: a posting's index in ``pairs``; 255 if missing
``pairs``              (at most 255,) int32: the most common frequency * 256 + norm
``common.bits``         (C * W,) uint64, for the C terms in many documents: which contain the term,
                       W = N // 64 + 1 words of 64 documents each
``common.before``       (C * W,) uint32: how many documents before the word contain the term
``bounds.tfs``         (V,) float32: each term's largest frequency
``bounds.norms``       (V * 8,) uint8: the smallest norm among a term's postings at each frequency
                       level (up to 1, 2, 3, 4, 6, 9, 16, and above); 255 for none
``forward.terms``      each document's terms (int32), the most frequent first, equal ones in order
                       of their text; feedback reads them
``forward.tfs``        their frequencies; both are empty if weights are not integers
``forward.offsets``    (N + 1,) int64: where each document's terms begin
``lengths``            (N,) int32 (float64 for weights): tokens of each document
``norms``              (N,) uint8: Lucene's one-byte lengths
``collection``         (V,) int64 (float64 for weights): frequency of each term in all documents
``docnos.arrow``       N docnos, ascending: a document's number is its index, so that numbers are
                       ordered like docnos, which break ties
=====================  =====================================================================

All arrays are NumPy's ``.npy``, the tables Arrow's IPC format.

Lucene's one-byte lengths (``SmallFloat.intToByte4`` and ``byte4ToInt``) are exact up to 40; above,
four significant bits are kept, rounded down: 57 becomes 56, 500 becomes 472, 2,000 becomes 1,944.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from adducir.core.texts import readable_name
from adducir.indexes.arrays import Array, damaged, is_rising, mapped
from adducir.indexes.models import Statistics

TERMS, DOCNOS = "terms.arrow", "docnos.arrow"
FILES = {
    "offsets": "postings.offsets.npy",
    "docs": "postings.docs.npy",
    "tfs": "postings.tfs.npy",
    "codes": "postings.codes.npy",
    "pairs": "pairs.npy",
    "bits": "common.bits.npy",
    "before": "common.before.npy",
    "greatest_tfs": "bounds.tfs.npy",
    "least_norms": "bounds.norms.npy",
    "lengths": "lengths.npy",
    "occurrences": "collection.npy",
    "norms": "norms.npy",
    "forward": "forward.terms.npy",
    "forward_tfs": "forward.tfs.npy",
    "forward_offsets": "forward.offsets.npy",
}
"""Files of the arrays of :class:`SavedSegment`."""

LEVELS: Array = np.array([1, 2, 3, 4, 6, 9, 16, np.inf], dtype=np.float32)
"""The largest frequency of each level of ``bounds.norms``."""

_EXACT = 24  # 255 minus the code of the largest int


def _decoded(code: int) -> int:
    offset = code - _EXACT
    if offset < 0:
        return code
    bits, shift = offset & 7, (offset >> 3) - 1
    return _EXACT + (bits if shift < 0 else (bits | 8) << shift)


LENGTHS: Array = np.array([_decoded(code) for code in range(256)], dtype=np.int64)
"""(256,) the length that each byte encodes, ascending."""


def norms_of(lengths: Array) -> Array:
    """(N,) uint8: the byte of each length, rounded down."""
    whole = np.asarray(lengths).astype(np.int64)
    return (np.searchsorted(LENGTHS, whole, side="right") - 1).astype(np.uint8)


def common_terms(frequencies: Array, documents: int) -> int:
    """How many terms, the most frequent first, have ``common.bits``."""
    least = max(1024, documents // 32)
    return int(np.searchsorted(-frequencies, -least, side="right"))


@dataclass(frozen=True, eq=False)
class Segment:
    """D documents with R terms."""

    offsets: Array  # (R + 1,) int64: where each term's P postings begin
    docs: Array  # (P,) int32: document numbers, ascending within a term
    tfs: Array  # (P,) frequencies of the term in the document
    lengths: Array  # (D,) the sum of a document's frequencies
    occurrences: Array  # (R,) the sum of a term's frequencies

    @classmethod
    def invert(cls, starts: Array, ids: Array) -> "tuple[Segment, Array]":
        """Count the terms of documents that begin at ``starts``, (D + 1,) int64, in int32 ``ids``.

        Returns a segment that numbers terms in order of appearance, and those numbers by the
        vocabulary's; the last is -1, as for each term that is not in the segment.
        """
        from adducir.indexes.memory.inverting import distinct, localise, scatter

        rows = np.full(int(ids.max(initial=-1)) + 2, -1, dtype=np.int32)
        terms = np.empty(len(ids), dtype=np.int32)
        size = localise(ids, rows, terms)
        begins, term_ids, tfs = distinct(starts, terms, np.zeros(size, dtype=np.int32))
        offsets = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(term_ids, minlength=size), out=offsets[1:])
        docs, own_tfs = np.empty((2, len(term_ids)), dtype=np.int32)
        lengths = np.zeros(len(starts) - 1, dtype=np.int64)
        segment = cls(offsets, docs, own_tfs, lengths, np.zeros(size, dtype=np.int64))
        into = segment.docs, segment.tfs, segment.lengths, segment.occurrences
        scatter(0, begins, term_ids, tfs, offsets[:-1].copy(), *into)
        return segment, rows

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def frequencies(self) -> Array:
        """(R,) document frequencies."""
        return np.diff(self.offsets)

    @property
    def statistics(self) -> Statistics:
        return Statistics(
            documents=len(self),
            filled=int(np.count_nonzero(self.lengths)),
            tokens=int(self.lengths.sum()),
            frequencies=self.frequencies,
            occurrences=self.occurrences,
            lengths=self.lengths,
        )


class Saved:
    """What the layouts of an index share: the names of its terms and documents, by number."""

    folder: Path
    recheck: Callable[[], None]  # after a file was read from the folder later
    offsets: Array
    lengths: Array
    occurrences: Array

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def frequencies(self) -> Array:
        """(V,) document frequencies."""
        return np.diff(self.offsets)

    def postings(self, term: int) -> tuple[Array, Array]:
        """The documents that contain a term, ascending, and their frequencies or weights."""
        raise NotImplementedError

    @property
    def has_frequencies(self) -> bool:
        """Whether feedback can read documents' terms."""
        raise NotImplementedError

    def vectors(self, docs: Array) -> tuple[Array, Array, Array]:
        """How many terms documents have, these, the most frequent first, and their frequencies."""
        raise NotImplementedError

    @cached_property
    def tokens(self) -> float:
        return float(self.lengths.sum(dtype=np.float64))

    @cached_property
    def _terms(self) -> pl.DataFrame:
        table = self._table(TERMS, {"term": pl.String, "number": pl.Int32}, len(self.occurrences))
        numbers = table["number"].to_numpy()
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(numbers)):
            raise damaged(self.folder / TERMS)
        return table

    @cached_property
    def terms(self) -> pl.Series:
        """The V terms by their numbers."""
        return self._terms.sort("number")["term"]

    @cached_property
    def ranks(self) -> Array:
        """(V,) int32: the alphabetical rank of each term, by number."""
        return np.argsort(self._terms["number"].to_numpy()).astype(np.int32)

    def numbers(self, terms: Sequence[str]) -> Array:
        """The number of each term; -1 for unknown ones."""
        held, asked_terms = self._terms, pl.Series(terms, dtype=pl.String)
        if not len(held):
            return np.full(len(asked_terms), -1, dtype=np.int64)
        places = (
            held["term"].set_sorted().search_sorted(asked_terms).clip(upper_bound=len(held) - 1)
        )
        nearest = held[places]
        is_held = (nearest["term"] == asked_terms).to_numpy()
        numbers: Array = np.where(is_held, nearest["number"].to_numpy(), -1)
        return numbers.astype(np.int64)

    @cached_property
    def docnos(self) -> pl.Series:
        return self._table(DOCNOS, {"docno": pl.String}, len(self))["docno"]

    def _table(self, name: str, schema: dict[str, type[pl.DataType]], rows: int) -> pl.DataFrame:
        try:
            path = self.folder / name
            # Polars takes no path whose bytes are not UTF-8.
            is_text = readable_name(str(path)) == str(path)
            frame = pl.read_ipc(path if is_text else BytesIO(path.read_bytes()))
        except (OSError, pl.exceptions.PolarsError) as error:
            self.recheck()
            raise damaged(self.folder / name, error) from error
        self.recheck()
        if frame.schema != schema or len(frame) != rows:
            raise damaged(self.folder / name)
        return frame


@dataclass(frozen=True, eq=False)
class SavedSegment(Saved, Segment):
    codes: Array
    pairs: Array
    norms: Array
    bits: Array
    before: Array
    greatest_tfs: Array
    least_norms: Array
    forward: Array
    forward_tfs: Array
    forward_offsets: Array
    folder: Path
    recheck: Callable[[], None]  # after a file was read from the folder later

    @classmethod
    def open(cls, folder: Path, recheck: Callable[[], None] = lambda: None) -> "SavedSegment":
        """Map the files, and check sizes and offsets, not contents."""
        arrays = {name: mapped(folder / file) for name, file in FILES.items()}
        segment = cls(**arrays, folder=folder, recheck=recheck)
        for name, is_right in segment._checks():
            if getattr(segment, name).ndim != 1 or not is_right:
                raise damaged(folder / FILES[name])
        return segment

    def _checks(self) -> Iterator[tuple[str, bool]]:
        documents, postings = len(self.lengths), len(self.docs)
        terms = len(self.occurrences)
        yield "docs", self.docs.dtype == np.int32
        yield "tfs", len(self.tfs) == postings and self.tfs.dtype.kind in "iuf"
        yield "codes", self.codes.shape == self.docs.shape and self.codes.dtype == np.uint8
        yield "pairs", len(self.pairs) < 256 and self.pairs.dtype == np.int32
        yield "lengths", self.lengths.dtype in (np.int32, np.float64)
        yield "norms", len(self.norms) == documents and self.norms.dtype == np.uint8
        yield "occurrences", self.occurrences.dtype in (np.int64, np.float64)
        yield "offsets", is_rising(self.offsets, terms, postings)
        yield "bits", self.bits.dtype == np.uint64
        common = common_terms(self.frequencies, documents)
        yield "bits", len(self.bits) == common * (documents // 64 + 1)
        yield "before", self.before.dtype == np.uint32 and len(self.before) == len(self.bits)
        yield "greatest_tfs", self.greatest_tfs.shape == (terms,)
        yield "greatest_tfs", self.greatest_tfs.dtype == np.float32
        yield "least_norms", self.least_norms.shape == (terms * len(LEVELS),)
        yield "least_norms", self.least_norms.dtype == np.uint8
        yield "forward", self.forward.dtype == np.int32
        yield "forward_tfs", self.forward_tfs.shape == self.forward.shape
        yield "forward_tfs", self.forward_tfs.dtype == self.tfs.dtype
        yield "forward_offsets", is_rising(self.forward_offsets, documents, len(self.forward))

    def postings(self, term: int) -> tuple[Array, Array]:
        part = slice(self.offsets[term], self.offsets[term + 1])
        return np.asarray(self.docs[part]), np.asarray(self.tfs[part])

    @property
    def has_frequencies(self) -> bool:
        return len(self) == 0 or len(self.forward) > 0

    def vectors(self, docs: Array) -> tuple[Array, Array, Array]:
        offsets, numbers, tfs = map(
            np.asarray, (self.forward_offsets, self.forward, self.forward_tfs)
        )
        parts = [slice(*offsets[doc : doc + 2].tolist()) for doc in docs.tolist()]
        none = np.empty(0, dtype=np.int32)
        terms = np.concatenate([none, *(numbers[part] for part in parts)])
        tfs = np.concatenate([none, *(tfs[part] for part in parts)])
        if len(terms) and not (terms.min() >= 0 and terms.max() < len(self.occurrences)):
            raise damaged(self.folder / FILES["forward"])
        return offsets[docs + 1] - offsets[docs], terms, tfs
