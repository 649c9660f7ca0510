"""The strict rules: quotations are consecutive words, regardless of sentence boundaries.

Runs of at least :data:`SEED` words that both texts share are joined to a chain if there is little
between them: words of the critic (brackets, "said she"), or of the book that the critic left out.
"""

import re
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adducir.studies.literary_evidence.finding import (
    Finder,
    Found,
    Quotation,
    Rules,
    Window,
    normalise,
    share_run,
)
from adducir.studies.literary_evidence.sources import Source

SEED = 5
"""Consecutive words that both texts must share; shorter runs are found everywhere."""
MOST_PLACES = 64
"""A seed that pairs more positions of a book and a work than this is too common to use."""
INSERTED, LEFT_OUT, OVERLAP = 10, 40, 4
"""The critic's words in a chain, omitted words of the book, and words that two runs share."""
LONGEST_RUN = 8
"""Minimum words of a quotation's longest run; without it, it is a retelling."""
UNMARKED_RUN = 20
"""This many consecutive words are a quotation even without a quotation mark."""
DENSE = 0.7
"""The share of a quotation's words, in the criticism, that must be the book's."""
QUOTED_PART, QUOTED_WORDS = 0.5, 8
"""A sentence of the book is quoted if this share of it is, or this many words."""
AS_LONG = 0.9
"""If another book also has this share of a quotation's words, neither is quoted."""
FRAGMENT = 3
"""Minimum words of the critic beside a quotation for keeping them."""

_WORD = re.compile(r"[^\W_]+")
_MARK = re.compile(r"[\"“”„«»]|''|(?<!\w)['‘]")
_BEFORE = " \t\"'“‘([{—–-…*_"
_BEHIND = " \t\"'”’)]}—–-…*_.,;:!?"

Ints = NDArray[np.int64]


class TextWords(NamedTuple):
    """The numbers and sentences of a text's words; its runs of :data:`SEED` words by hash."""

    ids: Ints
    sentences: Ints
    hashes: NDArray[np.uint64]
    places: Ints

    def of_sentence(self, number: int) -> tuple[int, int]:
        first, last = np.searchsorted(self.sentences, [number, number + 1]).tolist()
        return first, last


class SharedRun(NamedTuple):
    """Consecutive words in both texts: the position in the book, in the work, and how many."""

    book: int
    work: int
    length: int


class Chain(NamedTuple):
    """Runs that form one quotation, and their number of words."""

    words: int
    book: int
    runs: tuple[SharedRun, ...]

    @property
    def place(self) -> tuple[int, int]:
        """The first and past-the-last word in the work."""
        return self.runs[0].work, self.runs[-1].work + self.runs[-1].length


