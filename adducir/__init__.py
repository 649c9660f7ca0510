"""Adducir: information-retrieval experiments on evidence, from a corpus to a tested table."""

from typing import TYPE_CHECKING

from adducir.core import offering
from adducir.version import __version__

if TYPE_CHECKING:
    from adducir.core.errors import AdducirError
    from adducir.corpora.documents import Corpus, Document
    from adducir.corpora.qrels import Qrels, load_qrels
    from adducir.corpora.sources import open_corpus
    from adducir.corpora.topics import Topics, load_topics
    from adducir.evaluation.evaluator import Evaluator, evaluate
    from adducir.evaluation.scores import Scores
    from adducir.experiments.experiment import plan_experiment, run_experiment
    from adducir.indexes.building import IndexSettings
    from adducir.indexes.engines import build_index, open_index
    from adducir.indexes.feedback import RM3
    from adducir.indexes.index import Index
    from adducir.indexes.models import BM25, QLD
    from adducir.indexes.retriever import DenseRetriever, LexicalRetriever, QueryExpansion
    from adducir.runs.fusion import fuse
    from adducir.runs.read import read_run
    from adducir.runs.run import Run
    from adducir.runs.write import write_run
    from adducir.statistics.comparison import Comparison, compare
    from adducir.tables.build import build_table
    from adducir.tables.formats import render
    from adducir.tables.table import ResultTable

__all__ = [  # noqa: RUF022  (in the order in which data flow)
    "open_corpus",
    "Corpus",
    "Document",
    "load_topics",
    "Topics",
    "load_qrels",
    "Qrels",
    "build_index",
    "IndexSettings",
    "open_index",
    "Index",
    "BM25",
    "QLD",
    "RM3",
    "LexicalRetriever",
    "DenseRetriever",
    "QueryExpansion",
    "read_run",
    "write_run",
    "Run",
    "fuse",
    "evaluate",
    "Evaluator",
    "Scores",
    "compare",
    "Comparison",
    "build_table",
    "ResultTable",
    "render",
    "plan_experiment",
    "run_experiment",
    "AdducirError",
    "__version__",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(
        __name__,
        {
            "adducir.core.errors": "AdducirError",
            "adducir.corpora.documents": "Corpus Document",
            "adducir.corpora.qrels": "Qrels load_qrels",
            "adducir.corpora.sources": "open_corpus",
            "adducir.corpora.topics": "Topics load_topics",
            "adducir.evaluation.evaluator": "Evaluator evaluate",
            "adducir.evaluation.scores": "Scores",
            "adducir.experiments.experiment": "plan_experiment run_experiment",
            "adducir.indexes.engines": "build_index open_index",
            "adducir.indexes.feedback": "RM3",
            "adducir.indexes.index": "Index",
            "adducir.indexes.building": "IndexSettings",
            "adducir.indexes.models": "BM25 QLD",
            "adducir.indexes.retriever": "DenseRetriever LexicalRetriever QueryExpansion",
            "adducir.runs.fusion": "fuse",
            "adducir.runs.read": "read_run",
            "adducir.runs.run": "Run",
            "adducir.runs.write": "write_run",
            "adducir.statistics.comparison": "Comparison compare",
            "adducir.tables.build": "build_table",
            "adducir.tables.formats": "render",
            "adducir.tables.table": "ResultTable",
        },
    )
