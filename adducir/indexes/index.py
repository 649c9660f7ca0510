"""What the indexes of all engines have in common."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from adducir.core.artifacts import Manifest
from adducir.indexes.analysis import Analysis
from adducir.indexes.documents import DocumentStore
from adducir.indexes.feedback.method import FeedbackMethod
from adducir.indexes.field_weights import FieldWeights
from adducir.indexes.lucene import Hits, Query
from adducir.indexes.models.model import Model


class Index(Protocol):
    """What LuceneIndex and MemoryIndex both do; see them for arguments and errors."""

    path: Path
    analysis: Analysis
    fields: tuple[str, ...]
    accurate_length: bool
    has_vectors: bool
    default_model: str
    separate_fields: tuple[str, ...]

    def __len__(self) -> int:
        """How many documents can be found."""

    @property
    def manifest(self) -> Manifest | None:
        """What the index was built from; None for a folder of Lucene's own."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the index is, for fingerprints and run metadata."""

    @property
    def docnos(self) -> pl.Series:
        """Every docno."""

    @property
    def documents(self) -> DocumentStore:
        """The documents' texts."""

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
        """Rank the documents for each query."""

    def expand(
        self,
        queries: Sequence[str],
        model: Model,
        feedback: FeedbackMethod,
        *,
        threads: int | None = None,
    ) -> list[dict[str, float]]:
        """The query that feedback makes of each query."""

    def expand_from(
        self, query: str, documents: Sequence[tuple[str, float]], feedback: FeedbackMethod
    ) -> dict[str, float]:
        """The query that feedback makes of a query and given documents."""

    def close(self) -> None:
        """Let go of the files."""
