"""The files of a memory index: arrays that are mapped, not read.

=====================  =====================================================================
``terms.txt``          V terms, one per line; a term's number is its line, from 0: terms in more
                       documents come first, then in order of their text
``postings.offsets``   (V + 1,) int64: where each term's postings begin
``postings.docs``      (P,) int32 document numbers, ascending within a term
``postings.tfs``       (P,) term frequencies (or weights) in the smallest type that holds all
``forward.bytes``      each document's terms as varints, see :mod:`.forward`; RM3 reads them
``forward.offsets``    (N + 1,) int64: where each document's terms begin
``lengths``            (N,) int32 (float64 for weights): tokens of each document
``norms``              (N,) uint8: Lucene's one-byte lengths
``collection``         (V,) int64 (float64 for weights): frequency of each term in all documents
``docnos.txt``         N docnos, one per line, ascending: a document's number is its line, so that
                       the order of numbers is the order of docnos, which breaks ties
=====================  =====================================================================

All arrays are NumPy's ``.npy``. A posting takes 4 bytes for the document, as a rule 1 for the
frequency, and about 2 in ``forward.bytes``.

An index in parts (:mod:`.joining`) has all of these but ``postings.docs``, ``postings.tfs`` and the
two of ``forward``: those lie with its parts, each of which has all files of an index of its own
documents, and these, which place it in the whole:

=====================  =====================================================================
``whole.docs``         (n,) int32: the whole's number of each document of the part, ascending
``whole.terms``        (v,) int32: the whole's number of each term of the part
``part.terms``         (V,) int32: the part's number of each term of the whole; -1 for none
=====================  =====================================================================
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from adducir.indexes.arrays import Array, damaged, is_rising, mapped
from adducir.indexes.memory.spool import let_go

SHARD = 100_000
"""Documents in a shard."""
TOTALS = ("postings.offsets", "lengths", "norms", "collection")
POSTINGS = ("postings.docs", "postings.tfs", "forward.bytes", "forward.offsets")
PLACES = ("whole.docs", "whole.terms", "part.terms")
PARTS = "parts"
"""The folder that holds the parts of an index, each under its number, from 1."""
TERMS = "terms.txt"
DOCNOS = "docnos.txt"


@dataclass(frozen=True, eq=False)
class Totals:
    """What an index knows of all its documents and terms; see the module for shapes."""

    folder: Path
    offsets: Array
    lengths: Array
    norms: Array
    collection: Array

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the files in ``folder``, and check what bounds the places that are read.

        What the arrays hold is not read here: the kernels stay inside them whatever it is.

        Raises:
            ArtifactError: One is missing or damaged.
        """
        arrays = cls(folder, *(mapped(folder / f"{name}.npy") for name in cls._names()))
        for name, array, is_right in arrays._checks():
            if array.ndim != 1 or not is_right:
                raise damaged(folder / f"{name}.npy")
        return arrays

    @classmethod
    def _names(cls) -> tuple[str, ...]:
        return TOTALS

    def _checks(self) -> Iterator[tuple[str, Array, bool]]:
        """Names of arrays, and whether each is of a type and size that it can have."""
        documents, terms = len(self.lengths), len(self.collection)
        is_rise = is_rising(self.offsets, terms, self._postings)
        yield "lengths", self.lengths, self.lengths.dtype in (np.int32, np.float64)
        is_of_norms = len(self.norms) == documents and self.norms.dtype == np.uint8
        yield "norms", self.norms, is_of_norms
        yield "collection", self.collection, self.collection.dtype in (np.int64, np.float64)
        yield "postings.offsets", self.offsets, is_rise

    @property
    def _postings(self) -> int:
        """P, as far as the offsets can be those of postings."""
        is_fit = self.offsets.size > 0 and self.offsets.dtype == np.int64
        return int(self.offsets.flat[-1]) if is_fit else -1

    @property
    def documents(self) -> int:
        """N: the documents that have a term."""
        return len(self.lengths)

    @cached_property
    def tokens(self) -> float:
        """The sum of all lengths."""
        return float(self.lengths.sum(dtype=np.float64))

    @cached_property
    def terms(self) -> list[str]:
        """The V terms by their numbers."""
        return lines_of(self.folder / TERMS, len(self.collection))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.terms)}

    @cached_property
    def docnos(self) -> pl.Series:
        """The N docnos by document number."""
        lines = lines_of(self.folder / DOCNOS, self.documents)
        return pl.Series("docno", lines, dtype=pl.String)


@dataclass(frozen=True, eq=False)
class Arrays(Totals):
    """The open files of a memory index, or of one part of it; see the module for shapes."""

    docs: Array
    tfs: Array
    forward: Array
    forward_offsets: Array

    @classmethod
    def _names(cls) -> tuple[str, ...]:
        return (*TOTALS, *POSTINGS)

    def _checks(self) -> Iterator[tuple[str, Array, bool]]:
        documents, postings = len(self.lengths), len(self.docs)
        code = len(self.forward)
        yield "postings.docs", self.docs, self.docs.dtype == np.int32
        is_of_tfs = len(self.tfs) == postings and self.tfs.dtype.kind in "iuf"
        yield "postings.tfs", self.tfs, is_of_tfs
        yield from super()._checks()
        yield "postings.offsets", self.offsets, self._postings == postings
        yield "forward.bytes", self.forward, self.forward.dtype == np.uint8
        is_rise = is_rising(self.forward_offsets, documents, code)
        yield "forward.offsets", self.forward_offsets, is_rise

    def let_go(self) -> None:
        """Give the memory of what was read back to the system, which reads it again if needed."""
        let_go(self.docs, self.tfs, self.forward)


@dataclass(frozen=True, eq=False)
class Places:
    """Where a part of an index stands in the whole; see the module for shapes.

    Attributes:
        docs: ``whole.docs``.
        terms: ``whole.terms``.
        numbers: ``part.terms``.
    """

    docs: Array
    terms: Array
    numbers: Array

    @classmethod
    def open(cls, folder: Path, part: Totals, whole: Totals) -> "Places":
        """Map the files in the part's folder.

        Raises:
            ArtifactError: One is missing or damaged.
        """
        sizes = (len(part.lengths), len(part.collection), len(whole.collection))
        arrays = [mapped(folder / f"{name}.npy") for name in PLACES]
        for name, array, size in zip(PLACES, arrays, sizes, strict=True):
            if array.shape != (size,) or array.dtype != np.int32:
                raise damaged(folder / f"{name}.npy")
        return cls(*arrays)

    def of_terms(self, terms: Array) -> Array:
        """(t,) int64: the part's numbers of terms of the whole; -1 for none."""
        return np.asarray(self.numbers[terms], dtype=np.int64)


def lines_of(path: Path, count: int) -> list[str]:
    """The lines of a file of terms or docnos.

    Raises:
        ArtifactError: There are not so many.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path) from error
    if len(lines) != count + 1 or lines.pop():
        raise damaged(path)
    return lines
