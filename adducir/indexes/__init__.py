"""Lucene indexes: build, search and expand queries.

The names below are loaded when they are first used, because PyTerrier takes most of a second.
"""

from typing import TYPE_CHECKING

from adducir.study.lazy import offering

if TYPE_CHECKING:
    from adducir.indexes.build import IndexSettings, build_index
    from adducir.indexes.documents import DocumentStore
    from adducir.indexes.lucene import LuceneIndex
    from adducir.indexes.models import BM25, QLD, RM3Settings
    from adducir.indexes.retriever import RM3, LuceneRetriever

_HOMES = {
    "BM25": "models",
    "DocumentStore": "documents",
    "IndexSettings": "build",
    "LuceneIndex": "lucene",
    "LuceneRetriever": "retriever",
    "QLD": "models",
    "RM3": "retriever",
    "RM3Settings": "models",
    "build_index": "build",
}

__all__ = [  # noqa: RUF022  (in the order of use)
    "IndexSettings",
    "build_index",
    "LuceneIndex",
    "DocumentStore",
    "BM25",
    "QLD",
    "RM3Settings",
    "LuceneRetriever",
    "RM3",
]

__getattr__ = offering(__name__, _HOMES)
