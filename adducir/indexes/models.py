"""Lexical retrieval models; :mod:`adducir.indexes.memory.models` has those of no other engine.

Where formulas name
them: N documents, n of them with the term, tf the term's frequency in the document, dl the
document's length and avgdl the mean length.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from adducir.core.errors import UsageError
from adducir.core.recipe import Kind
from adducir.indexes.jvm import java_class
from adducir.indexes.kinds import MODELS

Array = np.ndarray[tuple[int], np.dtype[Any]]

_LUCENE = "org.apache.lucene.search.similarities"


@dataclass(frozen=True, eq=False)
class Statistics:
    """A collection of R terms and D documents. Without a document, all of it is empty.

    Attributes:
        documents: N, the documents, those without a term included.
        filled: The documents that have a term.
        tokens: The sum of all lengths.
        frequencies: (R,) n: the documents that hold each term, 1 or more.
        occurrences: (R,) how often each term occurs.
        lengths: (D,) dl: terms of each document.
    """

    documents: int
    filled: int
    tokens: int
    frequencies: Array
    occurrences: Array
    lengths: Array


def relative_lengths(statistics: Statistics, b: float, documents: int, k1: float) -> Array:
    """(D,) k1 (1 - b + b dl / avgdl); avgdl counts as 1 where no document has a term."""
    average = statistics.tokens / documents if statistics.tokens else 1.0
    return k1 * (1 - b + b * statistics.lengths / average)


def logarithms(frequencies: Array, of: Callable[[Array], Array]) -> Array:
    """(R,) ln(of(n)) of frequencies n, by the C library; NumPy's may differ in the last bit."""
    counts = np.arange(1, int(frequencies.max(initial=0)) + 1)
    logs = np.array(list(map(math.log, of(counts).tolist())), dtype=np.float64)
    return logs[frequencies - 1]


class Model(Kind):
    """A formula that ranks the documents which hold a term of the query.

    A document's score is the sum, over the query's terms, of the term's weight in the query times
    the term's impact on the document. The fields of a subclass are its hyperparameters. It says
    how it is computed for one engine or for several:

    - by memory indexes and candidate sets: :meth:`term_factors`, :meth:`length_factors` and
      :meth:`impacts` on arrays, where an impact is a function of a number of the term, a number of
      the document and the term's frequency in it;
    - by Lucene: :meth:`similarity`.

    Attributes:
        like_lucene: Whether a memory index scores as Lucene does: from lengths in one byte, with
            impacts and sums rounded to floats. Otherwise lengths are exact and scores doubles.
    """

    like_lucene: ClassVar[bool] = False

    @classmethod
    def engines(cls) -> tuple[str, ...]:
        """The engines that can score by it, of ``lucene`` and ``memory``."""
        lucene = ("lucene",) if cls.similarity is not Model.similarity else ()
        return (*lucene, *(("memory",) if cls.impacts is not Model.impacts else ()))

    def similarity(self, *, exact_lengths: bool) -> Any:
        """A new Java object of Lucene's class ``Similarity``; None where there is none.

        An index may hold exact lengths, as Anserini's option ``-bm25.accurate`` writes them.
        """
        del exact_lengths
        return None

    def variant(self, *, exact_lengths: bool) -> str | None:
        """What an index computes where the model's name alone leaves it open, for metadata."""
        del exact_lengths
        return None

    def term_factors(self, statistics: Statistics) -> Array:
        """(R,) a number of each term, such as its idf."""
        raise NotImplementedError

    def length_factors(self, statistics: Statistics) -> Array:
        """(D,) a number of each document, made from its length."""
        raise NotImplementedError

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        """(P,) what each of P postings adds to its document's score.

        ``terms`` are their terms' factors, (P,) or one number for all; ``tfs`` (P,) their
        frequencies; ``lengths`` (P,) their documents' factors.
        """
        raise NotImplementedError


