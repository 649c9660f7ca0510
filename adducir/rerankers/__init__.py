"""Rerankers: one file per model, each opening with its theory and paper.

The names below are loaded when they are first used, because torch takes seconds.
"""

from typing import TYPE_CHECKING

from adducir.core.lazy import offering

if TYPE_CHECKING:
    from adducir.rerankers.registry import Reranker, open_reranker
    from adducir.rerankers.rerank import Reranked, rerank
    from adducir.rerankers.retriever import RerankingTransformer
    from adducir.rerankers.texts import KnownTexts, StoredTexts, texts_of

__all__ = [  # noqa: RUF022  (in the order of use)
    "open_reranker",
    "Reranker",
    "rerank",
    "Reranked",
    "StoredTexts",
    "KnownTexts",
    "texts_of",
    "RerankingTransformer",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(__name__)
