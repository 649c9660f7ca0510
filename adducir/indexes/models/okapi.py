"""Okapi: rank_bm25's BM25Okapi, with its defaults.

Robertson's formula with the factor (k1 + 1) and the idf ``ln((N - n + .5) / (n + .5))``; where that
is negative, ``epsilon`` times the mean idf of all terms takes its place. See
:mod:`adducir.indexes.models.atire` for the rest.
"""

from typing import TYPE_CHECKING

from pydantic import Field

from adducir.indexes.models.atire import ATIRE
from adducir.indexes.models.statistics import logarithms

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics


class Okapi(ATIRE):
    """rank_bm25's BM25Okapi."""

    k1: float = Field(default=1.5, ge=0, description="Saturation of the term frequency.")
    b: float = Field(default=0.75, ge=0, le=1, description="Weight of the document's length.")
    epsilon: float = Field(default=0.25, description="Floor of the idf, as a part of the mean idf.")

    def term_factors(self, statistics: "Statistics") -> "Array":
        """The idf, with its floor."""
        import numpy as np

        n, documents = statistics.frequencies, statistics.documents
        without = logarithms(n, lambda n: documents - n + 0.5)
        idf: Array = without - logarithms(n, lambda n: n + 0.5)
        if len(idf):
            mean = np.cumsum(idf)[-1] / len(idf)  # cumsum adds in order, as rank_bm25 does
            idf[idf < 0] = self.epsilon * mean
        return idf
