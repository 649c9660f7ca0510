"""Quotations by words in a row (:mod:`.alignment`), whatever sentences they stand in."""

import re
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from adducir.studies.literary_evidence.alignment import (
    Run,
    Seeds,
    Vocabulary,
    Words,
    chains_of,
    matched,
    seeds_of,
    shared_runs,
    span_of,
)
from adducir.studies.literary_evidence.blocks import Block
from adducir.studies.literary_evidence.finding import Found
from adducir.studies.literary_evidence.rules import Rules
from adducir.studies.literary_evidence.similarity import normalised
from adducir.studies.literary_evidence.sources import Source

LONGEST_RUN = 8
"""One run of a quotation has so many words: without, it is a retelling."""
UNMARKED_RUN = 20
"""So many words in a row are a quotation though no quotation mark stands there."""
DENSE = 0.7
"""The share of a quotation's words, in the criticism, that must be the book's."""
QUOTED_PART = 0.5
QUOTED_WORDS = 8
"""A sentence of the book is quoted where this part of it is, or so many words."""
AS_LONG = 0.9
"""Where another book has so much of a quotation's words as well, neither is quoted."""

_WORD = re.compile(r"[^\W_]+")
_MARK = re.compile(r"[\"“”„«»]|''|(?<!\w)['‘]")


class Chain(NamedTuple):
    """A quotation before it is cut to sentences.

    Attributes:
        words: The words that both texts have.
        book: The number of the book.
        runs: Where they stand.
    """

    words: int
    book: int
    runs: tuple[Run, ...]

    @property
    def place(self) -> tuple[int, int]:
        """The first and past-the-last word in the work."""
        return span_of(self.runs)[2:]


class SharedWords:
    """The finder of the strict rules; see :class:`.finding.Finder`."""

    def __init__(self, books: Sequence[Source], rules: Rules) -> None:
        self._rules = rules
        self._vocabulary = Vocabulary()
        self.texts = [normalised(book.sentences) for book in books]
        self._books = [self._prepared(texts) for texts in self.texts]
        self.sought = [len(texts) for texts in self.texts]

    def _prepared(self, texts: Sequence[str]) -> tuple[Words, Seeds]:
        words = self._vocabulary.numbered(texts)
        return words, seeds_of(words)

    def find(self, work: Source) -> Found:
        """The quotations of a work."""
        words, seeds = self._prepared(normalised(work.sentences))
        kept, shared = resolve_chains(
            Chain(matched(runs), number, runs)
            for number, (book, book_seeds) in enumerate(self._books)
            for runs in chains_of(shared_runs(book, book_seeds, words, seeds))
            if self._is_quotation(runs, words, work.sentences)
        )
        found = Found([], [0] * len(self._books), [shared[n] for n in range(len(self._books))])
        for chain in kept:
            block = _block(chain, self._books[chain.book][0], words, work.sentences)
            if block is not None:
                found.blocks.append(block)
                found.matches[chain.book] += block.matched
        return found

    def _is_quotation(self, runs: Sequence[Run], work: Words, sentences: Sequence[str]) -> bool:
        """Whether the words are quoted, and not retold in other tense or person."""
        count, longest = matched(runs), max(run.length for run in runs)
        _, _, first, last = span_of(runs)
        if count < max(self._rules.words, DENSE * (last - first)) or longest < LONGEST_RUN:
            return False
        if longest >= UNMARKED_RUN:
            return True
        within = sentences[work.sentences[first] : work.sentences[last - 1] + 1]
        return any(_MARK.search(sentence) for sentence in within)


def resolve_chains(chains: Iterable[Chain]) -> tuple[list[Chain], Counter[int]]:
    """Give each word of a work to one quotation: the longest.

    Where two books have the same words, neither is quoted: both quote a song, a letter, a proverb.

    Returns:
        Chains that do not overlap, in the order of the work; and of each book those left out since
        another book has them.
    """
    places: list[tuple[int, int, Chain]] = []
    common: set[tuple[int, int]] = set()
    for chain in sorted(chains, key=lambda one: (-one.words, one.book, one.runs)):
        first, last = chain.place
        at = bisect_right(places, (first, last))
        near = [one for one in places[max(0, at - 1) : at + 1] if one[0] < last and first < one[1]]
        common |= {
            (one[0], one[1])
            for one in near
            if one[2].book != chain.book and chain.words >= AS_LONG * one[2].words
        }
        if not near:
            insort(places, (first, last, chain))
    shared = Counter(chain.book for first, last, chain in places if (first, last) in common)
    return [chain for first, last, chain in places if (first, last) not in common], shared


def _block(chain: Chain, book: Words, work: Words, sentences: Sequence[str]) -> Block | None:
    """The sentences that a chain quotes, or None where it has too little of any."""
    quoted = _quoted_sentences(book, chain.runs)
    if not quoted:
        return None
    begin, end = chain.place
    first, last = int(work.sentences[begin]), int(work.sentences[end - 1])
    head = _place(sentences[first], begin, work, first)
    tail = _place(sentences[last], end - 1, work, last)
    return Block(
        first,
        last + 1,
        quoted[0],
        quoted[-1] + 1,
        chain.book,
        len(quoted),
        head[0] if head else 0,
        tail[1] if tail else None,
    )


def _place(sentence: str, word: int, work: Words, number: int) -> tuple[int, int] | None:
    """The characters of a work's word within its sentence; None where they cannot be determined."""
    first, last = np.searchsorted(work.sentences, [number, number + 1]).tolist()
    places = [match.span() for match in _WORD.finditer(sentence)]
    return places[word - first] if len(places) == last - first else None


def _quoted_sentences(book: Words, runs: Sequence[Run]) -> list[int]:
    """The sentences of a book of which enough is quoted, ascending."""
    counts: Counter[int] = Counter()
    for run in runs:
        counts.update(book.sentences[run.book : run.book + run.length].tolist())
    found: list[int] = []
    for number, count in sorted(counts.items()):
        first, last = np.searchsorted(book.sentences, [number, number + 1]).tolist()
        if count >= min(QUOTED_WORDS, QUOTED_PART * (last - first)):
            found.append(number)
    return found
