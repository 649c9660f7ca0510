"""Finding quotations: rules, windows, and RELiC's method (Thai et al., appendix A).

RELiC's finder compares sentences by RapidFuzz's QRatio, 200 * LCS / (len(a) + len(b)). Matches that
are consecutive in the criticism and in the book form one block, which is extended by a neighbour
that shares 15 consecutive characters with the neighbour in the book.
"""

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, TypeVar

import numpy as np

from adducir.cli.command import option, optional
from adducir.core.recipe import Recipe, needs
from adducir.studies.literary_evidence.sources import Source

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
Run = TypeVar("Run", str, tuple[str, ...])
_ROWS = 128
"""Sentences of a book compared at a time with a work's sentences of suitable length."""


class Rules(Recipe):
    """How windows are built; defaults depend on the rules."""

    rules: Literal["strict", "relic"] = option(
        "strict: consecutive words; relic: similar sentences.", default="strict"
    )
    words: int = option(
        "Minimum words of the book in a quotation; relic: of a sentence to find.", default=10, ge=1
    )
    context: int = option("Sentences of criticism on each side.", default=4, ge=1)
    max_sentences: int = option(
        "Maximum sentences of a quotation.", default=5, ge=1, le=5, rare=True
    )
    parts: Annotated[int | None, needs(rules="strict")] = optional(
        "strict: windows per longer quotation.", ge=1, shown="3", rare=True
    )
    min_matches: int = option("Minimum matches of a book in a work.", default=3, ge=1, rare=True)
    max_matches: int | None = optional(
        "Maximum matches of a book in a work.",
        ge=1,
        shown="half of its sentences; relic: 500",
        rare=True,
    )
    echo: Annotated[int | None, needs(rules="strict")] = optional(
        "strict: consecutive words that the context must not repeat.", ge=1, shown="8", rare=True
    )
    min_similarity: Annotated[float | None, needs(rules="relic")] = optional(
        "relic: minimum QRatio of a match.", gt=0, le=100, shown="80", rare=True
    )
    run: Annotated[int | None, needs(rules="relic")] = optional(
        "relic: consecutive shared characters that extend a block.", ge=1, shown="15"
    )


@dataclass(slots=True)
class Quotation:
    """Sentences ``first`` to ``last`` of the criticism match ``start`` to ``end`` of the book."""

    first: int
    last: int  # exclusive, as ``end``
    start: int
    end: int
    book: int
    head: int = 0  # characters of the first sentence, and of the last
    tail: int | None = None


class Window(NamedTuple):
    """One quotation in its critical context: ``length`` sentences of the book from ``start``."""

    book: str
    start: int
    length: int
    work: str
    place: int  # the sentence of the criticism in which it starts
    left: tuple[str, ...]
    right: tuple[str, ...]
    quoted: str  # the quoted text

    @property
    def context(self) -> str:
        return " ".join((*self.left, *self.right))


class Found(NamedTuple):
    """A work's quotations; per book, how many sentences, and quotations dropped as shared."""

    quotations: list[Quotation]
    matches: list[int]
    shared: list[int]


class Finder(ABC):
    """Finds quotations from some books; ``sought`` is how many sentences of each it looks for."""

    sought: list[int]

    def __init__(self, books: Sequence[Source], rules: Rules) -> None:
        self.books, self.rules = books, rules
        self.texts = [[normalise(sentence) for sentence in book.sentences] for book in books]

    @abstractmethod
    def find(self, work: Source) -> Found:
        """The quotations of a work."""

    @abstractmethod
    def max_matches(self, book: Source) -> int:
        """The number of matches of a book that makes a work another edition of it."""

    def windows(self, quotation: Quotation, work: Source) -> Iterator[Window]:
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
    """Lower case, letters and digits, single spaces: as in QRatio when RELiC used it."""
    from rapidfuzz.utils import default_process

    return " ".join(default_process(text).split())


