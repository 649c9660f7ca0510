"""English, as Anserini's DefaultEnglishAnalyzer analyses it.

Standard tokeniser (Unicode word breaks), possessive ``'s`` removed, lower case, stop words removed
(Lucene's 33), stemmed by Porter's or Krovetz's rules. Lucene's own EnglishAnalyzer does the same
with Porter's.
"""

from typing import Any, ClassVar

from adducir.indexes import jvm
from adducir.indexes.languages.language import Language, StopWords


class English(Language):
    """English, as Anserini analyses it."""

    label: ClassVar[str] = "English"
    stemmers: ClassVar[tuple[str, ...]] = ("porter", "krovetz", "none")
    is_piecewise: ClassVar[bool] = True
    has_plain_feedback: ClassVar[bool] = True

    def analyser(self, stemmer: str, stopwords: StopWords) -> Any:
        make = jvm.java_class("io.anserini.analysis.DefaultEnglishAnalyzer").fromArguments
        if isinstance(stopwords, str):
            return make(stemmer, stopwords == "none", None)
        # Anserini reads stop words from a file, at once.
        with jvm.temporary_text("\n".join(stopwords)) as path:
            return make(stemmer, False, str(path))

    def in_parts(self, stemmer: str, stopwords: StopWords) -> tuple[Any, str]:
        return self.analyser("none", stopwords), stemmer
