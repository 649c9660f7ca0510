"""The variants of BM25 that baselines use, on plain arrays.

"BM25" names different formulas (Kamphuis et al., "Which BM25 do you mean?", ECIR 2020; Trotman et
al., ADCS 2014). With N documents, n that hold the term, its frequency tf in the document, the
document's length dl, the mean length avgdl, and K = k1 (1 - b + b dl / avgdl), a query term adds:

==============  ================================================  ===============================
Okapi           idf tf (k1 + 1) / (tf + K)                        rank_bm25's BM25Okapi:
                                                                  idf = ln((N - n + .5)/(n + .5));
                                                                  where that is negative, epsilon
                                                                  times the mean idf of all terms
ATIRE           ln(N / n) tf (k1 + 1) / (tf + K)                  Trotman et al., 2012
BM25L           idf tf (k1 + 1) (c + delta) / (k1 + c + delta)    rank_bm25's BM25L, with c =
                                                                  tf k1 / K and
                                                                  idf = ln((N + 1)/(n + .5)); Lv
                                                                  and Zhai's (SIGIR 2011) has no
                                                                  factor tf
BM25Plus        ln((N + 1)/n) (delta + tf (k1 + 1) / (tf + K))    Lv and Zhai, CIKM 2011
Lucene's BM25   ln(1 + (N - n + .5)/(n + .5)) tf / (tf + K)       :class:`adducir.indexes.BM25`
==============  ================================================  ===============================

Operations are in the order in which rank_bm25 does them, so that equal inputs give equal bits.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from adducir.indexes.memory.files import Array
from adducir.indexes.models import BM25, QLD
from adducir.study.errors import UsageError


@dataclass(frozen=True, eq=False)
class Statistics:
    """What the formulas read; R terms, D documents. Without a document, all of it is empty.

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


class Weighting(Protocol):
    """A formula in parts: numbers of terms, numbers of documents, and what a posting adds."""

    def term_factors(self, statistics: Statistics) -> Array:
        """(R,) numbers that depend on the term alone, the idf as a rule."""

    def length_factors(self, statistics: Statistics) -> Array:
        """(D,) numbers that depend on the document's length."""

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        """(P,) what each posting adds, from its term's factor, frequency and document's factor."""

    def background(self, terms: Array) -> Array | None:
        """(R,) what a term adds to documents that lack it; None for nothing."""


@dataclass(frozen=True)
class _Variant:
    """What the variants share."""

    k1: float
    b: float
    name: ClassVar[str]

    def __post_init__(self) -> None:
        _refuse_unless(
            math.isfinite(self.k1) and self.k1 >= 0, f"BM25's k1 must be 0 or more, not {self.k1}."
        )
        _refuse_unless(0 <= self.b <= 1, f"BM25's b must lie between 0 and 1, not {self.b}.")

    def settings(self) -> dict[str, Any]:
        """The model and its parameters, for fingerprints and run metadata."""
        return {"model": self.name, **asdict(self)}

    def length_factors(self, statistics: Statistics) -> Array:
        """K."""
        return _relative_lengths(statistics, self.b, statistics.documents, self.k1)

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        """See :class:`Weighting`."""
        added: Array = terms * (tfs * (self.k1 + 1) / (tfs + lengths))
        return added

    def background(self, terms: Array) -> Array | None:
        """Nothing."""
        return None


@dataclass(frozen=True)
class Okapi(_Variant):
    """rank_bm25's BM25Okapi and its defaults; ``epsilon`` times the mean idf is the floor."""

    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25
    name: ClassVar[str] = "okapi"

    def __post_init__(self) -> None:
        super().__post_init__()
        _refuse_unless(
            math.isfinite(self.epsilon), f"Okapi's epsilon must be a number, not {self.epsilon}."
        )

    def term_factors(self, statistics: Statistics) -> Array:
        """The idf, with its floor."""
        n, documents = statistics.frequencies, statistics.documents
        without = _logarithms(n, lambda n: documents - n + 0.5)
        idf: Array = without - _logarithms(n, lambda n: n + 0.5)
        if len(idf):
            mean = np.cumsum(idf)[-1] / len(idf)  # cumsum adds in order, as rank_bm25 does
            idf[idf < 0] = self.epsilon * mean
        return idf


@dataclass(frozen=True)
class ATIRE(_Variant):
    """BM25 of the ATIRE engine (Trotman, Jia and Crane, OSIR 2012), with its defaults."""

    k1: float = 0.9
    b: float = 0.4
    name: ClassVar[str] = "atire"

    def term_factors(self, statistics: Statistics) -> Array:
        """The idf."""
        return _logarithms(statistics.frequencies, lambda n: statistics.documents / n)


@dataclass(frozen=True)
class BM25L(_Variant):
    """rank_bm25's BM25L and its defaults."""

    k1: float = 1.5
    b: float = 0.75
    delta: float = 0.5
    name: ClassVar[str] = "bm25l"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_delta(self.delta)

    def term_factors(self, statistics: Statistics) -> Array:
        """The idf."""
        subtracted = _logarithms(statistics.frequencies, lambda n: n + 0.5)
        idf: Array = math.log(statistics.documents + 1) - subtracted
        return idf

    def length_factors(self, statistics: Statistics) -> Array:
        """K / k1."""
        return _relative_lengths(statistics, self.b, statistics.documents)

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        """See :class:`Weighting`."""
        c = tfs / lengths
        top = terms * tfs * (self.k1 + 1) * (c + self.delta)
        added: Array = top / (self.k1 + c + self.delta)
        return added


