"""BM25L: rank_bm25's, with its defaults.

Lv and Zhai, "When documents are very long, BM25 fails!", SIGIR 2011. A query term adds
``idf * tf * (k1 + 1) * (c + delta) / (k1 + c + delta)`` with ``c = tf / (1 - b + b * dl / avgdl)``
and ``idf = ln((N + 1) / (n + .5))``. The factor tf is rank_bm25's; the paper has none.
"""

import math
from typing import TYPE_CHECKING

from pydantic import Field

from adducir.indexes.models.model import Model
from adducir.indexes.models.statistics import logarithms, relative_lengths

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics


class BM25L(Model):
    """rank_bm25's BM25L."""

    k1: float = Field(default=1.5, ge=0, description="Saturation of the term frequency.")
    b: float = Field(default=0.75, ge=0, le=1, description="Weight of the document's length.")
    delta: float = Field(default=0.5, ge=0, description="The worth of a term beyond its frequency.")

    def term_factors(self, statistics: "Statistics") -> "Array":
        """The idf."""
        subtracted = logarithms(statistics.frequencies, lambda n: n + 0.5)
        idf: Array = math.log(statistics.documents + 1) - subtracted
        return idf

    def length_factors(self, statistics: "Statistics") -> "Array":
        """``1 - b + b * dl / avgdl``."""
        return relative_lengths(statistics, self.b, statistics.documents)

    def impacts(self, terms: "Array", tfs: "Array", lengths: "Array") -> "Array":
        """See the module."""
        c = tfs / lengths
        top = terms * tfs * (self.k1 + 1) * (c + self.delta)
        added: Array = top / (self.k1 + c + self.delta)
        return added
