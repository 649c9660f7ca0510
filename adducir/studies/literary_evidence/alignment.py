"""Quotations as shared words in a row: where a work of criticism has a book's own words.

Sentences are not compared here, so it does not matter where a critic's punctuation ends them, or
how much of a sentence is quoted. Runs of :data:`SEED` words and more that both texts share are
joined to a chain where little stands between them: a few words of the critic's (brackets, "said
she"), or a few of the book's that the critic left out.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SEED = 5
"""Words in a row that both texts must share; fewer are found everywhere."""
MOST_PLACES = 64
"""A seed that would pair more places of a book and a work than this is common and shows nothing."""
_INSERTED = 10
_LEFT_OUT = 40
_OVERLAP = 4

Ints = NDArray[np.int64]


class Words(NamedTuple):
    """The words of a text, as numbers.

    Attributes:
        ids: The number of each word, int64.
        sentences: The sentence that each word stands in, int64, ascending.
    """

    ids: Ints
    sentences: Ints


class Run(NamedTuple):
    """Words in a row that both texts have: where in the book, where in the work, how many."""

    book: int
    work: int
    length: int


class Vocabulary:
    """Numbers for words; equal words of all texts get the same number."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._known: dict[str, int] = {}

    def numbered(self, texts: Sequence[str]) -> Words:
        """The words of normalised sentences, which blanks part."""
        known, ids, counts = self._known, list[int](), list[int]()
        for text in texts:
            words = text.split()
            counts.append(len(words))
            for word in words:
                number = known.get(word)
                if number is None:
                    number = known[word] = len(known)
                    self.words.append(word)
                ids.append(number)
        places = np.repeat(np.arange(len(texts), dtype=np.int64), counts)
        return Words(np.array(ids, dtype=np.int64), places)


class Seeds(NamedTuple):
    """The runs of :data:`SEED` words of a text, as hashes: ascending, and where each begins."""

    hashes: NDArray[np.uint64]
    places: Ints


def seeds_of(words: Words) -> Seeds:
    """All seeds of a text, equal ones side by side."""
    count = max(0, len(words.ids) - SEED + 1)
    hashes = np.zeros(count, dtype=np.uint64)
    for at in range(SEED):
        # Wraps around: a polynomial modulo 2**64 with an odd base.
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + words.ids[at : at + count].astype(
            np.uint64
        )
    order = np.argsort(hashes, kind="stable")
    return Seeds(hashes[order], order)


def shared_runs(book: Words, book_seeds: Seeds, work: Words, work_seeds: Seeds) -> list[Run]:
    """The longest runs of words that both texts share, of :data:`SEED` words or more.

    Returns:
        In the order of the work.
    """
    ours, theirs = _pairs(book_seeds, work_seeds)
    order = np.lexsort((ours, ours - theirs))
    ours, theirs = ours[order], theirs[order]
    first = np.ones(len(ours), dtype=bool)
    first[1:] = (np.diff(ours - theirs) != 0) | (np.diff(ours) > 1)
    starts = np.flatnonzero(first)
    counts = np.diff(np.append(starts, len(ours))) + SEED - 1
    found: set[Run] = set()
    for one, other, count in zip(
        ours[starts].tolist(), theirs[starts].tolist(), counts.tolist(), strict=True
    ):
        run = _widest(book.ids, work.ids, Run(one, other, count))
        if run is not None:
            found.add(run)
    return sorted(found, key=lambda run: (run.work, run.book))


def _pairs(book: Seeds, work: Seeds) -> tuple[Ints, Ints]:
    """The places of every seed that both have, where these are not too many."""
    hashes, starts, counts = np.unique(work.hashes, return_index=True, return_counts=True)
    low = np.searchsorted(book.hashes, hashes, side="left")
    many = np.searchsorted(book.hashes, hashes, side="right") - low
    used = (many > 0) & (many * counts <= MOST_PLACES)
    low, many, starts, counts = low[used], many[used], starts[used], counts[used]
    sizes = many * counts
    seed = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    ours = book.places[low[seed] + within // counts[seed]]
    theirs = work.places[starts[seed] + within % counts[seed]]
    return ours, theirs


def _widest(book: Ints, work: Ints, run: Run) -> Run | None:
    """The run, widened as far as the words agree; None where only the hashes agreed."""
    first, other, count = run
    if not np.array_equal(book[first : first + count], work[other : other + count]):
        return None
    while first and other and book[first - 1] == work[other - 1]:
        first, other, count = first - 1, other - 1, count + 1
    limit = min(len(book) - first, len(work) - other)
    while count < limit and book[first + count] == work[other + count]:
        count += 1
    return Run(first, other, count)


def chains_of(runs: Sequence[Run]) -> Iterator[tuple[Run, ...]]:
    """Join runs that follow each other closely in both texts.

    Args:
        runs: In the order of the work.
    """
    open_ones: list[list[Run]] = []
    for run in runs:
        still: list[list[Run]] = []
        for chain in open_ones:
            if run.work - (chain[-1].work + chain[-1].length) <= _INSERTED:
                still.append(chain)
            else:
                yield tuple(chain)
        open_ones = still
        fitting = [(gap, chain) for chain in open_ones if (gap := _gap(chain[-1], run)) is not None]
        if fitting:
            gap, chain = min(fitting, key=lambda pair: pair[0])
            chain.append(_trimmed(chain[-1], run))
        else:
            open_ones.append([run])
    yield from map(tuple, open_ones)


def _gap(before: Run, after: Run) -> int | None:
    """Words between two runs, in both texts together; None where they cannot be one quotation."""
    inserted = after.work - before.work - before.length
    left_out = after.book - before.book - before.length
    least = min(inserted, left_out)
    if least >= -_OVERLAP and after.length + least >= 1 and left_out <= _LEFT_OUT:
        return abs(inserted) + abs(left_out)
    return None


def _trimmed(before: Run, after: Run) -> Run:
    """``after`` without the words that ``before`` has already."""
    over = max(
        0, before.work + before.length - after.work, before.book + before.length - after.book
    )
    return Run(after.book + over, after.work + over, after.length - over)


def span_of(chain: Sequence[Run]) -> tuple[int, int, int, int]:
    """Where a chain begins and ends, in the book and in the work; ends exclusive."""
    first, last = chain[0], chain[-1]
    return first.book, last.book + last.length, first.work, last.work + last.length


def matched(chain: Sequence[Run]) -> int:
    """The words that both texts have."""
    return sum(run.length for run in chain)


def share_words(first: str, second: str, count: int) -> bool:
    """Whether two normalised texts share ``count`` words in a row."""
    one, other = first.split(), second.split()
    runs = {tuple(one[at : at + count]) for at in range(len(one) - count + 1)}
    return any(tuple(other[at : at + count]) in runs for at in range(len(other) - count + 1))
