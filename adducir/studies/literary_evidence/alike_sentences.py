"""RELiC's rules: sentences that are alike, joined to blocks that grow (Thai et al., appendix A).

Every sentence of the book with ten words or more is sought by RapidFuzz's QRatio: 200 * LCS /
(len(a) + len(b)), where LCS is the longest common subsequence of characters. Matches that are
consecutive in the criticism and in the book are one block, which grows by a neighbour that shares
15 characters in a row with the neighbour in the book.

Comparing all sentences would cost the product of the texts. Only pairs are compared that share a
run of six bytes for every 30 characters of the shorter, and two at least, where a run that too many
pairs share is no evidence, and whose lengths allow the ratio.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adducir.studies.literary_evidence import finding
from adducir.studies.literary_evidence.finding import Finder, Found, Quotation
from adducir.studies.literary_evidence.sources import Source

RUN = 6
MOST_PAIRS = 3000
"""A run that would pair more sentences than this is ignored, which bounds the work."""
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


class Match(NamedTuple):
    """A sentence of a work is a sentence of a book."""

    place: int
    book: int
    sentence: int
    score: float


class AlikeSentences(Finder):
    """Finds alike sentences."""

    def __init__(self, books: Sequence[Source], rules: finding.Rules) -> None:
        super().__init__(books, rules)
        self._places = [
            [n for n, text in enumerate(book.sentences) if len(_WORD.findall(text)) >= rules.words]
            for book in books
        ]
        self.sought = [len(places) for places in self._places]

    def max_matches(self, book: Source) -> int:
        """RELiC: "hundreds of matches"."""
        return self.rules.max_matches or 500

    def find(self, work: Source) -> Found:
        """The quotations of a work."""
        from rapidfuzz.fuzz import QRatio
        from rapidfuzz.process import cpdist

        alike = self.rules.min_similarity or 80.0
        texts = [finding.normalise(sentence) for sentence in work.sentences]
        matches: list[Match] = []
        for book, (own, places) in enumerate(zip(self.texts, self._places, strict=True)):
            left, right = pairs_to_compare([own[place] for place in places], texts, alike)
            numbers = [places[at] for at in left]
            pairs = [own[number] for number in numbers], [texts[at] for at in right]
            scores = cpdist(*pairs, scorer=QRatio, score_cutoff=alike, workers=2)
            matches += [
                Match(int(right[at]), book, numbers[at], float(scores[at]))
                for at in np.flatnonzero(scores)
            ]
        kept = resolve(matches)
        counts = np.bincount([match.book for match in kept], minlength=len(self.books))
        return Found(self._blocks(kept, texts), counts.tolist(), [0] * len(self.books))

    def _blocks(self, matches: Sequence[Match], work: Sequence[str]) -> list[Quotation]:
        run, blocks = self.rules.run or 15, list[Quotation]()
        for number, one in enumerate(matches):
            last = blocks[-1] if blocks else Quotation(0, 0, 0, 0, -1)
            book = self.texts[one.book]
            block = Quotation(one.place, one.place + 1, one.sentence, one.sentence + 1, one.book)
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
    """Give each sentence of a work to the one most alike, and return them by the work.

    Equal scores (a novel may say a thing twice) go to the place where more neighbours match as
    well, then to the earlier book and sentence.
    """
    found = {match[:3] for match in matches}

    def rank(match: Match) -> tuple[float, int, Match]:
        place, book, sentence, score = match
        near = {(place - 1, book, sentence - 1), (place + 1, book, sentence + 1)} & found
        return -score, -len(near), match

    best: dict[int, Match] = {}
    for match in sorted(matches, key=rank):
        best.setdefault(match.place, match)
    return [best[place] for place in sorted(best)]


def share_run(first: str, second: str, length: int) -> bool:
    """Whether two texts have a common substring of ``length`` or more characters."""
    runs = {first[at : at + length] for at in range(len(first) - length + 1)}
    return any(second[at : at + length] in runs for at in range(len(second) - length + 1))


def pairs_to_compare(sought: Sequence[str], there: Sequence[str], alike: float) -> tuple[Any, Any]:
    """The places, in both, of the texts that may be as alike as this."""
    from scipy.sparse import csr_array

    (ours, left), (theirs, right) = _runs(sought), _runs(there)
    names, columns = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    places = (left, columns[: len(ours)]), (right, columns[len(ours) :])
    shapes = (len(sought), len(names)), (len(there), len(names))
    one = csr_array((np.ones(len(ours)), places[0]), shape=shapes[0])
    other = csr_array((np.ones(len(theirs)), places[1]), shape=shapes[1])
    one.data[:] = other.data[:] = 1  # a run counts once for each text
    used = one.sum(axis=0) * other.sum(axis=0) <= MOST_PAIRS
    shared = (one[:, used] @ other[:, used].T).tocoo()
    sizes = np.array([len(sought[n]) for n in shared.row] + [len(there[n]) for n in shared.col])
    shorter, longer = np.sort(sizes.reshape(2, -1), axis=0)
    fits = (shared.data >= 2) & (shorter * (200 - alike) >= longer * alike)
    if alike >= 80:  # pairs less alike share fewer runs
        fits &= shared.data * 30 >= shorter
    return shared.row[fits], shared.col[fits]


def _runs(texts: Sequence[str]) -> tuple[Any, Any]:
    """All runs of six bytes within texts, as numbers, and the text of each."""
    data = np.frombuffer(b"\0".join(text.encode() for text in texts) + bytes(RUN), dtype=np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(data, RUN)
    whole = (windows != 0).all(axis=1)
    rows = np.cumsum(data == 0)[: len(windows)]
    return windows[whole] @ 256 ** np.arange(RUN), rows[whole]
