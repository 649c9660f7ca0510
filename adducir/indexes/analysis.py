"""From text to index terms, with the analyser of the text's language.

Documents and queries go through Lucene's analyser of the language, the same that Anserini and
Pyserini use, or for English through :mod:`adducir.indexes.text`, which equals it and does not need
Java. Lucene has none for Hausa, Somali, Swahili and Yoruba, whose text is split at blanks,
as Anserini does for Mr. TyDi and CIRAL. Queries must be analysed like the index that they search,
so the manifest records the settings.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from adducir.core.errors import MachineError, UsageError, worded
from adducir.core.files import read_lines
from adducir.core.recipe import Recipe
from adducir.core.texts import refused
from adducir.corpora.documents import LARGEST_WEIGHT
from adducir.corpora.sources import file_path
from adducir.indexes import jvm
from adducir.indexes.kinds import LANGUAGES

if TYPE_CHECKING:
    from adducir.indexes.text.analysers import TextAnalyser

StopWords = str | tuple[str, ...]
"""``lucene`` (Lucene's list for the language), ``none``, or the words themselves."""


@dataclass(frozen=True)
class Analysis:
    """How text becomes terms."""

    stemmer: str = ""  # for English porter, krovetz or none; empty for the language's default
    stopwords: StopWords = "lucene"
    language: str = "en"  # its code
    by_lucene: bool = field(default=False, compare=False)  # as Lucene's own indexes need

    def __post_init__(self) -> None:
        kind = LANGUAGES.kind(self.language)
        if self.stemmer and self.stemmer not in kind.stemmers:
            stemmers = " or ".join(f"`{name}`" for name in kind.stemmers)
            raise UsageError(
                f"{kind.label} does not have the stemmer {self.stemmer!r}; choose {stemmers}."
            )
        if not kind.has_stopwords and not isinstance(self.stopwords, str):
            raise UsageError(
                f"Lucene's analyser of {kind.label} does not support stop words.",
                hint=f"Omit {worded('stopwords')}.",
            )
        object.__setattr__(self, "stemmer", self.stemmer or kind.stemmers[0])

    @classmethod
    def of(
        cls,
        stemmer: str = "",
        stopwords: str | Path = "lucene",
        language: str = "en",
        folder: Path = Path(),
    ) -> "Analysis":
        if stopwords in ("lucene", "none"):
            return cls(stemmer, str(stopwords), language)
        path = file_path(str(stopwords), folder)
        if not path.is_file():
            raise UsageError(
                f"{str(stopwords)!r} is not a stop list.",
                hint=f"Give {worded('stopwords', 'lucene')}, {worded('stopwords', 'none')}, or a "
                "file with one stop word per line.",
            )
        words = {line.strip().lower() for _, line in read_lines(path)}
        return cls(stemmer, tuple(sorted(words - {""})), language)

    def settings(self) -> dict[str, Any]:
        """Plain values, for fingerprints and manifests; English is left out.

        Lucene 10 analyses Estonian, Persian, Romanian and Swedish differently from Lucene 9.
        """
        words = self.stopwords if isinstance(self.stopwords, str) else list(self.stopwords)
        settings: dict[str, Any] = {"stemmer": self.stemmer, "stopwords": words}
        if self.language != "en":
            settings |= {"language": self.language, **LANGUAGES.origin(self.language)}
            if self.own is None and (lucene := jvm.lucene_version()) != 9:
                settings["lucene"] = lucene
        return settings

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> "Analysis":
        words = settings["stopwords"]
        stopwords = words if isinstance(words, str) else tuple(words)
        return cls(settings["stemmer"], stopwords, settings.get("language", "en"))

    @property
    def kind(self) -> "type[Language]":
        return LANGUAGES.kind(self.language)

    @cached_property
    def java(self) -> Any:
        """The Java object that analyses texts."""
        analyser = LANGUAGES.make(self.language).analyser(self.stemmer, self.stopwords)
        return jvm.java_class("adducir.Analysis")(analyser)

    @cached_property
    def own(self) -> "TextAnalyser | None":
        """Our analyser, which equals Lucene's, where there is one."""
        if self.by_lucene:
            return None
        return LANGUAGES.make(self.language).own(self.stemmer, self.stopwords)

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in order, with repetitions."""
        if self.own is not None:
            return self.own.terms(texts)
        joined: list[str] = self.java.terms(list(texts)) if texts else []
        return [terms.split("\n") if terms else [] for terms in joined]


class Language(Recipe):
    """How a language's text becomes terms."""

    label: ClassVar[str]
    stemmers: ClassVar[tuple[str, ...]] = ("lucene",)  # the default first
    has_stopwords: ClassVar[bool] = True  # whether its analyser accepts stop words
    # Whether a text's pieces between blanks can be analysed independently, which is faster. Bigrams
    # across blanks, phrase dictionaries and the like forbid it.
    is_piecewise: ClassVar[bool] = False
    is_pretokenized: ClassVar[bool] = False  # whether texts are already terms separated by blanks
    has_plain_feedback: ClassVar[bool] = False  # whether RM3 uses only terms of [a-z0-9]

    @abstractmethod
    def analyser(self, stemmer: str, stopwords: StopWords) -> Any:
        """A new Java object that extends Lucene's ``Analyzer``."""

    def own(self, stemmer: str, stopwords: StopWords) -> "TextAnalyser | None":
        """An analyser that equals Lucene's and does not need Java, if there is one."""
        del stemmer, stopwords
        return None

    def in_parts(self, stemmer: str, stopwords: StopWords) -> tuple[Any, str]:
        """An analyser, and what to stem each of its words with: ``porter``, ``krovetz``, ``none``.

        Only for speed: the indexer stems each distinct word once.
        """
        return self.analyser(stemmer, stopwords), "none"


def made(label: str, method: str, *arguments: Any) -> Any:
    make = getattr(jvm.java_class("adducir.Analyzers"), method)
    try:
        return make(*arguments)
    except Exception as error:
        if type(error).__name__ != "JavaException":
            raise
        raise MachineError(
            f"{label} cannot be analysed here: {jvm.message_of(error).splitlines()[0]}.",
            hint="If a part of Java is missing, set ADDUCIR_JAVA_HOME to a complete one (a JDK).",
        ) from error


class English(Language):
    """English, as in Anserini.

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
        with TemporaryDirectory(prefix="adducir-") as folder:  # Anserini reads the file immediately
            path = Path(folder) / "stopwords.txt"
            path.write_text("\n".join(stopwords), encoding="utf-8")
            return make(stemmer, False, str(path))

    def own(self, stemmer: str, stopwords: StopWords) -> "TextAnalyser | None":
        from adducir.indexes.text.analysers import STOPWORDS, EnglishAnalyser

        if stemmer == "krovetz":
            return None
        if isinstance(stopwords, str):
            stopwords = STOPWORDS if stopwords == "lucene" else ()
        return EnglishAnalyser(stems=stemmer == "porter", stopwords=stopwords)

    def in_parts(self, stemmer: str, stopwords: StopWords) -> tuple[Any, str]:
        return self.analyser("none", stopwords), stemmer


def words_of(query: str | Mapping[str, float]) -> Iterable[str]:
    if not isinstance(query, str | Mapping):
        raise refused(query, "a query", "a text, or words with weights")
    return (query,) if isinstance(query, str) else query


def refuse_unless_weights(query: Mapping[str, float]) -> None:
    weights = query.values()
    try:  # several times as fast as a loop; only a sum shows every "not a number"
        is_right = not query or (min(weights) >= 0 and max(weights) <= LARGEST_WEIGHT)
        is_right = is_right and sum(weights) >= 0
    except TypeError:  # some are not even numbers
        is_right = False
    if not is_right:
        raise UsageError(f"the weights of a query must be 0 to {LARGEST_WEIGHT}: {dict(query)}.")


def counted_terms(
    analysis: Analysis, queries: Sequence[str | Mapping[str, float]]
) -> list[Counter[str]]:
    """Terms with their frequencies in each text, or the sums of their words' weights."""
    terms = iter(analysis.terms([word for query in queries for word in words_of(query)]))
    counted = list[Counter[str]]()
    for query in queries:
        counted.append(Counter())
        for weight in (1,) if isinstance(query, str) else query.values():
            for term in next(terms):
                counted[-1][term] += weight  # type: ignore[assignment]
    return counted