class Match(NamedTuple):
    """A sentence of a work is a sentence of a book."""

    place: int
    book: int
    sentence: int
    score: float


class AlikeSentences(Finder):
    def __init__(self, books: Sequence[Source], rules: Rules) -> None:
        super().__init__(books, rules)
        self._places = [
            [n for n, text in enumerate(book.sentences) if len(_WORD.findall(text)) >= rules.words]
            for book in books
        ]
        for places, texts in zip(self._places, self.texts, strict=True):
            places.sort(key=lambda place: len(texts[place]))
        self.sought = [len(places) for places in self._places]

    def max_matches(self, book: Source) -> int:
        """RELiC: "hundreds of matches"."""
        return self.rules.max_matches or 500

    def find(self, work: Source) -> Found:
        from rapidfuzz.fuzz import QRatio
        from rapidfuzz.process import cdist

        alike = self.rules.min_similarity or 80.0
        factor = 200 / alike - 1  # of two lengths that can be this similar
        texts = [normalise(sentence) for sentence in work.sentences]
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        lengths = [len(texts[place]) for place in order]
        matches: list[Match] = []
        for book, (sentences, places) in enumerate(zip(self.texts, self._places, strict=True)):
            for first in range(0, len(places), _ROWS):
                some = places[first : first + _ROWS]
                sought = [sentences[place] for place in some]
                low = bisect_left(lengths, len(sought[0]) / factor - 1)
                high = bisect_right(lengths, len(sought[-1]) * factor + 1)
                fitting = [texts[at] for at in order[low:high]]
                scores = cdist(sought, fitting, scorer=QRatio, score_cutoff=alike, workers=-1)
                matches += [
                    Match(order[low + at], book, some[row], float(scores[row, at]))
                    for row, at in np.argwhere(scores).tolist()
                ]
        kept = resolve(matches)
        counts = np.bincount([match.book for match in kept], minlength=len(self.books))
        return Found(self._blocks(kept, texts), counts.tolist(), [0] * len(self.books))

    def _blocks(self, matches: Sequence[Match], work: Sequence[str]) -> list[Quotation]:
        run, blocks = self.rules.run or 15, list[Quotation]()
        for number, match in enumerate(matches):
            last = blocks[-1] if blocks else Quotation(0, 0, 0, 0, -1)
            book = self.texts[match.book]
            block = Quotation(
                match.place, match.place + 1, match.sentence, match.sentence + 1, match.book
            )
            while last.last < block.first and block.start:
                if not share_run(work[block.first - 1], book[block.start - 1], run):
                    break
                block.first, block.start = block.first - 1, block.start - 1
            following = matches[number + 1].place if number + 1 < len(matches) else len(work)
            while block.last < following and block.end < len(book):
                if not share_run(work[block.last], book[block.end], run):
                    break
                block.last, block.end = block.last + 1, block.end + 1
            if (last.last, last.end, last.book) == (block.first, block.start, block.book):
                last.last, last.end = block.last, block.end
            else:
                blocks.append(block)
        return blocks


def resolve(matches: Sequence[Match]) -> list[Match]:
    """Assign each sentence of a work to the most similar one; in ties, where neighbours match."""
    places = {match[:3] for match in matches}

    def rank(match: Match) -> tuple[float, int, Match]:
        place, book, sentence, score = match
        near = {(place - 1, book, sentence - 1), (place + 1, book, sentence + 1)} & places
        return -score, -len(near), match

    best: dict[int, Match] = {}
    for match in sorted(matches, key=rank):
        best.setdefault(match.place, match)
    return [best[place] for place in sorted(best)]


def share_run(first: Run, second: Run, length: int) -> bool:
    """Whether two texts have so many consecutive characters in common, or as many words."""
    runs = {first[at : at + length] for at in range(len(first) - length + 1)}
    return any(second[at : at + length] in runs for at in range(len(second) - length + 1))
