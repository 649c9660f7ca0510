"""Indexes of two engines, Lucene and memory: build, search and expand queries.

The names below are loaded when they are first used, because PyTerrier takes most of a second.
"""

from typing import TYPE_CHECKING

from adducir.core import offering

if TYPE_CHECKING:
    from adducir.indexes.candidates import CandidateSet
    from adducir.indexes.dense.retriever import DenseRetriever
    from adducir.indexes.documents import DocumentStore
    from adducir.indexes.engine import open_index
    from adducir.indexes.index import Index
    from adducir.indexes.lucene import LuceneIndex
    from adducir.indexes.lucene_builder import IndexSettings, build_index
    from adducir.indexes.memory.builder import build_memory_index
    from adducir.indexes.memory.index import MemoryIndex
    from adducir.indexes.retriever import LexicalRetriever, QueryExpansion

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
            "adducir.indexes.dense.retriever": "DenseRetriever",
            "adducir.indexes.documents": "DocumentStore",
            "adducir.indexes.engine": "open_index",
            "adducir.indexes.index": "Index",
            "adducir.indexes.lucene": "LuceneIndex",
            "adducir.indexes.lucene_builder": "IndexSettings build_index",
            "adducir.indexes.memory.builder": "build_memory_index",
            "adducir.indexes.memory.index": "MemoryIndex",
            "adducir.indexes.retriever": "LexicalRetriever QueryExpansion",
        },
    )
