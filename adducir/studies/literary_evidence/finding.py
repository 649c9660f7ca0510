"""The two ways to find quotations: words in a row, and RELiC's alike sentences."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from adducir.studies.literary_evidence.blocks import Block, grow_blocks, join_matches
from adducir.studies.literary_evidence.matching import find_matches, present, resolve, seek
from adducir.studies.literary_evidence.rules import Rules
from adducir.studies.literary_evidence.sources import Source


class Found(NamedTuple):
    """What a work quotes.

    Attributes:
        blocks: The quotations, in the order of the work.
        matches: Of each book, the sentences that the work quotes.
        shared: Of each book, the quotations left out because another book has them as well.
    """

    blocks: list[Block]
    matches: list[int]
    shared: list[int]


class Finder(Protocol):
    """Finds the quotations of books that it was made for.

    Attributes:
        texts: The sentences of each book, normalised.
        sought: How many sentences of each book are sought.
    """

    texts: list[list[str]]
    sought: list[int]

    def find(self, work: Source) -> Found:
        """The quotations of a work."""


class SimilarSentences:
    """RELiC's way: sentences by QRatio, joined to blocks, which grow."""

    def __init__(self, books: Sequence[Source], rules: Rules) -> None:
        self._rules = rules
        self._books = [seek(book.sentences, rules.words) for book in books]
        self.texts = [book.texts for book in self._books]
        self.sought = [len(book.places) for book in self._books]

    def find(self, work: Source) -> Found:
        """The quotations of a work."""
        prepared = present(work.sentences)
        found = [
            match
            for number, book in enumerate(self._books)
            for match in find_matches(number, book, prepared, self._rules.min_similarity)
        ]
        matches = resolve(found)
        blocks = grow_blocks(join_matches(matches), prepared.texts, self.texts, self._rules)
        counts = [0] * len(self._books)
        for match in matches:
            counts[match.book] += 1
        return Found(blocks, counts, [0] * len(self._books))
