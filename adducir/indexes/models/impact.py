"""The dot product of a query's and a document's token weights.

How learned sparse representations are searched: SPLADE (Formal et al., SIGIR 2021), uniCOIL (Lin
and Ma, 2021), DeepImpact (Mallia et al., SIGIR 2021); Anserini's ImpactSimilarity. A document's
score is the sum, over the query's tokens, of the query's weight times the document's. Neither
lengths nor the collection count.
"""

from typing import TYPE_CHECKING

from adducir.indexes.models.model import Model

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics


class Impact(Model):
    """The dot product of token weights."""

    def term_factors(self, statistics: "Statistics") -> "Array":
        """1."""
        import numpy as np

        return np.ones(len(statistics.frequencies))

    def length_factors(self, statistics: "Statistics") -> "Array":
        """1."""
        import numpy as np

        return np.ones(len(statistics.lengths))

    def impacts(self, terms: "Array", tfs: "Array", lengths: "Array") -> "Array":
        """The weights."""
        import numpy as np

        del terms, lengths
        return tfs.astype(np.float64)
