"""Languages: how the texts of each become index terms, and the family that knows them by code.

Documents and queries go through Lucene's analyser of the language: its tokeniser, stop words and
stemmer. Packages add languages, or other analysers of one, by the entry-point group
``adducir.languages``.
"""

from adducir.core.registry import Family
from adducir.indexes.languages.language import AnalyserChain, Language
from adducir.indexes.languages.lucene import CODES

_HERE = "adducir.indexes.languages"

LANGUAGES = Family(
    "languages",
    Language,  # type: ignore[type-abstract]  # what its kinds extend, never made itself
    {"en": f"{_HERE}.english:English", **{code: f"{_HERE}.lucene:{code}" for code in CODES}},
    what="language",
)

__all__ = ["LANGUAGES", "AnalyserChain", "Language"]
