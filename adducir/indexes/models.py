"""Lexical retrieval models.

In formulas: N documents, n of them with the term, tf the term's frequency in the document, dl the
document's length and avgdl the mean length.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from adducir.core.errors import UsageError, worded
from adducir.core.recipe import KeyPath, Kind
from adducir.core.registry import numbers
from adducir.indexes.jvm import java_class
from adducir.indexes.kinds import MODELS

Array = np.ndarray[tuple[int], np.dtype[Any]]

_NUMBERS = "a number for each"
_LUCENE = "org.apache.lucene.search.similarities"


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of R terms and D documents; all empty without documents."""

    documents: int  # N, including those without terms
    filled: int  # documents with at least one term
    tokens: int  # the sum of all lengths
    frequencies: Array  # (R,) n: the document frequency of each term, 1 or more
    occurrences: Array  # (R,) how often each term occurs
    lengths: Array  # (D,) dl: number of terms of each document


def relative_lengths(statistics: Statistics, b: float, documents: int, k1: float) -> Array:
    """(D,) k1 (1 - b + b dl / avgdl); avgdl is 1 if all documents are empty."""
    average = statistics.tokens / documents if statistics.tokens else 1.0
    return k1 * (1 - b + b * statistics.lengths / average)


def logarithms(frequencies: Array, function: Callable[[Array], Array]) -> Array:
    """(R,) ln(of(n)) of frequencies n, by the C library; NumPy's may differ in the last bit."""
    counts = np.arange(1, int(frequencies.max(initial=0)) + 1)
    logs = np.array(list(map(math.log, function(counts).tolist())), dtype=np.float64)
    return logs[frequencies - 1]


