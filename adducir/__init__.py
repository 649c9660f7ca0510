"""Adducir: information-retrieval experiments on evidence, from a corpus to a tested table."""

from typing import TYPE_CHECKING

from adducir.core import offering
from adducir.version import __version__ as __version__

if TYPE_CHECKING:
    from adducir.api import (
        build_index,
        compare,
        evaluate,
        experiment,
        fuse,
        rerank,
        search,
        write_run,
    )
    from adducir.core.errors import AdducirError
    from adducir.corpora.qrels import Qrels, load_qrels
    from adducir.corpora.sources import open_corpus
    from adducir.corpora.topics import Topics, load_topics
    from adducir.evaluation.scores import Scores
    from adducir.indexes.dense_settings import DenseSettings
    from adducir.indexes.engines import open_index
    from adducir.indexes.feedback import RM3
    from adducir.indexes.index import Index
    from adducir.indexes.models import BM25, QLD
    from adducir.indexes.retriever import DenseRetriever, LexicalRetriever, QueryExpansion
    from adducir.indexes.settings import LuceneSettings, MemorySettings, TokenWeightSettings
    from adducir.runs.read import load_run
    from adducir.runs.run import Run
    from adducir.statistics.comparison import Comparison
    from adducir.tables.build import build_table
    from adducir.tables.table import ResultTable

__all__ = [  # noqa: RUF022  (in the order in which data flow)
    "open_corpus",
    "load_topics",
    "Topics",
    "load_qrels",
    "Qrels",
    "build_index",
    "LuceneSettings",
    "MemorySettings",
    "TokenWeightSettings",
    "DenseSettings",
    "open_index",
    "Index",
    "search",
    "BM25",
    "QLD",
    "RM3",
    "LexicalRetriever",
    "DenseRetriever",
    "QueryExpansion",
    "rerank",
    "load_run",
    "write_run",
    "Run",
    "fuse",
    "evaluate",
    "Scores",
    "compare",
    "Comparison",
    "build_table",
    "ResultTable",
    "experiment",
    "AdducirError",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(
        __name__,
        {
            "adducir.api": "build_index compare evaluate experiment fuse rerank search write_run",
            "adducir.core.errors": "AdducirError",
            "adducir.corpora.qrels": "Qrels load_qrels",
            "adducir.corpora.sources": "open_corpus",
            "adducir.corpora.topics": "Topics load_topics",
            "adducir.evaluation.scores": "Scores",
            "adducir.indexes.dense_settings": "DenseSettings",
            "adducir.indexes.engines": "open_index",
            "adducir.indexes.feedback": "RM3",
            "adducir.indexes.index": "Index",
            "adducir.indexes.models": "BM25 QLD",
            "adducir.indexes.retriever": "DenseRetriever LexicalRetriever QueryExpansion",
            "adducir.indexes.settings": "LuceneSettings MemorySettings TokenWeightSettings",
            "adducir.runs.read": "load_run",
            "adducir.runs.run": "Run",
            "adducir.statistics.comparison": "Comparison",
            "adducir.tables.build": "build_table",
            "adducir.tables.table": "ResultTable",
        },
    )
