"""RELiC's data in memory: books, quotations, candidates; their files are in :mod:`.relic_files`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adducir.core.errors import UsageError
from adducir.corpora.spans import MaskedSpan

LENGTHS = (1, 2, 3, 4, 5)
"""Lengths in sentences that quotations and candidates have."""
HIDDEN = "[hidden]"
"""Stands for the quotation in spans made from the hidden test set."""


@dataclass(frozen=True, slots=True)
class RelicQuote:
    """A quotation's place in its book and the critic's sentences around it.

    Attributes:
        left: Sentences before it, the nearest last.
        start: Its first sentence in the book; None where it is hidden.
        length: Its sentences, 1 to 5.
        right: Sentences behind it.
    """

    left: list[str]
    start: int | None
    length: int
    right: list[str]


@dataclass(frozen=True, slots=True)
class RelicBook:
    """A book's sentences and the quotations of it, by their ids."""

    quotes: dict[str, RelicQuote]
    sentences: list[str]

    def passage(self, start: int, length: int) -> list[str]:
        """The ``length`` sentences from sentence ``start`` on.

        Raises:
            UsageError: The book has no such sentences.
        """
        if start not in candidate_starts(len(self.sentences), length):
            raise UsageError(f"there are no {length} sentences from sentence {start} on.")
        return self.sentences[start : start + length]


def candidate_starts(sentences: int, length: int) -> range:
    """The first sentences of all passages of ``length`` sentences in a book of ``sentences``.

    These are the candidates of a quotation of that length: a candidate's place is its number.

    Raises:
        UsageError: ``length`` is below 1.
    """
    if length < 1:
        raise UsageError(f"a passage has 1 sentence or more, not {length}.")
    return range(max(0, sentences - length + 1))


def spans_of_relic(
    books: Mapping[str, RelicBook], extra: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[MaskedSpan]:
    """Each quotation as a masked span whose group is its book.

    The candidate is ``BOOK/START+LENGTH``, white space in the title made ``_``. Of a hidden
    quotation there is no candidate, and the text is :data:`HIDDEN`, so many times as it has
    sentences.

    Args:
        extra: More to note of quotations, by their ids.
    """
    for title, book in books.items():
        for name, quote in book.quotes.items():
            known = {"start": quote.start, "length": quote.length, **(extra or {}).get(name, {})}
            hidden = quote.start is None
            span = (
                [HIDDEN] * quote.length
                if quote.start is None
                else book.passage(quote.start, quote.length)
            )
            place = None if hidden else docno_of(title, quote.start or 0, quote.length)
            yield MaskedSpan(
                name, title, tuple(quote.left), tuple(span), tuple(quote.right), place, known
            )


def docno_of(title: str, start: int, length: int) -> str:
    """The docno of a passage: ``emma/17+2``."""
    return f"{'_'.join(title.split())}/{start}+{length}"
