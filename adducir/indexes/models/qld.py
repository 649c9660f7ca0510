"""QLD: query likelihood with Dirichlet smoothing, as Lucene computes it.

Zhai and Lafferty, "A study of smoothing methods for language models applied to ad hoc information
retrieval", SIGIR 2001; Lucene's LMDirichlet, DirichletLM in Terrier and in the Touché papers.
A query term adds ``ln(1 + tf / (mu * p)) + ln(mu / (dl + mu))``, or 0 where that is negative, with
``p = (occurrences + 1) / (tokens + 1)``. Lengths are those that Lucene stores in one byte.

With mu 0 Lucene's formula is infinity minus infinity, which it takes for 0: every document that
holds a term scores 0, and docnos alone order them. That is kept, so that a grid may begin at 0.
"""

from typing import TYPE_CHECKING, Any

from pydantic import Field

from adducir.indexes.models.model import Dirichlet, Model

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics


class QLD(Model):
    """Query likelihood with Dirichlet smoothing."""

    mu: float = Field(default=1000.0, ge=0, description="Weight of the collection, in tokens.")

    def similarity(self, *, exact_lengths: bool) -> Any:
        """Lucene's."""
        from adducir.indexes.jvm import java_class

        name = "org.apache.lucene.search.similarities.LMDirichletSimilarity"
        return None if exact_lengths else java_class(name)(self.mu)

    def compiled(self) -> Dirichlet:
        return Dirichlet(self.mu)

    def term_factors(self, statistics: "Statistics") -> "Array":
        """The term's pseudo-count ``mu * p``."""
        share = (statistics.occurrences + 1) / (statistics.tokens + 1)
        counts: Array = self.mu * share
        return counts

    def length_factors(self, statistics: "Statistics") -> "Array":
        """``ln(mu / (dl + mu))``."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):  # mu 0
            factors: Array = np.log(self.mu / (statistics.lengths + self.mu))
        return factors

    def impacts(self, terms: "Array", tfs: "Array", lengths: "Array") -> "Array":
        """The sum of the two logarithms, 0 where that is negative."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            added = np.log(1 + tfs / terms) + lengths
        positive: Array = np.maximum(np.nan_to_num(added), 0)
        return positive
