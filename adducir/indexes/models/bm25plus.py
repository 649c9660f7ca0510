"""BM25+, with rank_bm25's defaults.

Lv and Zhai, "Lower-bounding term frequency normalization", CIKM 2011. A query term adds
``ln((N + 1) / n) * (delta + tf * (k1 + 1) / (tf + K))``; see :mod:`adducir.indexes.models.atire`.
"""

from typing import TYPE_CHECKING

from pydantic import Field

from adducir.indexes.models.atire import ATIRE
from adducir.indexes.models.statistics import logarithms

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics


class BM25Plus(ATIRE):
    """BM25+.

    rank_bm25 (and bm25s) add ``delta`` to documents that lack the term too: all documents gain the
    same, so ``delta`` never changes a ranking. Without ``everywhere`` only documents that hold the
    term gain it, as in the paper.
    """

    k1: float = Field(default=1.5, ge=0, description="Saturation of the term frequency.")
    b: float = Field(default=0.75, ge=0, le=1, description="Weight of the document's length.")
    delta: float = Field(default=1.0, ge=0, description="The worth of a term beyond its frequency.")
    everywhere: bool = Field(default=True, description="Whether all documents gain delta.")

    def term_factors(self, statistics: "Statistics") -> "Array":
        """The idf."""
        return logarithms(statistics.frequencies, lambda n: (statistics.documents + 1) / n)

    def impacts(self, terms: "Array", tfs: "Array", lengths: "Array") -> "Array":
        """See the module."""
        added: Array = terms * (self.delta + tfs * (self.k1 + 1) / (lengths + tfs))
        return added

    def background(self, terms: "Array") -> "Array | None":
        """The delta, where it is for all."""
        return terms * self.delta if self.everywhere and self.delta else None
