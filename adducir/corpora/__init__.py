"""Documents, topics and judgements: from ir_datasets, from local files, from the bundle."""

from adducir.core.lazy import offering

_HOMES = {
    "Corpus": "documents",
    "Document": "documents",
    "open_corpus": "sources",
    "refuse_duplicates": "documents",
    "text_of": "documents",
    "Topics": "topics",
    "load_topics": "topics",
    "Qrels": "qrels",
    "load_qrels": "qrels",
    "bundled_corpus": "bundled",
    "bundled_topics": "bundled",
    "bundled_qrels": "bundled",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
