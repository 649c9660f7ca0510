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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from io import BytesIO
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, Self

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
"""Files of the arrays of a :class:`SavedSegment`."""

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
class Counted:
    """The counts of D documents with R terms."""

    offsets: Array  # (R + 1,) int64: where each term's P postings begin
    lengths: Array  # (D,) the sum of a document's frequencies
    occurrences: Array  # (R,) the sum of a term's frequencies

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def frequencies(self) -> Array:
        """(R,) document frequencies."""
        return np.diff(self.offsets)

    @cached_property
    def tokens(self) -> float:
        return float(self.lengths.sum(dtype=np.float64))

    @property
    def statistics(self) -> Statistics:
        return Statistics(
            documents=len(self),
            filled=int(np.count_nonzero(self.lengths)),
            tokens=int(self.tokens),
            frequencies=self.frequencies,
            occurrences=self.occurrences,
            lengths=self.lengths,
        )


@dataclass(frozen=True, eq=False)
class Segment(Counted):
    """D documents with R terms, in memory."""

    docs: Array  # (P,) int32: document numbers, ascending within a term
    tfs: Array  # (P,) frequencies of the term in the document

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
        segment = cls(offsets, lengths, np.zeros(size, dtype=np.int64), docs, own_tfs)
        into = segment.docs, segment.tfs, segment.lengths, segment.occurrences
        scatter(0, begins, term_ids, tfs, offsets[:-1].copy(), *into)
        return segment, rows


@dataclass(frozen=True, eq=False)
class Saved(Counted):
    """What the layouts of an index share: arrays, and the names of terms and documents."""

    arrays: Mapping[str, Array]
    folder: Path
    recheck: Callable[[], None]  # after a file was read from the folder later
    files: ClassVar[Mapping[str, str]]  # of the arrays

    @classmethod
    def open(cls, folder: Path, recheck: Callable[[], None] = lambda: None) -> Self:
        """Map the files, and check sizes and offsets, which keep kernels inside the arrays."""
        arrays = {name: mapped(folder / file) for name, file in cls.files.items()}
        counted = {field.name: arrays[field.name] for field in fields(Counted)}
        saved = cls(**counted, arrays=arrays, folder=folder, recheck=recheck)
        shapes = ((name, array.ndim == 1) for name, array in arrays.items())
        for name, is_right in chain(shapes, saved._checks()):
            if not is_right:
                raise damaged(folder / cls.files[name])
        return saved

    def _checks(self) -> Iterator[tuple[str, bool]]:
        """The arrays' names, and whether they are right."""
        raise NotImplementedError

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

    def counts_of(self, counts: Array, terms: list[str]) -> list[int]:
        """Of each term, one of the V ``counts``; 0 for unknown terms."""
        return [int(counts[n]) if n >= 0 else 0 for n in self.numbers(terms).tolist()]

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


class SavedSegment(Saved):
    files = FILES

    def _checks(self) -> Iterator[tuple[str, bool]]:
        held = SimpleNamespace(**self.arrays)
        documents, postings, terms = len(held.lengths), len(held.docs), len(held.occurrences)
        yield "docs", held.docs.dtype == np.int32
        yield "tfs", len(held.tfs) == postings and held.tfs.dtype.kind in "iuf"
        yield "codes", held.codes.shape == held.docs.shape and held.codes.dtype == np.uint8
        yield "pairs", len(held.pairs) < 256 and held.pairs.dtype == np.int32
        yield "lengths", held.lengths.dtype in (np.int32, np.float64)
        yield "norms", len(held.norms) == documents and held.norms.dtype == np.uint8
        yield "occurrences", held.occurrences.dtype in (np.int64, np.float64)
        yield "offsets", is_rising(held.offsets, terms, postings)
        common = common_terms(self.frequencies, documents)
        yield "bits", held.bits.dtype == np.uint64
        yield "bits", len(held.bits) == common * (documents // 64 + 1)
        yield "before", held.before.dtype == np.uint32 and len(held.before) == len(held.bits)
        yield "greatest_tfs", held.greatest_tfs.shape == (terms,)
        yield "greatest_tfs", held.greatest_tfs.dtype == np.float32
        yield "least_norms", held.least_norms.shape == (terms * len(LEVELS),)
        yield "least_norms", held.least_norms.dtype == np.uint8
        yield "forward", held.forward.dtype == np.int32
        yield "forward_tfs", held.forward_tfs.shape == held.forward.shape
        yield "forward_tfs", held.forward_tfs.dtype == held.tfs.dtype
        yield "forward_offsets", is_rising(held.forward_offsets, documents, len(held.forward))

    @property
    def norms(self) -> Array:
        return self.arrays["norms"]

    def postings(self, term: int) -> tuple[Array, Array]:
        """The documents that contain a term, ascending, and their frequencies."""
        part = slice(self.offsets[term], self.offsets[term + 1])
        return self.arrays["docs"][part], self.arrays["tfs"][part]

    @property
    def has_frequencies(self) -> bool:
        """Whether feedback can read documents' terms."""
        return len(self) == 0 or len(self.arrays["forward"]) > 0

    def vectors(self, docs: Array) -> tuple[Array, Array, Array]:
        """How many terms documents have, these, the most frequent first, and their frequencies."""
        offsets, none = self.arrays["forward_offsets"], np.empty(0, dtype=np.int32)
        parts = [slice(*offsets[doc : doc + 2].tolist()) for doc in docs.tolist()]
        terms, tfs = (
            np.concatenate([none, *(self.arrays[name][part] for part in parts)])
            for name in ("forward", "forward_tfs")
        )
        if len(terms) and not (terms.min() >= 0 and terms.max() < len(self.occurrences)):
            raise damaged(self.folder / FILES["forward"])
        return offsets[docs + 1] - offsets[docs], terms, tfs