class BM25(Model):
    """BM25.

    Robertson et al., "Okapi at TREC-3", TREC-3, 1994. A query term adds ``idf * tf / (tf + K)``
    with ``K = k1 * (1 - b + b * dl / avgdl)`` and ``idf = ln(1 + (N - n + .5) / (n + .5))``: no
    factor (k1 + 1), and an idf that is never negative (Kamphuis et al., "Which BM25 do you mean?",
    ECIR 2020). Documents without a term do not count. Lucene stores a document's length in one
    byte, exactly up to 40 and coarser beyond: the variant ``lucene``. An index built with accurate
    lengths is scored with exact ones: ``lucene-accurate``, both in single precision. Candidate sets
    compute ``lucene-accurate`` in doubles. The defaults are Anserini's.
    """

    k1: float = Field(default=0.9, ge=0, description="Saturation of the term frequency.")
    b: float = Field(default=0.4, ge=0, le=1, description="Weight of the document's length.")

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


class QLD(Model):
    """Query likelihood with Dirichlet smoothing.

    Zhai and Lafferty, "A study of smoothing methods for language models applied to ad hoc
    information retrieval", SIGIR 2001; Lucene's LMDirichlet, DirichletLM in Terrier and in the
    Touché papers. A query term adds ``ln(1 + tf / (mu * p)) + ln(mu / (dl + mu))``, or 0 where that
    is negative, with ``p = (occurrences + 1) / (tokens + 1)``. Lengths are those that Lucene stores
    in one byte.

    With mu 0 Lucene's formula is infinity minus infinity, which it takes for 0: every document that
    holds a term scores 0, and docnos alone order them. That is kept, so that a grid may begin at 0.
    """

    mu: float = Field(default=1000.0, ge=0, description="Weight of the collection, in tokens.")

    def similarity(self, *, exact_lengths: bool) -> Any:
        return None if exact_lengths else java_class(f"{_LUCENE}.LMDirichletSimilarity")(self.mu)

    def term_factors(self, statistics: Statistics) -> Array:
        share = (statistics.occurrences + 1) / (statistics.tokens + 1)
        return self.mu * share

    def length_factors(self, statistics: Statistics) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # mu 0
            factors: Array = np.log(self.mu / (statistics.lengths + self.mu))
        return factors

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            added = np.log(1 + tfs / terms) + lengths
        return np.maximum(np.nan_to_num(added), 0)


class InL2(Model):
    """InL2.

    Amati and van Rijsbergen, "Probabilistic models of information retrieval based on measuring the
    divergence from randomness", TOIS 20(4), 2002. A query term adds ``tfn / (tfn + 1) * log2((N +
    1) / (n + .5))`` with ``tfn = tf * log2(1 + c * avgdl / dl)``. Computed as Lucene's
    ``DFRSimilarity`` does it, from lengths in one byte; documents without a term do not count.
    """

    like_lucene: ClassVar[bool] = True

    c: float = Field(default=1.0, ge=0, description="Weight of the document's length.")

    def similarity(self, *, exact_lengths: bool) -> Any:
        if exact_lengths:
            return None
        parts = (
            java_class(f"{_LUCENE}.BasicModelIn")(),
            java_class(f"{_LUCENE}.AfterEffectL")(),
            java_class(f"{_LUCENE}.NormalizationH2")(self.c),
        )
        return java_class(f"{_LUCENE}.DFRSimilarity")(*parts)

    def term_factors(self, statistics: Statistics) -> Array:
        frequencies = statistics.frequencies
        return np.log((statistics.filled + 1) / (frequencies + 0.5)) / np.log(2.0)

    def length_factors(self, statistics: Statistics) -> Array:
        average = statistics.tokens / max(1, statistics.filled)
        c = np.float64(np.float32(self.c))
        with np.errstate(divide="ignore"):  # candidates without a term, which hold no query's
            factors: Array = np.log(1 + c * average / statistics.lengths) / np.log(2.0)
        return factors

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        """``idf * (1 - 1 / (1 + tfn))``, which is the same."""
        return terms * (1 - 1 / (1 + tfs * lengths))


_INDEXES = {"lucene": "an index of Lucene", "memory": "a memory index"}


def refuse_unless_scored(model: Model, engine: Literal["lucene", "memory"], index: Path) -> None:
    engines = model.engines()
    if engine in engines:
        return
    names = [name for name, kind in MODELS.kinds().items() if engine in kind.engines()]
    build = [f" 'adducir index --engine {other}' builds one that has it." for other in engines]
    raise UsageError(
        f"{index} is {_INDEXES[engine]}, which has no model {MODELS.name_of(type(model))!r}.",
        hint=f"Its models are {', '.join(names)}.{''.join(build[:1])}",
    )
