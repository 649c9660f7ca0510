"""What finding quotations is about: the rules, quotations and the windows around them.

There are two ways to find quotations, each a :class:`Finder`: words in a row that both texts have
(:mod:`.shared_words`), and RELiC's alike sentences (:mod:`.alike_sentences`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from adducir.cli.command import option
from adducir.core.recipe import Recipe, needs
from adducir.studies.literary_evidence.sources import Source


class Rules(Recipe):
    """How windows are built; the two rules have numbers of their own where none is given."""

    rules: Literal["strict", "relic"] = option(
        "strict: words in a row; relic: alike sentences.", default="strict"
    )
    words: int = option(
        "Words of the book in a quotation; relic: of a sought sentence.", default=10, ge=1
    )
    context: int = option("Sentences of criticism on each side.", default=4, ge=1)
    max_sentences: int = option(
        "Sentences of a quotation, at most.", default=5, ge=1, le=5, rare=True
    )
    parts: Annotated[int | None, needs(rules="strict")] = option(
        "strict: windows of a longer one.", default=None, ge=1, shown="3", rare=True
    )
    min_matches: int = option(
        "Matches of a book that a work has, at least.", default=3, ge=1, rare=True
    )
    max_matches: int | None = option(
        "Matches of a book that a work has, at most.",
        default=None,
        ge=1,
        shown="half of its sentences; relic: 500",
        rare=True,
    )
    echo: Annotated[int | None, needs(rules="strict")] = option(
        "strict: words in a row that the context must not repeat.",
        default=None,
        ge=1,
        shown="8",
        rare=True,
    )
    min_similarity: Annotated[float | None, needs(rules="relic")] = option(
        "relic: QRatio that makes a match.", default=None, gt=0, le=100, shown="80", rare=True
    )
    run: Annotated[int | None, needs(rules="relic")] = option(
        "relic: characters in a row by which a block grows.", default=None, ge=1, shown="15"
    )


@dataclass(slots=True)
class Quotation:
    """Where a quotation stands in the criticism, and where in the book; ends exclusive.

    Attributes:
        first: First sentence of the criticism.
        last: Past the last sentence of the criticism.
        start: First sentence of the book.
        end: Past the last sentence of the book.
        book: The book's number.
        head: The character of its first sentence of criticism that the quotation begins at.
        tail: The character of the last one that it ends before; None: the sentence's end.
    """

    first: int
    last: int
    start: int
    end: int
    book: int
    head: int = 0
    tail: int | None = None


class Window(NamedTuple):
    """One quotation in its critical context.

    Attributes:
        book: Name of the primary source.
        start: First sentence of the quotation in the book.
        length: Sentences of the quotation, or of what of it is sought.
        work: Name of the work of criticism.
        place: The sentence of the criticism that the quotation began at.
        left: The critic's sentences before the quotation, the nearest last, which may be the
            beginning of the one that the quotation stands in.
        right: The critic's sentences after it; the first may be the rest of one.
        quoted: What stood in the criticism; the book's own sentences take its place.
    """

    book: str
    start: int
    length: int
    work: str
    place: int
    left: tuple[str, ...]
    right: tuple[str, ...]
    quoted: str

    @property
    def context(self) -> str:
        """Both sides as one text."""
        return " ".join((*self.left, *self.right))


class Found(NamedTuple):
    """What a work quotes.

    Attributes:
        quotations: In the order of the work.
        matches: Of each book, the sentences that the work quotes.
        shared: Of each book, the quotations left out because another book has them as well.
    """

    quotations: list[Quotation]
    matches: list[int]
    shared: list[int]


class Finder(ABC):
    """Finds the quotations of some books.

    Attributes:
        texts: The sentences of each book, normalised.
        sought: How many sentences of each book are sought.
    """

    sought: list[int]

    def __init__(self, books: Sequence[Source], rules: Rules) -> None:
        self.books, self.rules = books, rules
        self.texts = [[normalise(sentence) for sentence in book.sentences] for book in books]

    @abstractmethod
    def find(self, work: Source) -> Found:
        """The quotations of a work."""

    @abstractmethod
    def max_matches(self, book: Source) -> int:
        """Matches of a book from which on a work is another edition of it."""

    def windows(self, quotation: Quotation, work: Source) -> Iterator[Window]:
        """The one window of a quotation."""
        first, last, context = quotation.first, quotation.last, self.rules.context
        yield Window(
            self.books[quotation.book].name,
            quotation.start,
            quotation.end - quotation.start,
            work.name,
            first,
            tuple(work.sentences[max(0, first - context) : first]),
            tuple(work.sentences[last : last + context]),
            " ".join(work.sentences[first:last]),
        )


def normalise(text: str) -> str:
    """Lower case, letters and digits of any script, and one blank for all else between them.

    QRatio used to lower-case and to blank out punctuation by itself, when RELiC took it.
    """
    from rapidfuzz.utils import default_process

    return " ".join(default_process(text).split())
