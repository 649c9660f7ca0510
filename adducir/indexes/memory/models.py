"""Retrieval models that only memory indexes and candidate sets score."""

import math

import numpy as np
from pydantic import Field

from adducir.indexes.models import Array, Model, Statistics, logarithms, relative_lengths


class Okapi(Model):
    """rank_bm25's BM25Okapi.

    Robertson's formula with the factor (k1 + 1) and the idf ``ln((N - n + .5) / (n + .5))``; where
    that is negative, ``epsilon`` times the mean idf of all terms takes its place. Operations are in
    the order in which rank_bm25 does them, so that equal inputs give equal bits.
    """

    k1: float = Field(default=1.5, ge=0, description="Saturation of the term frequency.")
    b: float = Field(default=0.75, ge=0, le=1, description="Weight of the document's length.")
    epsilon: float = Field(default=0.25, description="Floor of the idf, as a share of the mean.")

    def term_factors(self, statistics: Statistics) -> Array:
        n, documents = statistics.frequencies, statistics.documents
        without = logarithms(n, lambda n: documents - n + 0.5)
        idf: Array = without - logarithms(n, lambda n: n + 0.5)
        if len(idf):
            mean = np.cumsum(idf)[-1] / len(idf)  # cumsum adds in order, as rank_bm25 does
            idf[idf < 0] = self.epsilon * mean
        return idf

    def length_factors(self, statistics: Statistics) -> Array:
        return relative_lengths(statistics, self.b, statistics.documents, self.k1)

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        return terms * (tfs * (self.k1 + 1) / (tfs + lengths))


class DPH(Model):
    """DPH.

    Amati, "Frequentist and Bayesian approach to information retrieval", ECIR 2006; Amati et al.,
    "FUB, IASI-CNR and University of Tor Vergata at TREC 2007 blog track", TREC 2007. With ``f = tf
    / dl`` and F occurrences of the term in all documents, a query term adds ``(1 - f)^2 / (tf + 1)
    * (tf * log2(tf * avgdl / dl * N / F) + .5 * log2(2 * pi * tf * (1 - f)))``, as in Terrier:
    where a document is nothing but the term, f is .99999, and what a frequent term adds may be
    negative. Lucene has no DPH.
    """

    def term_factors(self, statistics: Statistics) -> Array:
        return statistics.tokens / statistics.occurrences

    def length_factors(self, statistics: Statistics) -> Array:
        return statistics.lengths

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        share = np.where(tfs < lengths, tfs / lengths, 0.99999)
        gain = tfs * np.log2(tfs / lengths * terms)
        gain += 0.5 * np.log2(2 * math.pi * tfs * (1 - share))
        return (1 - share) ** 2 / (tfs + 1) * gain


class Impact(Model):
    """The dot product of token weights.

    How learned sparse representations are searched: SPLADE (Formal et al., SIGIR 2021), uniCOIL
    (Lin and Ma, 2021), DeepImpact (Mallia et al., SIGIR 2021); Anserini's ImpactSimilarity. A
    document's score is the sum, over the query's tokens, of the query's weight times the
    document's. Neither lengths nor the collection count.
    """

    def term_factors(self, statistics: Statistics) -> Array:
        return np.ones(len(statistics.frequencies))

    def length_factors(self, statistics: Statistics) -> Array:
        return np.ones(len(statistics.lengths))

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        del terms, lengths
        return tfs.astype(np.float64)