class Model(Kind):
    """A formula that ranks documents with at least one query term.

    A document's score is the sum over query terms of the term's weight in the query times its
    impact on the document. The fields of a subclass are its hyperparameters. Lucene
    computes it by :meth:`similarity`; memory indexes and candidate sets by :meth:`term_factors`,
    :meth:`length_factors` and :meth:`impacts` on arrays, in doubles, from exact lengths: an impact
    is a function of a number of the term, one of the document, and the term's frequency in it.
    """

    @property
    def by_field(self) -> Mapping[str, float]:
        """The fields of a Lucene index that are searched, with their weights; by default all."""
        return getattr(self, "boosts", {})

    @classmethod
    def engines(cls) -> tuple[str, ...]:
        """The engines that support it: ``lucene``, ``memory`` or both."""
        lucene = ("lucene",) if cls.similarity is not Model.similarity else ()
        return (*lucene, *(("memory",) if cls.impacts is not Model.impacts else ()))

    def similarity(self, *, exact_lengths: bool) -> Any:
        """A new Java object of Lucene's class ``Similarity``; None if Lucene lacks the model."""
        return None

    def variant(self, *, exact_lengths: bool) -> str | None:
        """The variant that an index computes, for metadata."""
        return None

    def term_factors(self, statistics: Statistics) -> Array:
        """(R,) a number per term, such as its idf."""
        raise NotImplementedError

    def length_factors(self, statistics: Statistics) -> Array:
        """(D,) a number per document, from its length."""
        raise NotImplementedError

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        """(P,) what each of P postings adds to its document's score.

        ``terms``: their terms' factors, (P,) or one for all; ``lengths``: their documents', (P,).
        """
        raise NotImplementedError

    def factors(self, statistics: Statistics) -> tuple[Array, Array]:
        """The factors of the terms, (R,), and of the documents, (D,), checked."""
        parts = (("term_factors", statistics.frequencies), ("length_factors", statistics.lengths))
        terms, lengths = (
            numbers(self, name, getattr(self, name)(statistics), len(each), meaning=_NUMBERS)
            for name, each in parts
        )
        return terms, lengths

    def added(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        """(P,) the impacts of postings, checked."""
        return numbers(
            self, "impacts", self.impacts(terms, tfs, lengths), len(tfs), meaning=_NUMBERS
        )


class LuceneModel(Model):
    """A model that Lucene has, too, where each field can count by itself."""

    boosts: Mapping[str, Annotated[float, Field(ge=0, le=3e38)]] = Field(
        default={}, exclude_if=lambda boosts: not boosts
    )
    """Fields of a Lucene index with their weights; `contents` is all its text. A score is the
    weighted sum of the fields' scores."""


class BM25(LuceneModel):
    """BM25.

    Robertson et al., "Okapi at TREC-3", TREC-3, 1994. A query term adds ``idf * tf / (tf + K)``
    with ``K = k1 * (1 - b + b * dl / avgdl)`` and ``idf = ln(1 + (N - n + .5) / (n + .5))``: no
    factor (k1 + 1), and an idf that is never negative (Kamphuis et al., "Which BM25 do you mean?",
    ECIR 2020). Documents without terms do not count. Lucene stores a document's length in one
    byte, exactly up to 40 and coarser beyond: the variant ``lucene``. An index built with accurate
    lengths is scored with exact ones: ``lucene-accurate``, both in single precision. Candidate sets
    compute ``lucene-accurate`` in doubles. The defaults are Anserini's.

    Example:
        >>> ad.search("pets", {"1": "cats"}, ad.BM25(k1=1.2, b=0.75)).tag
        'bm25'
    """

    # Lucene computes in single precision.
    k1: float = Field(default=0.9, ge=0, le=3e38)
    """Saturation of the term frequency."""
    b: float = Field(default=0.4, ge=0, le=1)
    """Weight of the document's length."""

    def similarity(self, *, exact_lengths: bool) -> Any:
        name = "io.anserini.search.similarity.AccurateBM25Similarity"
        return java_class(name if exact_lengths else f"{_LUCENE}.BM25Similarity")(self.k1, self.b)

    def variant(self, *, exact_lengths: bool) -> str | None:
        return "lucene-accurate" if exact_lengths else "lucene"

    def term_factors(self, statistics: Statistics) -> Array:
        filled = statistics.filled
        return logarithms(statistics.frequencies, lambda n: 1 + (filled - n + 0.5) / (n + 0.5))

    def length_factors(self, statistics: Statistics) -> Array:
        return relative_lengths(statistics, self.b, statistics.filled, self.k1)

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        return terms * (tfs / (tfs + lengths))


class QLD(LuceneModel):
    """Query likelihood with Dirichlet smoothing.

    Zhai and Lafferty, "A study of smoothing methods for language models applied to ad hoc
    information retrieval", SIGIR 2001; Lucene's LMDirichlet, DirichletLM in Terrier and in the
    Touché papers. A query term adds ``ln(1 + tf / (mu * p)) + ln(mu / (dl + mu))``, or 0 if that is
    negative, with ``p = (occurrences + 1) / (tokens + 1)``. Lengths are Lucene's one-byte lengths.

    With mu 0, Lucene's formula is infinity minus infinity, which it treats as 0: every document
    with a query term scores 0, and only docnos order them. This is kept, so that a grid may begin
    at 0.

    Example:
        >>> ad.search("pets", {"1": "cats"}, ad.QLD(mu=500)).tag
        'qld'
    """

    mu: float = Field(default=1000.0, ge=0, le=3e38)
    """Weight of the collection, in tokens."""

    def similarity(self, *, exact_lengths: bool) -> Any:
        return None if exact_lengths else java_class(f"{_LUCENE}.LMDirichletSimilarity")(self.mu)

    def term_factors(self, statistics: Statistics) -> Array:
        return self.mu * ((statistics.occurrences + 1) / (statistics.tokens + 1))

    def length_factors(self, statistics: Statistics) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # mu 0
            factors: Array = np.log(self.mu / (statistics.lengths + self.mu))
        return factors

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            added = np.log(1 + tfs / terms) + lengths
        return np.maximum(np.nan_to_num(added), 0)


class Okapi(Model):
    """rank_bm25's BM25Okapi.

    Robertson's formula with the factor (k1 + 1) and the idf ``ln((N - n + .5) / (n + .5))``; if
    that is negative, it is replaced by ``epsilon`` times the mean idf of all terms. Operations are
    in rank_bm25's order, so that scores are bitwise equal.
    """

    k1: float = Field(default=1.5, ge=0)
    """Saturation of the term frequency."""
    b: float = Field(default=0.75, ge=0, le=1)
    """Weight of the document's length."""
    epsilon: float = Field(default=0.25)
    """Floor of the idf, as a share of the mean."""

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
    if a document contains only the term, f is .99999, and a frequent term may add a negative value.
    Lucene does not have DPH.
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


class BM25Plus(Model):
    """BM25+.

    Lv and Zhai, "Lower-bounding term frequency normalization", CIKM 2011, as Kamphuis et al. (ECIR
    2020) give it: a query term adds ``idf * ((k1 + 1) * tf / (tf + K) + delta)`` with BM25's ``K``
    and ``idf = ln((N + 1) / n)``, so that a match in a long document counts.
    """

    k1: float = Field(default=0.9, ge=0)
    """Saturation of the term frequency."""
    b: float = Field(default=0.4, ge=0, le=1)
    """Weight of the document's length."""
    delta: float = Field(default=1.0, ge=0)
    """The least that a match counts."""

    def term_factors(self, statistics: Statistics) -> Array:
        return np.log((statistics.documents + 1) / statistics.frequencies)

    def length_factors(self, statistics: Statistics) -> Array:
        return relative_lengths(statistics, self.b, statistics.documents, self.k1)

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        return terms * ((self.k1 + 1) * tfs / (tfs + lengths) + self.delta)


class BM25L(Model):
    """BM25L.

    Lv and Zhai, "When documents are very long, BM25 fails!", SIGIR 2011, as Kamphuis et al. (ECIR
    2020) give it: with ``c = tf / (1 - b + b * dl / avgdl)``, a query term adds ``idf * (k1 + 1) *
    (c + delta) / (k1 + c + delta)``; ``idf = ln((N + 1) / (n + .5))``.
    """

    k1: float = Field(default=0.9, ge=0)
    """Saturation of the term frequency."""
    b: float = Field(default=0.4, ge=0, le=1)
    """Weight of the document's length."""
    delta: float = Field(default=0.5, ge=0)
    """Shift of the normalised frequency."""

    def term_factors(self, statistics: Statistics) -> Array:
        return np.log((statistics.documents + 1) / (statistics.frequencies + 0.5))

    def length_factors(self, statistics: Statistics) -> Array:
        return relative_lengths(statistics, self.b, statistics.documents, 1.0)

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        shifted = tfs / lengths + self.delta
        return terms * ((self.k1 + 1) * shifted / (self.k1 + shifted))


class JelinekMercer(Model):
    """Query likelihood with Jelinek-Mercer smoothing.

    Zhai and Lafferty, SIGIR 2001; the formula of Lucene's LMJelinekMercer, with exact lengths in
    doubles: a query term adds ``ln(1 + (1 - lambda) * tf / dl / (lambda * p))``, with ``p =
    (occurrences + 1) / (tokens + 1)``. Zhai and Lafferty found .1 best for short queries and .7 for
    long ones.
    """

    smoothing: float = Field(default=0.1, gt=0, le=1)
    """Lambda: the collection's share."""

    def term_factors(self, statistics: Statistics) -> Array:
        return self.smoothing * ((statistics.occurrences + 1) / (statistics.tokens + 1))

    def length_factors(self, statistics: Statistics) -> Array:
        return np.maximum(statistics.lengths, 1)

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        return np.log1p((1 - self.smoothing) * tfs / lengths / terms)


class PL2(Model):
    """PL2.

    Amati and van Rijsbergen, "Probabilistic models of information retrieval based on measuring the
    divergence from randomness", TOIS 2002, as computed by Terrier: with ``t = tf * log2(1 + c *
    avgdl / dl)`` and ``f = F / N`` for F occurrences, a query term adds ``(t * log2(1 / f) + f *
    log2(e) + .5 * log2(2 * pi * t) + t * (log2(t) - log2(e))) / (t + 1)``, which may be negative.
    """

    c: float = Field(default=1.0, gt=0)
    """Normalisation of lengths; larger: less of it."""

    def term_factors(self, statistics: Statistics) -> Array:
        return statistics.occurrences / statistics.documents

    def length_factors(self, statistics: Statistics) -> Array:
        average = statistics.tokens / statistics.documents if statistics.tokens else 1.0
        return np.log2(1 + self.c * average / np.maximum(statistics.lengths, 1))

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        tfs_scaled, e = tfs * lengths, math.log2(math.e)
        gain = tfs_scaled * -np.log2(terms) + terms * e + 0.5 * np.log2(2 * math.pi * tfs_scaled)
        return (gain + tfs_scaled * (np.log2(tfs_scaled) - e)) / (tfs_scaled + 1)


class Impact(Model):
    """The dot product of token weights.

    For learned sparse representations: SPLADE (Formal et al., SIGIR 2021), uniCOIL
    (Lin and Ma, 2021), DeepImpact (Mallia et al., SIGIR 2021); Anserini's ImpactSimilarity. A
    document's score is the sum over query tokens of the query's weight times the document's,
    independent of lengths and the collection.
    """

    def term_factors(self, statistics: Statistics) -> Array:
        return np.ones(len(statistics.frequencies))

    def length_factors(self, statistics: Statistics) -> Array:
        return np.ones(len(statistics.lengths))

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        return tfs.astype(np.float64)


def unfit(
    model: Model, engine: str, *, accurate: bool, fields: Collection[str]
) -> Iterator[tuple[KeyPath, str]]:
    """What an index lacks for a model, to say behind its name, each with the search's key."""
    engines, called = model.engines(), MODELS.name_of(type(model))
    if engine not in engines:
        names = [name for name, kind in MODELS.kinds().items() if engine in kind.engines()]
        message = f"is a {engine} index without the model {called!r}; its models are "
        message += f"{', '.join(names)}, and {' and '.join(engines)} indexes have this one"
        yield ("model",), message
    elif accurate and called != "bm25" and engine == "lucene":
        exact = worded("accurate_length", "true")
        yield ("model",), f"has exact lengths ({exact}), which only bm25 supports"
    if engine == "memory" and model.by_field:
        message = "is a memory index, which holds all fields as one; search one index per field "
        message += f"and fuse the runs, or use a Lucene index ({worded('separate')})"
        yield ("boosts",), message
    elif unknown := sorted(model.by_field.keys() - fields):
        alone = f"the field {unknown[0]!r} by itself ({worded('separate')})"
        yield ("boosts",), f"does not have {alone}, only {', '.join(fields)}"


def refuse_unfit(model: Model, engine: str, index: Path, **limits: Any) -> None:
    for (key,), message in unfit(model, engine, **limits):
        raise UsageError(f"{worded(str(key))}: {index} {message}.")
