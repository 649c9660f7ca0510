"""Documents, topics and judgements: from ir_datasets, from local files, from the bundle."""

from importlib import import_module
from typing import Any

_HOMES = {
    "Corpus": "documents",
    "Document": "documents",
    "open_corpus": "documents",
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


def __getattr__(name: str) -> Any:
    """Import what is asked for, and nothing before."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
