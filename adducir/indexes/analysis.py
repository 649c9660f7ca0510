"""Text to index terms, by the analyser of the text's language.

A query must go through the analysis of the index it is put to, so the manifest keeps the settings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from adducir.core.errors import UsageError
from adducir.core.files import read_lines
from adducir.corpora.sources import file_path
from adducir.indexes import jvm
from adducir.indexes.kinds import LANGUAGES
from adducir.indexes.languages import Language, StopWords


@dataclass(frozen=True)
class Analysis:
    """How text becomes terms.

    Attributes:
        stemmer: One of the language's stemmers: of English ``porter``, ``krovetz`` or ``none``.
            Empty for the language's default.
        stopwords: ``lucene`` (Lucene's list of the language), ``none``, or the words themselves.
        language: A language's code.
    """

    stemmer: str = ""
    stopwords: StopWords = "lucene"
    language: str = "en"

    def __post_init__(self) -> None:
        kind = LANGUAGES.kind(self.language)
        if self.stemmer and self.stemmer not in kind.stemmers:
            known = " or ".join(f"`{name}`" for name in kind.stemmers)
            raise UsageError(f"{kind.label} has no stemmer {self.stemmer!r}, but {known}.")
        if not kind.has_stopwords and not isinstance(self.stopwords, str):
            raise UsageError(
                f"Lucene's analyser of {kind.label} takes no stop words.",
                hint="Leave the stop words out.",
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
                hint="Give `lucene`, `none`, or a file with one stop word per line.",
            )
        words = {line.strip().lower() for _, line in read_lines(path)}
        return cls(stemmer, tuple(sorted(words - {""})), language)

    def settings(self) -> dict[str, Any]:
        """Plain values, for fingerprints and manifests; English goes without saying.

        Lucene 10 stems some languages otherwise than Lucene 9 (Estonian, Persian, Romanian).
        """
        words = self.stopwords if isinstance(self.stopwords, str) else list(self.stopwords)
        settings: dict[str, Any] = {"stemmer": self.stemmer, "stopwords": words}
        if self.language != "en":
            settings |= {"language": self.language, **LANGUAGES.origin(self.language)}
            if (lucene := jvm.lucene_version()) != 9:
                settings["lucene"] = lucene
        return settings

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> "Analysis":
        words = settings["stopwords"]
        stopwords = words if isinstance(words, str) else tuple(words)
        return cls(settings["stemmer"], stopwords, settings.get("language", "en"))

    @property
    def kind(self) -> type[Language]:
        return LANGUAGES.kind(self.language)

    @cached_property
    def java(self) -> Any:
        """The Java object that analyses queries and, in Lucene, documents."""
        analyser = LANGUAGES.make(self.language).analyser(self.stemmer, self.stopwords)
        return jvm.java_class("adducir.Analysis")(analyser)

    def in_bulk(self) -> Any:
        language = LANGUAGES.make(self.language)
        words, stemmer = language.in_parts(self.stemmer, self.stopwords)
        return jvm.java_class("adducir.BulkTokens")(words, stemmer, language.is_piecewise)

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in order, with repetitions."""
        joined: list[str] = self.java.terms(list(texts)) if texts else []
        return [terms.split("\n") if terms else [] for terms in joined]