class SharedWords(Finder):
    def __init__(self, books: Sequence[Source], rules: Rules) -> None:
        super().__init__(books, rules)
        self._numbers: dict[str, int] = {}
        self._words = [self.numbered(texts) for texts in self.texts]
        self.sought = [len(texts) for texts in self.texts]

    def numbered(self, texts: Iterable[str]) -> TextWords:
        words = [text.split() for text in texts]
        numbers = self._numbers
        ids = np.array(
            [numbers.setdefault(word, len(numbers)) for some in words for word in some], np.int64
        )
        sentences = np.repeat(np.arange(len(words), dtype=np.int64), [len(some) for some in words])
        hashes = np.zeros(max(0, len(ids) - SEED + 1), dtype=np.uint64)
        for at in range(SEED):  # wraps around: a polynomial modulo 2**64 with an odd base
            hashes *= np.uint64(0x9E3779B97F4A7C15)
            hashes += ids[at : at + len(hashes)].astype(np.uint64)
        order = np.argsort(hashes, kind="stable")
        return TextWords(ids, sentences, hashes[order], order)

    def max_matches(self, book: Source) -> int:
        return self.rules.max_matches or len(book.sentences) // 2

    def find(self, work: Source) -> Found:
        words = self.numbered(normalise(sentence) for sentence in work.sentences)
        chains = []
        for number, book in enumerate(self._words):
            for runs in chains_of(shared_runs(book, words)):
                chain = Chain(sum(run.length for run in runs), number, tuple(runs))
                longest, (first, last) = max(run.length for run in runs), chain.place
                within = work.sentences[words.sentences[first] : words.sentences[last - 1] + 1]
                # Quoted, not retold in another tense or person.
                if chain.words < max(self.rules.words, DENSE * (last - first)):
                    continue
                if longest >= UNMARKED_RUN or (
                    longest >= LONGEST_RUN and any(map(_MARK.search, within))
                ):
                    chains.append(chain)
        kept, shared = resolve(chains)
        matched = Found([], [0] * len(self.books), [shared[n] for n in range(len(self.books))])
        for chain in kept:
            book, counts, quoted = self._words[chain.book], Counter[int](), []
            for run in chain.runs:
                counts.update(book.sentences[run.book : run.book + run.length].tolist())
            for number, count in sorted(counts.items()):
                first, last = book.of_sentence(number)
                if count >= min(QUOTED_WORDS, QUOTED_PART * (last - first)):
                    quoted.append(number)
            if quoted:
                matched.quotations.append(_quotation(chain, quoted, words, work.sentences))
                matched.matches[chain.book] += len(quoted)
        return matched

    def windows(self, quotation: Quotation, work: Source) -> Iterator[Window]:
        """One window for each part of a long quotation.

        The whole quotation is masked although a part of it is sought; the critic's words beside it
        in the same sentence are kept.
        """
        rules, sentences, texts = self.rules, work.sentences, self.texts[quotation.book]
        first, last = quotation.first, quotation.last
        around = " ".join(texts[max(0, quotation.start - 1) : quotation.end + 1])

        def side(fragment: str, whole: list[str]) -> list[str]:
            # A fragment with consecutive words of the book is the rest of the quotation, which the
            # critic changed somewhere.
            is_usable = len(fragment.split()) >= FRAGMENT
            is_usable = is_usable and not share_words(normalise(fragment), around, FRAGMENT)
            return [*([fragment] if is_usable else []), *whole][: rules.context]

        before = sentences[first][: quotation.head].rstrip(_BEFORE)
        behind = sentences[last - 1][quotation.tail :].lstrip(_BEHIND) if quotation.tail else ""
        nearest = side(before, sentences[max(0, first - rules.context) : first][::-1])
        following = side(behind, sentences[last : last + rules.context])
        size, quoted = rules.max_sentences, " ".join(sentences[first:last])
        past = min(quotation.end, quotation.start + (rules.parts or 3) * size)
        for start in range(quotation.start, past, size):
            length = min(size, past - start)
            passage = " ".join(texts[start : start + length])
            left, right = (
                self._unrepeated(sentences, passage) for sentences in (nearest, following)
            )
            name = self.books[quotation.book].name
            yield Window(
                name, start, length, work.name, first, tuple(left[::-1]), tuple(right), quoted
            )

    def _unrepeated(self, sentences: list[str], passage: str) -> list[str]:
        """The sentences before the first one with consecutive words of the passage."""
        for place, sentence in enumerate(sentences):
            if share_words(normalise(sentence), passage, self.rules.echo or 8):
                return sentences[:place]
        return sentences


def share_words(first: str, second: str, count: int) -> bool:
    return share_run(tuple(first.split()), tuple(second.split()), count)


