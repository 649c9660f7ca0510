"""Measures of generated texts: against answers, against passages, KILT's and MS MARCO's."""

from adducir.core.lazy import offering

_HOMES = {
    "Answers": "answers",
    "Generated": "texts",
    "Grounding": "grounding",
    "Kilt": "kilt",
    "Knowledge": "answers",
    "MsMarco": "msmarco",
    "Output": "texts",
    "Reference": "texts",
    "common_words": "words",
    "f1": "overlap",
    "novel_f1": "overlap",
    "read_generated": "files",
    "read_references": "files",
    "sharpness": "sharpness",
}

__getattr__ = offering(__name__, _HOMES)


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return sorted(_HOMES)
