"""The files of a memory index: arrays that are mapped, not read.

=====================  =====================================================================
``terms.txt``          V terms, one a line; a term's number is its line, from 0: terms in more
                       documents come first, then in order of their text
``postings.offsets``   (V + 1,) int64: where each term's postings begin
``postings.docs``      (P,) int32 document numbers, ascending within a term
``postings.tfs``       (P,) term frequencies (or weights) in the smallest type that holds all
``forward.bytes``      each document's terms as varints, see :mod:`.forward`; RM3 reads them
``forward.offsets``    (N + 1,) int64: where each document's terms begin
``lengths``            (N,) int32 (float64 for weights): tokens of each document
``norms``              (N,) uint8: Lucene's one-byte lengths
``collection``         (V,) int64 (float64 for weights): frequency of each term in all documents
``docnos.txt``         N docnos, one a line, ascending: a document's number is its line, so that
                       the order of numbers is the order of docnos, which breaks ties
=====================  =====================================================================

All arrays are NumPy's ``.npy``. A posting takes 4 bytes for the document, as a rule 1 for the
frequency, and about 2 in ``forward.bytes``.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adducir.study.errors import ProductError

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

Array = np.ndarray[tuple[int], np.dtype[Any]]


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
        """Map the files in ``folder``.

        Raises:
            ProductError: One is missing or damaged.
        """
        return cls(folder, *(_mapped(folder / f"{name}.npy") for name in ARRAYS))

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
        return (self.folder / TERMS).read_text(encoding="utf-8").split("\n")[:-1]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each term."""
        return {term: number for number, term in enumerate(self.terms)}

    @cached_property
    def docnos(self) -> pl.Series:
        """The N docnos by document number."""
        lines = (self.folder / DOCNOS).read_text(encoding="utf-8").split("\n")[:-1]
        return pl.Series("docno", lines, dtype=pl.String)


def _mapped(path: Path) -> Array:
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ProductError(
            f"the index is damaged: {error}.",
            path=path,
            mend="Build it again with 'adducir index --rebuild'.",
        ) from error
    return array
