"""Formats of corpora, one file each, and the family that knows them by name.

A format says which file names are its own and reads the documents of a file. Packages add formats
of their own by the entry-point group ``adducir.formats``.
"""

from adducir.core.registry import Family
from adducir.corpora.readers.format import CorpusFormat

_HERE = "adducir.corpora.readers"

FORMATS = Family(
    "formats",
    CorpusFormat,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {
        "jsonl": f"{_HERE}.jsonl:JSONL",
        "trec": f"{_HERE}.trec:TREC",
        "tsv": f"{_HERE}.tsv:TSV",
        "text": f"{_HERE}.text:PlainText",
        "cacm": f"{_HERE}.cacm:CACM",
    },
    what="corpus format",
)

__all__ = ["FORMATS", "CorpusFormat"]
