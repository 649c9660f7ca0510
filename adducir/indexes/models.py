"""Lexical retrieval models and their settings, with Anserini's defaults.

- BM25 (Robertson et al., TREC-3, 1994) as Lucene computes it: idf = ln(1 + (N - n + .5)/(n + .5)),
  no factor (k1 + 1). Lucene stores a document's length in one byte, exactly up to 40 and coarser
  beyond; an index built with accurate lengths is scored with exact ones.
- QLD: query likelihood with Dirichlet smoothing (Zhai and Lafferty, SIGIR 2001), Lucene's
  LMDirichlet, called DirichletLM in Terrier and in the Touché papers.
- RM3 (Abdul-Jaleel et al., TREC 2004) as Anserini computes it: feedback terms match ``[a-z0-9]+``,
  have 2 to 20 characters and occur in at most 10% of the documents.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from adducir.study.checking import checked
from adducir.study.errors import UsageError


def _refuse_unless(condition: bool, message: str) -> None:
    if not condition:
        raise UsageError(message)


@checked
@dataclass(frozen=True)
class BM25:
    """BM25's term-frequency saturation ``k1`` (0 or more) and length weight ``b`` (0 to 1)."""

    k1: float = 0.9
    b: float = 0.4
    name: ClassVar[str] = "bm25"

    def __post_init__(self) -> None:
        _refuse_unless(
            math.isfinite(self.k1) and self.k1 >= 0, f"BM25's k1 must be 0 or more, not {self.k1}."
        )
        _refuse_unless(0 <= self.b <= 1, f"BM25's b must lie between 0 and 1, not {self.b}.")

    def settings(self) -> dict[str, Any]:
        """The model and its parameters, for fingerprints and run metadata."""
        return {"model": self.name, **asdict(self)}


@checked
@dataclass(frozen=True)
class QLD:
    """Dirichlet smoothing's ``mu`` (0 or more): the weight of the collection, in tokens.

    With mu 0 Lucene's formula is infinity minus infinity, which it takes for 0: every document that
    holds a term scores 0, and docnos alone order them. That is kept, so that a grid may begin at 0.
    """

    mu: float = 1000.0
    name: ClassVar[str] = "qld"

    def __post_init__(self) -> None:
        _refuse_unless(
            math.isfinite(self.mu) and self.mu >= 0, f"QLD's mu must be 0 or more, not {self.mu}."
        )

    def settings(self) -> dict[str, Any]:
        """The model and its parameters, for fingerprints and run metadata."""
        return {"model": self.name, **asdict(self)}


Model = BM25 | QLD


@checked
@dataclass(frozen=True)
class RM3Settings:
    """Relevance feedback: how many terms of how many documents, and the query's own weight."""

    fb_terms: int = 10
    fb_docs: int = 10
    original_query_weight: float = 0.5

    def __post_init__(self) -> None:
        _refuse_unless(self.fb_terms >= 1, f"RM3 needs 1 term or more, not {self.fb_terms}.")
        _refuse_unless(self.fb_docs >= 1, f"RM3 needs 1 document or more, not {self.fb_docs}.")
        _refuse_unless(
            0 <= self.original_query_weight <= 1,
            f"RM3's original query weight must lie between 0 and 1, "
            f"not {self.original_query_weight}.",
        )

    def settings(self) -> dict[str, Any]:
        """The parameters, for fingerprints and run metadata."""
        return asdict(self)
