"""BM25 as Lucene computes it.

Robertson et al., "Okapi at TREC-3", TREC-3, 1994. A query term adds ``idf * tf / (tf + K)`` with
``K = k1 * (1 - b + b * dl / avgdl)`` and ``idf = ln(1 + (N - n + .5) / (n + .5))``: no factor
(k1 + 1), and an idf that is never negative (Kamphuis et al., "Which BM25 do you mean?", ECIR 2020).
Documents without a term do not count. Lucene stores a document's length in one byte, exactly up to
40 and coarser beyond; an index built with accurate lengths is scored with exact ones. The defaults
are Anserini's.
"""

from typing import TYPE_CHECKING, Any

from pydantic import Field

from adducir.indexes.models.model import Model, Saturation
from adducir.indexes.models.statistics import logarithms, relative_lengths

if TYPE_CHECKING:
    from adducir.indexes.models.statistics import Array, Statistics


class BM25(Model):
    """BM25."""

    k1: float = Field(default=0.9, ge=0, description="Saturation of the term frequency.")
    b: float = Field(default=0.4, ge=0, le=1, description="Weight of the document's length.")

    def similarity(self, *, exact_lengths: bool) -> Any:
        """Lucene's, or Anserini's for exact lengths."""
        from adducir.indexes.jvm import java_class

        if exact_lengths:
            name = "io.anserini.search.similarity.AccurateBM25Similarity"
        else:
            name = "org.apache.lucene.search.similarities.BM25Similarity"
        return java_class(name)(self.k1, self.b)

    def compiled(self) -> Saturation:
        return Saturation(self.k1, self.b)

    def term_factors(self, statistics: "Statistics") -> "Array":
        """The idf."""
        filled = statistics.filled
        return logarithms(statistics.frequencies, lambda n: 1 + (filled - n + 0.5) / (n + 0.5))

    def length_factors(self, statistics: "Statistics") -> "Array":
        """K."""
        return relative_lengths(statistics, self.b, statistics.filled, self.k1)

    def impacts(self, terms: "Array", tfs: "Array", lengths: "Array") -> "Array":
        """``idf * tf / (tf + K)``."""
        added: Array = terms * (tfs / (tfs + lengths))
        return added
