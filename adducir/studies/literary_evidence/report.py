"""What became of the quotations: counts for each book and each reason of dropping."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

REASONS = {
    "anthology": "the work's title says that it is no criticism",
    "foreign": "the work is not English",
    "few": "the work has too few matches of the book",
    "many": "the work has so many matches that it is another edition",
    "shared": "another book has the same words",
    "long": "the quotation has too many sentences",
    "bare": "there is no context",
    "language": "the context is not English",
    "echo": "the context repeats the quotation",
    "duplicate": "the same window comes from another copy of the work",
}
"""Why a quotation is dropped. The first four drop all that a work quotes of a book."""


@dataclass(slots=True)
class BookReport:
    """The counts of one book.

    Attributes:
        name: The book.
        sentences: Its sentences.
        sought: Those with words enough to be sought.
        matches: Matching sentences, in works that were kept or dropped.
        quotations: Blocks they were joined to.
        windows: Quotations kept.
        works: Windows of each work.
        dropped: Quotations dropped for each of :data:`REASONS`; for the first two, none are
            counted, since such works are not searched.
        lengths: Windows of each number of quoted sentences.
    """

    name: str
    sentences: int = 0
    sought: int = 0
    matches: int = 0
    quotations: int = 0
    windows: int = 0
    works: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)


@dataclass(slots=True)
class Report:
    """The counts of a whole construction.

    Attributes:
        books: One report a book.
        works: Sentences of each work that was searched.
        artefacts: Page lines, citations and note marks taken out of each work.
        refused: Works that were not searched, and why.
    """

    books: list[BookReport]
    works: dict[str, int] = field(default_factory=dict)
    artefacts: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def windows(self) -> int:
        """Windows of all books."""
        return sum(book.windows for book in self.books)

    def dropped(self) -> Counter[str]:
        """Quotations dropped for each reason, over all books."""
        return sum((book.dropped for book in self.books), Counter[str]())


def as_rows(books: Iterable[BookReport]) -> list[list[str]]:
    """A table of the books: a head, a row for each, and their sum; all as text."""
    head = ["book", "sentences", "sought", "matches", "quotations", "windows", "works"]
    shown = list(books)
    used = [reason for reason in REASONS if any(book.dropped[reason] for book in shown)]
    rows = [[*head, *used]]
    sums = [0] * (len(rows[0]) - 1)
    for book in shown:
        numbers = [book.sentences, book.sought, book.matches, book.quotations, book.windows]
        numbers += [len(book.works), *(book.dropped[reason] for reason in used)]
        sums = [total + number for total, number in zip(sums, numbers, strict=True)]
        rows.append([book.name, *map(str, numbers)])
    # A work may quote several books, so that works do not add up.
    sums[len(head) - 2] = len({work for book in shown for work in book.works})
    return [*rows, ["all", *map(str, sums)]]
