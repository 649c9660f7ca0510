"""InL2: divergence from randomness by inverse document frequency, Laplace's law and H2.

Amati and van Rijsbergen, "Probabilistic models of information retrieval based on measuring the
divergence from randomness", TOIS 20(4), 2002. A query term adds ``tfn / (tfn + 1) * log2((N + 1) /
(n + .5))`` with ``tfn = tf * log2(1 + c * avgdl / dl)``. Computed as Lucene's ``DFRSimilarity``
does it, from lengths in one byte; documents without a term do not count.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from adducir.indexes.models.model import Model

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics

_LUCENE = "org.apache.lucene.search.similarities"


class InL2(Model):
    """InL2."""

    like_lucene: ClassVar[bool] = True

    c: float = Field(default=1.0, ge=0, description="Weight of the document's length.")

    def similarity(self, *, exact_lengths: bool) -> Any:
        """Lucene's."""
        from adducir.indexes.jvm import java_class

        if exact_lengths:
            return None
        parts = (f"{_LUCENE}.BasicModelIn", f"{_LUCENE}.AfterEffectL")
        normalisation = java_class(f"{_LUCENE}.NormalizationH2")(self.c)
        return java_class(f"{_LUCENE}.DFRSimilarity")(
            *(java_class(name)() for name in parts), normalisation
        )

    def term_factors(self, statistics: "Statistics") -> "Array":
        """The logarithm."""
        import numpy as np

        frequencies = statistics.frequencies
        idf: Array = np.log((statistics.filled + 1) / (frequencies + 0.5)) / np.log(2.0)
        return idf

    def length_factors(self, statistics: "Statistics") -> "Array":
        """What makes tfn of tf."""
        import numpy as np

        average = statistics.tokens / max(1, statistics.filled)
        c = np.float64(np.float32(self.c))
        with np.errstate(divide="ignore"):  # candidates without a term, which hold no query's
            factors: Array = np.log(1 + c * average / statistics.lengths) / np.log(2.0)
        return factors

    def impacts(self, terms: "Array", tfs: "Array", lengths: "Array") -> "Array":
        """``idf * (1 - 1 / (1 + tfn))``, which is the same."""
        added: Array = terms * (1 - 1 / (1 + tfs * lengths))
        return added
