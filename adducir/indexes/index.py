"""What the indexes of all engines have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from adducir.core.artifacts import Manifest
from adducir.core.errors import UsageError
from adducir.core.texts import refuse_text
from adducir.indexes.analysis import Analysis
from adducir.indexes.feedback import FEEDBACK, FeedbackMethod
from adducir.indexes.field_weights import FieldWeights, checked_fields
from adducir.indexes.models import BM25, MODELS, Model

if TYPE_CHECKING:
    from adducir.indexes.documents import DocumentStore

Query = str | Mapping[str, float]
"""A query's text, or index terms with their weights."""


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


class Index(Protocol):
    """An index of any engine.

    Attributes:
        manifest: What the index was built from; None for a folder of Lucene's own.
        accurate_length: Whether BM25 sees exact lengths.
        has_vectors: Whether it holds documents' terms, which feedback reads.
        default_model: The name of the model for what it holds; empty for none.
        separate_fields: The fields that it keeps by themselves.
    """

    path: Path
    manifest: Manifest | None
    analysis: Analysis
    fields: tuple[str, ...]
    accurate_length: bool
    has_vectors: bool
    default_model: str
    separate_fields: tuple[str, ...]

    def _settle(self, path: Path, manifest: Manifest | None) -> None:
        """Take over what the manifest says."""
        self.path, self.manifest = path, manifest
        recipe: Mapping[str, Any] = manifest.recipe if manifest else {}
        self.accurate_length = bool(recipe.get("accurate_length", False))
        self.fields = tuple(recipe.get("fields", ()))
        self.separate_fields = self.fields if recipe.get("separate_fields") else ()
        settings = recipe.get("analysis")
        self.analysis = Analysis.from_settings(settings) if settings else Analysis()

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process opens it anew.
        return type(self), (self.path.absolute(),), {"accurate_length": self.accurate_length}

    def __len__(self) -> int:
        """How many documents can be found."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the index is, for fingerprints and run metadata."""
        own = {"fingerprint": self.manifest.fingerprint} if self.manifest else {}
        return {"name": self.path.name, **own}

    @property
    def docnos(self) -> pl.Series:
        """Every docno."""

    @cached_property
    def documents(self) -> "DocumentStore":
        """The documents' texts."""
        from adducir.indexes.documents import DocumentStore

        return DocumentStore(self.path)

    def search(
        self,
        queries: Sequence[Query],
        model: Model,
        *,
        feedback: FeedbackMethod | None = None,
        fields: FieldWeights | None = None,
        depth: int | None = 1000,
        threads: int | None = None,
    ) -> Hits:
        """Rank the documents for each query.

        Args:
            queries: Texts, or weighted index terms (these take no ``feedback``).
            feedback: Expand each query first.
            fields: The weights of fields, where the index keeps them separate; BM25 alone.
            depth: Hits a query, at most; None for all documents that hold a term of the query.
            threads: By default one per core.

        Raises:
            UsageError: ``feedback`` on an index without documents' vectors or with weighted
                queries; a model that the engine has not, or not for exact lengths; a negative
                weight; ``depth`` below 1; ``fields`` that the index or the model has not.
        """

    def expand(
        self,
        queries: Sequence[str],
        model: Model,
        feedback: FeedbackMethod,
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        """The query that feedback makes of each query: index terms and weights, heaviest first.

        Raises:
            UsageError: As :meth:`search`.
        """

    def expand_from(
        self, query: str, documents: Sequence[tuple[str, float]], feedback: FeedbackMethod
    ) -> dict[str, float]:
        """The query that feedback makes of ``query`` and given documents, best first, with scores.

        Raises:
            UsageError: The index has no vectors, or does not hold one of the documents, or (in
                memory) a score is negative.
        """

    def close(self) -> None:
        """Let go of the files."""

    def settings(
        self, model: Model, feedback: FeedbackMethod | None, fields: FieldWeights | None
    ) -> dict[str, Any]:
        """How it is searched, for run metadata."""
        return {
            **MODELS.settings(model, "model"),
            "feedback": FEEDBACK.settings(feedback, "method") if feedback else None,
            **({} if fields is None else {"fields": dict(fields)}),
        }

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {docno: number for number, docno in enumerate(self.docnos)}

    def _number(self, docno: str) -> int:
        if docno not in self._numbers:
            raise UsageError(f"the index {self.path} holds no document {docno!r}.")
        return self._numbers[docno]

    def _by_fields(
        self, fields: FieldWeights, model: Model, feedback: FeedbackMethod | None
    ) -> BM25:
        """The model, where the index can be searched by weighted fields; see checked_fields."""
        return checked_fields(
            fields,
            self.separate_fields,
            model,
            self.path,
            exact_lengths=self.accurate_length,
            has_feedback=feedback is not None,
        )


def check_depth(depth: int | None) -> None:
    """Refuse a depth that is no number of hits.

    Raises:
        UsageError: It is below 1.
    """
    if depth is not None and depth < 1:
        raise UsageError(f"a depth must be 1 or more, not {depth}.")


def texts_alone(queries: Sequence[Query]) -> list[str]:
    """The queries, for feedback, which expands texts.

    Raises:
        UsageError: One is of weighted terms; or it is one text.
    """
    refuse_text(queries, "queries")
    texts = [query for query in queries if isinstance(query, str)]
    if len(texts) < len(queries):
        raise UsageError("feedback expands a query's text, not weighted terms.")
    return texts
