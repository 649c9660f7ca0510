"""Languages: how the texts of each become index terms; English.

Documents and queries go through Lucene's analyser of the language, the one that Anserini and
Pyserini take where they know it. Hausa, Somali, Swahili and Yoruba have none: words between blanks
are taken as they are, as Anserini does for Mr. TyDi and CIRAL.
"""

from abc import abstractmethod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from adducir.core.errors import MachineError
from adducir.core.recipe import Recipe
from adducir.indexes import jvm

PRETOKENIZED = "pretokenized"
"""The code of texts that come as ready terms between blanks, Anserini's ``-pretokenized``."""
StopWords = str | tuple[str, ...]
"""``lucene`` (the list that Lucene has for the language), ``none``, or the words themselves."""


class Language(Recipe):
    """How a language's text becomes terms.

    Attributes:
        stemmers: The names of its stemmers, the default first.
        has_stopwords: Whether its analyser can be given stop words.
        is_piecewise: Whether a text's terms are those of its pieces between blanks, each analysed
            by itself; indexing is then faster. Bigrams over blanks, dictionaries of phrases and
            the like forbid it.
        is_pretokenized: Whether texts come as ready terms between blanks.
        has_plain_feedback: Whether RM3 takes terms of ``[a-z0-9]`` only, Anserini's filter for
            English.
    """

    label: ClassVar[str]
    stemmers: ClassVar[tuple[str, ...]] = ("lucene",)
    has_stopwords: ClassVar[bool] = True
    is_piecewise: ClassVar[bool] = False
    is_pretokenized: ClassVar[bool] = False
    has_plain_feedback: ClassVar[bool] = False

    @abstractmethod
    def analyser(self, stemmer: str, stopwords: StopWords) -> Any:
        """A new Java object that extends Lucene's ``Analyzer``."""

    def in_parts(self, stemmer: str, stopwords: StopWords) -> tuple[Any, str]:
        """An analyser, and what to stem each of its words with: ``porter``, ``krovetz``, ``none``.

        Only for speed: a language whose stemmer sees one word at a time and that is one of these
        may leave stemming to the indexer, which does each distinct word once.
        """
        return self.analyser(stemmer, stopwords), "none"


class AnalyserChain(Language):
    """A language analysed by parts of Lucene: a tokeniser and filters, which see one word each.

    Attributes:
        parts: The tokeniser and the filters by the names that Lucene registers, each perhaps with
            settings: ``"snowballPorter language=German2"``.
    """

    parts: ClassVar[tuple[str, ...]]
    has_stopwords: ClassVar[bool] = False

    def analyser(self, stemmer: str, stopwords: StopWords) -> Any:
        del stemmer, stopwords
        return made(self.label, "chain", list(self.parts))


def made(label: str, method: str, *arguments: Any) -> Any:
    make = getattr(jvm.java_class("adducir.Analyzers"), method)
    try:
        return make(*arguments)
    except jvm.java_exception() as error:
        raise MachineError(
            f"{label} cannot be analysed here: {jvm.message_of(error).splitlines()[0]}.",
            hint="If a part of Java is missing, set ADDUCIR_JAVA_HOME to a complete one (a JDK).",
        ) from error


class English(Language):
    """English, as Anserini analyses it.

    Standard tokeniser (Unicode word breaks), possessive ``'s`` removed, lower case, stop words
    removed (Lucene's 33), stemmed by Porter's or Krovetz's rules. Lucene's own EnglishAnalyzer does
    the same with Porter's.
    """

    label: ClassVar[str] = "English"
    stemmers: ClassVar[tuple[str, ...]] = ("porter", "krovetz", "none")
    is_piecewise: ClassVar[bool] = True
    has_plain_feedback: ClassVar[bool] = True

    def analyser(self, stemmer: str, stopwords: StopWords) -> Any:
        make = jvm.java_class("io.anserini.analysis.DefaultEnglishAnalyzer").fromArguments
        if isinstance(stopwords, str):
            return make(stemmer, stopwords == "none", None)
        with TemporaryDirectory(prefix="adducir-") as folder:  # Anserini reads a file, at once
            path = Path(folder) / "stopwords.txt"
            path.write_text("\n".join(stopwords), encoding="utf-8")
            return make(stemmer, False, str(path))

    def in_parts(self, stemmer: str, stopwords: StopWords) -> tuple[Any, str]:
        return self.analyser("none", stopwords), stemmer
