"""The family of corpus formats; packages add some through entry points ``adducir.formats``."""

from typing import TYPE_CHECKING

from adducir.core.registry import Family

if TYPE_CHECKING:
    from adducir.corpora.formats import CorpusFormat

_HERE = "adducir.corpora.formats"

FORMATS: "Family[CorpusFormat]" = Family(
    "formats",
    f"{_HERE}:CorpusFormat",
    {
        "jsonl": f"{_HERE}:JSONL",
        "trec": "adducir.corpora.trec:TREC",
        "tsv": f"{_HERE}:TSV",
        "table": f"{_HERE}:Table",
        "text": f"{_HERE}:WholeFile",
        "cacm": f"{_HERE}:CACM",
    },
    what="corpus format",
    synonyms={"csv": "table", "parquet": "table"},
)
