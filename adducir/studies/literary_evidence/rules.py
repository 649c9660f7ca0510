"""The numbers that the building of quotation windows depends on."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from adducir.core.errors import UsageError

NOT_CRITICISM = ("anthology", "cyclopaedia", "cyclopedia", "dictionary", "encyclop", "thesaurus")
"""Titles with such a word are no criticism. RELiC names dictionary, anthology and encyclopedia."""

STRICT, RELIC = "strict", "relic"
NAMES = (STRICT, RELIC)
"""``strict``: words in a row that both texts have; ``relic``: sentences that are alike."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How windows are built; where RELiC gives no value, the docstring says so.

    Attributes:
        name: ``strict`` or ``relic``; see docs/quotations.md.
        words: strict: words that the critic has of the book, at least. relic: a sentence of the
            book is sought if it has so many words (RELiC: tokens) or more.
        context: Sentences of criticism on each side of the quotation.
        max_sentences: relic: quotations of more sentences are dropped, since RELiC's candidates
            have 1 to 5. strict: a longer one gives several windows, each with so many of its
            sentences.
        parts: strict: the windows of one quotation, at most; what is longer still is a reprint, of
            which the first sentences stand for all.
        min_matches: A work with fewer matching sentences of a book is no criticism of it. RELiC
            sets its bounds by hand ("only once or twice").
        max_matches: A work with more matching sentences of a book is another edition of it. RELiC:
            "hundreds of matches". None: half of the book's sentences.
        echo: strict: the context ends before a sentence that repeats so many words of the
            quotation in a row. relic: a window is dropped where its context repeats so many
            characters in a row; not in RELiC.
        min_similarity: relic: the least QRatio of a match.
        run: relic: a block grows by a neighbour that shares so many characters in a row.
    """

    name: str = STRICT
    words: int = 10
    context: int = 4
    max_sentences: int = 5
    parts: int = 3
    min_matches: int = 3
    max_matches: int | None = None
    echo: int = 8
    min_similarity: float = 80.0
    run: int = 15

    def __post_init__(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            UsageError: There are no such rules, or a number is out of its range.
        """
        if self.name not in NAMES:
            raise UsageError(
                f"there are no rules {self.name!r}.", hint=f"Take {' or '.join(NAMES)}."
            )
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in ("name", "min_similarity") and value is not None and value < 1:
                raise UsageError(f"{field.name} must be 1 or more, not {value}.")
        if not 0 < self.min_similarity <= 100:
            raise UsageError(
                f"min_similarity must be above 0 and at most 100, not {self.min_similarity:g}."
            )
        if self.max_matches is not None and self.min_matches > self.max_matches:
            raise UsageError(
                f"min_matches ({self.min_matches}) is more than max_matches ({self.max_matches})."
            )


def rules_of(name: str, numbers: Mapping[str, int | float]) -> Rules:
    """The rules of a name with their own numbers, but for those that are given.

    Raises:
        UsageError: See :class:`Rules`.
    """
    own: dict[str, Any] = {"echo": 25, "max_matches": 500} if name == RELIC else {}
    return Rules(name=name, **{**own, **numbers})
