"""Text to index terms, as Anserini's DefaultEnglishAnalyzer does it.

Standard tokeniser (Unicode word breaks), possessive ``'s`` removed, lower case, stop words
removed, stemmed. A query must go through the analysis of the index it is put to, so the settings
are kept in the index's manifest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from adducir.indexes import jvm
from adducir.study.errors import UsageError
from adducir.study.files import read_lines

STEMMERS = ("porter", "krovetz", "none")


@dataclass(frozen=True)
class Analysis:
    """How text becomes terms.

    Attributes:
        stemmer: ``porter``, ``krovetz`` or ``none``.
        stopwords: ``lucene`` (Lucene's 33 English stop words), ``none``, or the words themselves.
    """

    stemmer: str = "porter"
    stopwords: str | tuple[str, ...] = "lucene"

    def __post_init__(self) -> None:
        if self.stemmer not in STEMMERS:
            raise UsageError(
                f"there is no stemmer {self.stemmer!r}.", mend=f"Choose of {', '.join(STEMMERS)}."
            )

    @classmethod
    def of(cls, stemmer: str = "porter", stopwords: str | Path = "lucene") -> "Analysis":
        """The analysis for ``stopwords`` given as ``lucene``, ``none`` or a file.

        Raises:
            InputError: The file cannot be read.
            UsageError: Neither a known name nor a file.
        """
        if stopwords in ("lucene", "none"):
            return cls(stemmer, str(stopwords))
        path = Path(stopwords)
        if not path.is_file():
            raise UsageError(
                f"{str(stopwords)!r} is no stop list.",
                mend="Give 'lucene', 'none', or a file with one stop word a line.",
            )
        words = {line.strip().lower() for _, line in read_lines(path)}
        return cls(stemmer, tuple(sorted(words - {""})))

    def settings(self) -> dict[str, Any]:
        """Plain values, for fingerprints and manifests."""
        words = self.stopwords if isinstance(self.stopwords, str) else list(self.stopwords)
        return {"stemmer": self.stemmer, "stopwords": words}

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> "Analysis":
        """The analysis that :meth:`settings` describes."""
        words = settings["stopwords"]
        return cls(settings["stemmer"], words if isinstance(words, str) else tuple(words))

    @cached_property
    def java(self) -> Any:
        """The Java object that analyses queries and, in Lucene, documents."""
        return self.java_object(jvm.java_class("adducir.Analysis"))

    def java_object(self, bridge: Any) -> Any:
        """A new object of a class of the bridge whose constructor takes these settings."""
        if isinstance(self.stopwords, str):
            return bridge(self.stemmer, self.stopwords == "none", None)
        # Anserini reads stop words from a file, at once.
        with jvm.temporary_text("\n".join(self.stopwords)) as path:
            return bridge(self.stemmer, False, str(path))

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """The terms of each text, in order, with repetitions."""
        joined: list[str] = self.java.terms(list(texts)) if texts else []
        return [terms.split(" ") if terms else [] for terms in joined]
