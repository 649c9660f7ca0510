"""Indexes of two engines, Lucene and memory: build, search and expand queries.

The names below are loaded when they are first used, because PyTerrier takes most of a second.
"""

from typing import TYPE_CHECKING

from adducir.core import offering

if TYPE_CHECKING:
    from adducir.indexes.building import IndexSettings
    from adducir.indexes.candidates import CandidateSet
    from adducir.indexes.documents import DocumentStore
    from adducir.indexes.engines import open_index
    from adducir.indexes.index import Index
    from adducir.indexes.lucene import LuceneIndex, build_index
    from adducir.indexes.memory.build import build_memory_index
    from adducir.indexes.memory.index import MemoryIndex
    from adducir.indexes.retriever import DenseRetriever, LexicalRetriever, QueryExpansion

__all__ = [  # noqa: RUF022  (in the order of use)
    "IndexSettings",
    "build_index",
    "build_memory_index",
    "open_index",
    "Index",
    "LuceneIndex",
    "MemoryIndex",
    "CandidateSet",
    "DocumentStore",
    "LexicalRetriever",
    "DenseRetriever",
    "QueryExpansion",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(
        __name__,
        {
            "adducir.indexes.candidates": "CandidateSet",
            "adducir.indexes.documents": "DocumentStore",
            "adducir.indexes.engines": "open_index",
            "adducir.indexes.index": "Index",
            "adducir.indexes.building": "IndexSettings",
            "adducir.indexes.lucene": "LuceneIndex build_index",
            "adducir.indexes.memory.build": "build_memory_index",
            "adducir.indexes.memory.index": "MemoryIndex",
            "adducir.indexes.retriever": "DenseRetriever LexicalRetriever QueryExpansion",
        },
    )
