"""Documents, topics and judgements: from ir_datasets, from local files, from the bundle."""

from typing import TYPE_CHECKING

from adducir.core import offering

if TYPE_CHECKING:
    from adducir.corpora.documents import Corpus, Document, refuse_duplicates, text_of
    from adducir.corpora.qrels import Qrels, load_qrels
    from adducir.corpora.sources import open_corpus
    from adducir.corpora.topics import Topics, load_topics

__all__ = [
    "Corpus",
    "Document",
    "Qrels",
    "Topics",
    "load_qrels",
    "load_topics",
    "open_corpus",
    "refuse_duplicates",
    "text_of",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = offering(
        __name__,
        {
            "adducir.corpora.documents": "Corpus Document refuse_duplicates text_of",
            "adducir.corpora.qrels": "Qrels load_qrels",
            "adducir.corpora.sources": "open_corpus",
            "adducir.corpora.topics": "Topics load_topics",
        },
    )