@dataclass(frozen=True)
class BM25Plus(_Variant):
    """BM25+, with rank_bm25's defaults.

    Attributes:
        k1: Saturation of the term frequency.
        b: Weight of the length.
        delta: What a term is worth beyond its frequency.
        everywhere: rank_bm25 (and bm25s) add ``delta`` to documents that lack the term too. All
            documents gain the same, so ``delta`` never changes a ranking. False gives it only to
            documents that hold the term, as Lv and Zhai do.
    """

    k1: float = 1.5
    b: float = 0.75
    delta: float = 1.0
    everywhere: bool = True
    name: ClassVar[str] = "bm25+"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_delta(self.delta)

    def term_factors(self, statistics: Statistics) -> Array:
        """The idf."""
        return _logarithms(statistics.frequencies, lambda n: (statistics.documents + 1) / n)

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        """See :class:`Weighting`."""
        added: Array = terms * (self.delta + tfs * (self.k1 + 1) / (lengths + tfs))
        return added

    def background(self, terms: Array) -> Array | None:
        """The delta, where it is for all."""
        return terms * self.delta if self.everywhere and self.delta else None


@dataclass(frozen=True)
class Impact:
    """The sum over the query's terms of the query's weight times the document's: a dot product.

    How learned sparse representations are searched (SPLADE, uniCOIL, DeepImpact); Anserini's
    ImpactSimilarity.
    """

    name: ClassVar[str] = "impact"

    def settings(self) -> dict[str, Any]:
        """The model and its parameters, for fingerprints and run metadata."""
        return {"model": self.name}

    def term_factors(self, statistics: Statistics) -> Array:
        """1."""
        return np.ones(len(statistics.frequencies))

    def length_factors(self, statistics: Statistics) -> Array:
        """1."""
        return np.ones(len(statistics.lengths))

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        """The weights."""
        del terms, lengths
        return tfs.astype(np.float64)

    def background(self, terms: Array) -> Array | None:
        """Nothing."""
        return None


@dataclass(frozen=True)
class _LuceneBM25:
    """Lucene's BM25 with exact lengths; as in Lucene, empty documents do not count."""

    model: BM25

    def term_factors(self, statistics: Statistics) -> Array:
        filled = statistics.filled
        return _logarithms(statistics.frequencies, lambda n: 1 + (filled - n + 0.5) / (n + 0.5))

    def length_factors(self, statistics: Statistics) -> Array:
        return _relative_lengths(statistics, self.model.b, statistics.filled, self.model.k1)

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        added: Array = terms * (tfs / (tfs + lengths))
        return added

    def background(self, terms: Array) -> Array | None:
        return None


@dataclass(frozen=True)
class _LuceneQLD:
    """Lucene's LMDirichlet with exact lengths: a term adds 0 where its part is negative."""

    model: QLD

    def term_factors(self, statistics: Statistics) -> Array:
        """The term's pseudo-count mu p(t|C), Lucene's p being (cf + 1)/(tokens + 1)."""
        counts: Array = self.model.mu * ((statistics.occurrences + 1) / (statistics.tokens + 1))
        return counts

    def length_factors(self, statistics: Statistics) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # mu 0
            factors: Array = np.log(self.model.mu / (statistics.lengths + self.model.mu))
        return factors

    def impacts(self, terms: Array, tfs: Array, lengths: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            added = np.log(1 + tfs / terms) + lengths
        positive: Array = np.maximum(np.nan_to_num(added), 0)
        return positive

    def background(self, terms: Array) -> Array | None:
        return None


Variant = Okapi | ATIRE | BM25L | BM25Plus | Impact
CandidateModel = Variant | BM25 | QLD


def weighting_of(model: CandidateModel) -> Weighting:
    """The formula of a model.

    Raises:
        UsageError: There is no such model.
    """
    if isinstance(model, BM25):
        return _LuceneBM25(model)
    if isinstance(model, QLD):
        return _LuceneQLD(model)
    if isinstance(model, Variant):
        return model
    raise UsageError(f"candidate sets cannot be ranked with {model!r}.")


def _check_delta(delta: float) -> None:
    _refuse_unless(
        math.isfinite(delta) and delta >= 0, f"BM25's delta must be 0 or more, not {delta}."
    )


def _refuse_unless(condition: bool, message: str) -> None:
    if not condition:
        raise UsageError(message)


def _relative_lengths(
    statistics: Statistics, b: float, documents: int, factor: float = 1.0
) -> Array:
    """(D,) factor (1 - b + b dl / avgdl); avgdl counts as 1 where no document has a term."""
    average = statistics.tokens / documents if statistics.tokens else 1.0
    relative: Array = factor * (1 - b + b * statistics.lengths / average)
    return relative


def _logarithms(frequencies: Array, of: Callable[[Array], Array]) -> Array:
    """(R,) ln(of(n)) for each n in ``frequencies``.

    The logarithm is the C library's, as Python's; NumPy's may differ in the last bit.
    """
    counts = np.arange(1, int(frequencies.max(initial=0)) + 1)
    logs = np.array(list(map(math.log, of(counts).tolist())), dtype=np.float64)
    found: Array = logs[frequencies - 1]
    return found
