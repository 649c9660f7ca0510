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
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from adducir.indexes.arrays import Array, damaged, is_rising, mapped

ARRAYS = (
    "postings.offsets",
    "postings.docs",
    "postings.tfs",
    "forward.bytes",
    "forward.offsets",
    "lengths",
    "norms",
    "collection",
)
TERMS = "terms.txt"
DOCNOS = "docnos.txt"


@dataclass(frozen=True, eq=False)
class Arrays:
    """The open files of a memory index; see the module for shapes."""

    folder: Path
    offsets: Array
    docs: Array
    tfs: Array
    forward: Array
    forward_offsets: Array
    lengths: Array
    norms: Array
    collection: Array

    @classmethod
    def open(cls, folder: Path) -> "Arrays":
        """Map the files in ``folder``, and check what bounds the places that are read.

        What the arrays hold is not read here: the kernels stay inside them whatever it is.

        Raises:
            ArtifactError: One is missing or damaged.
        """
        arrays = cls(folder, *(mapped(folder / f"{name}.npy") for name in ARRAYS))
        arrays._check()
        return arrays

    def _check(self) -> None:
        documents, terms, postings = len(self.lengths), len(self.collection), len(self.docs)
        code = len(self.forward)
        for name, array, is_right in (
            ("postings.docs", self.docs, self.docs.dtype == np.int32),
            ("postings.tfs", self.tfs, len(self.tfs) == postings and self.tfs.dtype.kind in "iuf"),
            ("lengths", self.lengths, self.lengths.dtype in (np.int32, np.float64)),
            ("norms", self.norms, len(self.norms) == documents and self.norms.dtype == np.uint8),
            ("collection", self.collection, self.collection.dtype in (np.int64, np.float64)),
            ("forward.bytes", self.forward, self.forward.dtype == np.uint8),
            ("postings.offsets", self.offsets, is_rising(self.offsets, terms, postings)),
            (
                "forward.offsets",
                self.forward_offsets,
                is_rising(self.forward_offsets, documents, code),
            ),
        ):
            if array.ndim != 1 or not is_right:
                raise damaged(self.folder / f"{name}.npy")

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
        return _lines(self.folder / TERMS, len(self.collection))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.terms)}

    @cached_property
    def docnos(self) -> pl.Series:
        """The N docnos by document number."""
        lines = _lines(self.folder / DOCNOS, self.documents)
        return pl.Series("docno", lines, dtype=pl.String)


def _lines(path: Path, count: int) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path) from error
    if len(lines) != count + 1 or lines.pop():
        raise damaged(path)
    return lines
