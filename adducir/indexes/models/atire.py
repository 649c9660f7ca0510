"""BM25 of the ATIRE engine, with its defaults.

Trotman, Jia and Crane, "Towards an efficient and effective search engine", OSIR 2012. A query term
adds ``ln(N / n) * tf * (k1 + 1) / (tf + K)`` with ``K = k1 * (1 - b + b * dl / avgdl)``: the idf is
not that of Robertson, and never negative. Operations are in the order in which rank_bm25 does those
of its variants, so that equal inputs give equal bits.
"""

from typing import TYPE_CHECKING

from pydantic import Field

from adducir.indexes.models.model import Model
from adducir.indexes.models.statistics import logarithms, relative_lengths

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics


class ATIRE(Model):
    """BM25 of ATIRE."""

    k1: float = Field(default=0.9, ge=0, description="Saturation of the term frequency.")
    b: float = Field(default=0.4, ge=0, le=1, description="Weight of the document's length.")

    def term_factors(self, statistics: "Statistics") -> "Array":
        """The idf."""
        return logarithms(statistics.frequencies, lambda n: statistics.documents / n)

    def length_factors(self, statistics: "Statistics") -> "Array":
        """K."""
        return relative_lengths(statistics, self.b, statistics.documents, self.k1)

    def impacts(self, terms: "Array", tfs: "Array", lengths: "Array") -> "Array":
        """``idf * tf * (k1 + 1) / (tf + K)``."""
        added: Array = terms * (tfs * (self.k1 + 1) / (tfs + lengths))
        return added
