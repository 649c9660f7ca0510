"""What the indexes of all engines have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adducir.core.artifacts import Manifest
from adducir.core.errors import ArtifactError, UsageError
from adducir.core.texts import refuse_text
from adducir.indexes.analysis import Analysis
from adducir.indexes.kinds import FEEDBACK, MODELS

if TYPE_CHECKING:
    from adducir.indexes.documents import DocumentStore
    from adducir.indexes.feedback import FeedbackMethod
    from adducir.indexes.models import Model

Query = str | Mapping[str, float]
"""A query's text, or index terms with their weights."""
FieldWeights = Mapping[str, float]


@dataclass(frozen=True)
class Hits:
    """The rankings of q queries with n hits in all.

    Attributes:
        counts: (q,) int32: how many hits each query has.
        docnos: (n,) docnos, query after query, best first.
        scores: (n,) float32, or float64 where the model is of that precision, not increasing within
            a query.
    """

    counts: np.ndarray
    docnos: pl.Series
    scores: np.ndarray

    def frame(self, qids: Sequence[str]) -> pl.DataFrame:
        """The columns qid, docno and score; ``qids`` names the queries in order."""
        rows = np.repeat(np.arange(len(qids)), self.counts)
        return pl.DataFrame(
            {
                "qid": pl.Series(qids, dtype=pl.String).gather(rows),
                "docno": self.docnos,
                "score": pl.Series(self.scores).cast(pl.Float64),
            }
        )


class Index(ABC):
    """An index of any engine.

    Attributes:
        manifest: What the index was built from; None for a folder of Lucene's own.
        accurate_length: Whether BM25 sees exact lengths, as the index was built.
        analysis: How documents became terms, and queries do.
        fields: The fields that are indexed, joined.
        has_vectors: Whether it holds documents' terms, which feedback reads.
        default_model: The name of the model for what it holds; empty where its encoder is one.
    """

    has_vectors: bool = False
    default_model: str = "bm25"

    def __init__(self, path: Path, manifest: Manifest | None) -> None:
        self.path, self.manifest = path, manifest
        recipe: Mapping[str, Any] = manifest.recipe if manifest else {}
        self.fields: tuple[str, ...] = tuple(recipe.get("fields", ()))
        settings = recipe.get("analysis", {})
        self.analysis = Analysis.from_settings(settings) if settings else Analysis()
        is_other = "language" in settings  # English is stemmed alike by every Lucene
        if is_other and self.analysis.settings().get("lucene") != settings.get("lucene"):
            raise ArtifactError(
                "its texts were analysed by another Lucene, which stems differently.",
                path=path,
                hint="Build it again with 'adducir index --rebuild'.",
            )

    @property
    def accurate_length(self) -> bool:
        return bool(self.manifest and self.manifest.recipe.get("accurate_length"))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path.absolute(),)  # another process opens it anew

    def __len__(self) -> int:
        return len(self.docnos)

    @property
    def identity(self) -> dict[str, Any]:
        own = {"fingerprint": self.manifest.fingerprint} if self.manifest else {}
        return {"name": self.path.name, **own}

    @property
    @abstractmethod
    def docnos(self) -> pl.Series:
        """Every docno, by document number."""

    @cached_property
    def documents(self) -> "DocumentStore":
        from adducir.indexes.documents import DocumentStore

        return DocumentStore(self.path)

    @abstractmethod
    def search(
        self,
        queries: Sequence[Query],
        model: "Model",
        *,
        feedback: "FeedbackMethod | None" = None,
        fields: FieldWeights | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> Hits:
        """Rank the documents for each query; equal scores in order of docnos.

        Args:
            queries: Texts, or weighted index terms (these take no ``feedback``).
            feedback: Expand each query first.
            fields: The weights of fields, for BM25 on a Lucene index that keeps them separate.
            depth: Hits per query, at most; None for all documents that hold a term of the query.
            threads: By default one per core.

        Raises:
            UsageError: What the index, or its engine, does not have.
        """

    def expand(
        self,
        queries: Sequence[str],
        model: "Model",
        feedback: "FeedbackMethod",
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        """The query that feedback makes of each query: index terms and weights, heaviest first."""
        raise no_terms()

    def expand_from(
        self, query: str, documents: Sequence[tuple[str, float]], feedback: "FeedbackMethod"
    ) -> dict[str, float]:
        """The query that feedback makes of ``query`` and given documents, best first, with scores.

        A document that the index does not hold, and in memory a negative score, is a UsageError.
        """
        raise no_terms()

    def close(self) -> None:  # noqa: B027  (most engines have nothing to let go of)
        """Let go of the files."""

    def settings(
        self, model: "Model", feedback: "FeedbackMethod | None", fields: FieldWeights | None
    ) -> dict[str, Any]:
        variant = model.variant(exact_lengths=self.accurate_length)
        return {
            **MODELS.settings(model, "model"),
            **({"variant": variant} if variant else {}),
            "feedback": FEEDBACK.settings(feedback, "method") if feedback else None,
            **({} if fields is None else {"fields": dict(fields)}),
        }

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {docno: number for number, docno in enumerate(self.docnos)}

    def number(self, docno: str) -> int:
        if docno not in self._numbers:
            raise UsageError(f"the index {self.path} holds no document {docno!r}.")
        return self._numbers[docno]


def check_search(queries: Sequence[Query], depth: int | None) -> None:
    refuse_text(queries, "queries")
    if depth is not None and depth < 1:
        raise UsageError(f"a depth must be 1 or more, not {depth}.")


def texts_alone(queries: Sequence[Query]) -> list[str]:
    refuse_text(queries, "queries")
    texts = [query for query in queries if isinstance(query, str)]
    if len(texts) < len(queries):
        raise UsageError("feedback expands a query's text, not weighted terms.")
    return texts


def no_terms() -> UsageError:
    return UsageError(
        "a dense index has no terms for feedback, field weights or weighted queries.",
        hint="Use a lexical index, and combine the runs with 'adducir fuse'.",
    )
