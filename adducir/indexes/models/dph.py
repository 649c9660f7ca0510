"""DPH: a hypergeometric model of divergence from randomness, without hyperparameters.

Amati, "Frequentist and Bayesian approach to information retrieval", ECIR 2006; Amati et al., "FUB,
IASI-CNR and University of Tor Vergata at TREC 2007 blog track", TREC 2007. With ``f = tf / dl`` and
F occurrences of the term in all documents, a query term adds ``(1 - f)^2 / (tf + 1) * (tf * log2(tf
* avgdl / dl * N / F) + .5 * log2(2 * pi * tf * (1 - f)))``, as in Terrier: where a document is
nothing but the term, f is .99999, and what a frequent term adds may be negative. Lucene has no DPH.
"""

import math
from typing import TYPE_CHECKING

from adducir.indexes.models.model import Model

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics


class DPH(Model):
    """DPH."""

    def term_factors(self, statistics: "Statistics") -> "Array":
        """``avgdl * N / F``, which is the number of all tokens over F."""
        rarity: Array = statistics.tokens / statistics.occurrences
        return rarity

    def length_factors(self, statistics: "Statistics") -> "Array":
        """The length itself."""
        return statistics.lengths

    def impacts(self, terms: "Array", tfs: "Array", lengths: "Array") -> "Array":
        """See the module."""
        import numpy as np

        share = np.where(tfs < lengths, tfs / lengths, 0.99999)
        gain = tfs * np.log2(tfs / lengths * terms)
        gain += 0.5 * np.log2(2 * math.pi * tfs * (1 - share))
        added: Array = (1 - share) ** 2 / (tfs + 1) * gain
        return added