def shared_runs(book: TextWords, work: TextWords) -> list[SharedRun]:
    """The longest runs of at least :data:`SEED` words that both texts share, in work order."""
    hashes, starts, counts = np.unique(work.hashes, return_index=True, return_counts=True)
    low = np.searchsorted(book.hashes, hashes, side="left")
    occurrences = np.searchsorted(book.hashes, hashes, side="right") - low
    used = (occurrences > 0) & (occurrences * counts <= MOST_PLACES)
    low, occurrences, starts, counts = low[used], occurrences[used], starts[used], counts[used]
    sizes = occurrences * counts
    seed = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    ours = book.places[low[seed] + within // counts[seed]]
    theirs = work.places[starts[seed] + within % counts[seed]]
    # Seeds on one diagonal, one word apart, are one run.
    order = np.lexsort((ours, ours - theirs))
    ours, theirs = ours[order], theirs[order]
    new = np.ones(len(ours), dtype=bool)
    new[1:] = (np.diff(ours - theirs) != 0) | (np.diff(ours) > 1)
    first = np.flatnonzero(new)
    lengths = np.diff(np.append(first, len(ours))) + SEED - 1
    places = zip(ours[first].tolist(), theirs[first].tolist(), lengths.tolist(), strict=True)
    runs = {_widest(book.ids, work.ids, *place) for place in places}
    return sorted((run for run in runs if run), key=lambda run: (run.work, run.book))


def _widest(book: Ints, work: Ints, first: int, work_start: int, count: int) -> SharedRun | None:
    """The run, extended as far as the words agree; None if only the hashes agreed."""
    if not np.array_equal(book[first : first + count], work[work_start : work_start + count]):
        return None
    while first and work_start and book[first - 1] == work[work_start - 1]:
        first, work_start, count = first - 1, work_start - 1, count + 1
    limit = min(len(book) - first, len(work) - work_start)
    while count < limit and book[first + count] == work[work_start + count]:
        count += 1
    return SharedRun(first, work_start, count)


def chains_of(runs: Iterable[SharedRun]) -> Iterator[list[SharedRun]]:
    """Join runs that follow each other closely in both texts, in work order."""
    open_ones: list[list[SharedRun]] = []
    for run in runs:
        near = [
            chain
            for chain in open_ones
            if run.work - (chain[-1].work + chain[-1].length) <= INSERTED
        ]
        yield from (chain for chain in open_ones if chain not in near)
        open_ones = near
        fitting = [(gap, chain) for chain in near if (gap := _gap(chain[-1], run)) is not None]
        if fitting:
            _, chain = min(fitting, key=lambda pair: pair[0])
            ours, theirs, length = chain[-1]
            over = max(0, theirs + length - run.work, ours + length - run.book)  # it has these
            chain.append(SharedRun(run.book + over, run.work + over, run.length - over))
        else:
            open_ones.append([run])
    yield from open_ones


def _gap(before: SharedRun, after: SharedRun) -> int | None:
    """Words between two runs, in both texts together; None if they cannot be one quotation."""
    inserted = after.work - before.work - before.length
    left_out = after.book - before.book - before.length
    least = min(inserted, left_out)
    if least >= -OVERLAP and after.length + least >= 1 and left_out <= LEFT_OUT:
        return abs(inserted) + abs(left_out)
    return None


def resolve(chains: Iterable[Chain]) -> tuple[list[Chain], Counter[int]]:
    """Assign each word of a work to the longest quotation, or to none if books share it.

    In that case both quote a song, a letter, a proverb; such chains are counted by book.
    """
    places: list[tuple[int, int, Chain]] = []
    common: set[tuple[int, int]] = set()
    for chain in sorted(chains, key=lambda chain_: (-chain_.words, chain_.book, chain_.runs)):
        first, last = chain.place
        at = bisect_right(places, (first, last))
        near = [
            place
            for place in places[max(0, at - 1) : at + 1]
            if place[0] < last and first < place[1]
        ]
        common |= {
            place[:2]
            for place in near
            if place[2].book != chain.book and chain.words >= AS_LONG * place[2].words
        }
        if not near:
            insort(places, (first, last, chain))
    shared = Counter(place[2].book for place in places if place[:2] in common)
    return [place[2] for place in places if place[:2] not in common], shared


def _quotation(
    chain: Chain, quoted: list[int], work: TextWords, sentences: Sequence[str]
) -> Quotation:
    begin, end = chain.place
    first, last = int(work.sentences[begin]), int(work.sentences[end - 1])

    def place(word: int, number: int) -> tuple[int, int] | None:
        """The characters of a word within its sentence; None if they cannot be determined."""
        start, past = work.of_sentence(number)
        spans = [match.span() for match in _WORD.finditer(sentences[number])]
        return spans[word - start] if len(spans) == past - start else None

    head, tail = place(begin, first) or (0, 0), place(end - 1, last) or (0, None)
    places = first, last + 1, quoted[0], quoted[-1] + 1
    return Quotation(*places, chain.book, head[0], tail[1])
