"""Text to index terms, by the analyser of the text's language.

A query must go through the analysis of the index it is put to, so the settings are kept in the
index's manifest, and are read from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, model_validator

from adducir.core.errors import InputError, UsageError
from adducir.core.files import read_lines
from adducir.core.recipe import Recipe, errors_at
from adducir.corpora.references import file_path
from adducir.indexes import jvm
from adducir.indexes.languages import LANGUAGES, Language, StopWords


def _known(code: str) -> str:
    try:
        LANGUAGES.kind(code)
    except UsageError as error:
        raise ValueError(error.what.rstrip(".")) from error
    return code


class AnalysisRecipe(Recipe):
    """The keys of a recipe that say how text becomes terms.

    ``stopwords`` is ``lucene``, ``none`` or a file; the stemmer is by default the language's own.
    """

    language: Annotated[str, AfterValidator(_known)] = "en"
    stemmer: str = ""
    stopwords: str = "lucene"

    @model_validator(mode="after")
    def _of_the_language(self) -> Self:
        kind = LANGUAGES.kind(self.language)
        if self.stemmer and self.stemmer not in kind.stemmers:
            raise errors_at((("stemmer",), _no_stemmer(kind, self.stemmer)))
        return self

    def analysis(self, folder: Path) -> "Analysis":
        """The analysis that the keys describe; ``folder`` is where relative paths start.

        Raises:
            InputError: There is no such stop list, or it cannot be read.
            UsageError: The language takes no stop words.
        """
        if self.stopwords in ("lucene", "none"):
            return Analysis.of(self.stemmer, self.stopwords, self.language)
        path = file_path(self.stopwords, folder)
        if not path.is_file():
            raise InputError(
                f"{self.stopwords!r} is no stop list.",
                hint="Give `lucene`, `none`, or a file with one stop word a line.",
            )
        return Analysis.of(self.stemmer, path, self.language)


def _no_stemmer(kind: type[Language], stemmer: str) -> str:
    known = " or ".join(f"`{name}`" for name in kind.stemmers)
    return f"{kind.label} has no stemmer {stemmer!r}, but {known}"


@dataclass(frozen=True)
class Analysis:
    """How text becomes terms.

    Attributes:
        stemmer: One of the language's stemmers: of English ``porter``, ``krovetz`` or ``none``.
            Empty for the language's default.
        stopwords: ``lucene`` (Lucene's list of the language), ``none``, or the words themselves.
        language: A language's code.

    Raises:
        UsageError: There is no such language, or it has no such stemmer or no stop words.
    """

    stemmer: str = ""
    stopwords: StopWords = "lucene"
    language: str = "en"

    def __post_init__(self) -> None:
        kind = LANGUAGES.kind(self.language)
        stemmer = self.stemmer or kind.stemmers[0]
        if stemmer not in kind.stemmers:
            raise UsageError(f"{_no_stemmer(kind, stemmer)}.")
        if not kind.has_stopwords and not isinstance(self.stopwords, str):
            raise UsageError(
                f"Lucene's analyser of {kind.label} takes no stop words.",
                hint="Leave the stop words out.",
            )
        object.__setattr__(self, "stemmer", stemmer)

    @classmethod
    def of(
        cls, stemmer: str = "", stopwords: str | Path = "lucene", language: str = "en"
    ) -> "Analysis":
        """The analysis for ``stopwords`` given as ``lucene``, ``none`` or a file.

        Raises:
            InputError: The file cannot be read.
            UsageError: Neither a known name nor a file; no such language or stemmer.
        """
        if stopwords in ("lucene", "none"):
            return cls(stemmer, str(stopwords), language)
        path = Path(stopwords)
        if not path.is_file():
            raise UsageError(
                f"{str(stopwords)!r} is no stop list.",
                hint="Give 'lucene', 'none', or a file with one stop word a line.",
            )
        words = {line.strip().lower() for _, line in read_lines(path)}
        return cls(stemmer, tuple(sorted(words - {""})), language)

    def settings(self) -> dict[str, Any]:
        """Plain values, for fingerprints and manifests; English goes without saying."""
        words = self.stopwords if isinstance(self.stopwords, str) else list(self.stopwords)
        settings: dict[str, Any] = {"stemmer": self.stemmer, "stopwords": words}
        if self.language != "en":
            settings |= {"language": self.language, **LANGUAGES.origin(self.language)}
        return settings

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> "Analysis":
        """The analysis that :meth:`settings` describes."""
        words = settings["stopwords"]
        return cls(
            settings["stemmer"],
            words if isinstance(words, str) else tuple(words),
            settings.get("language", "en"),
        )

    @property
    def has_plain_feedback(self) -> bool:
        """Whether RM3 takes terms of ``[a-z0-9]`` only."""
        return LANGUAGES.kind(self.language).has_plain_feedback

    @property
    def is_pretokenized(self) -> bool:
        """Whether texts come as ready terms between blanks."""
        return LANGUAGES.kind(self.language).is_pretokenized

    @property
    def _language(self) -> Language:
        return LANGUAGES.make(self.language)

    @cached_property
    def java(self) -> Any:
        """The Java object that analyses queries and, in Lucene, documents."""
        analyser = self._language.analyser(self.stemmer, self.stopwords)
        return jvm.java_class("adducir.Analysis")(analyser)

    def in_bulk(self) -> Any:
        """A new Java object that turns blocks of texts into numbered terms."""
        language = self._language
        words, stemmer = language.in_parts(self.stemmer, self.stopwords)
        return jvm.java_class("adducir.BulkTokens")(words, stemmer, language.is_piecewise)

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in order, with repetitions."""
        joined: list[str] = self.java.terms(list(texts)) if texts else []
        return [terms.split("\n") if terms else [] for terms in joined]
