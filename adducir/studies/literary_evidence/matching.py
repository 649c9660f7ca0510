"""The sentences of a book that a work of criticism quotes, by RapidFuzz's QRatio."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from adducir.corpora.sentences import are_elided
from adducir.studies.literary_evidence.grams import Grams, candidate_pairs, grams_of
from adducir.studies.literary_evidence.similarity import count_words, normalised

_MOST_ELIDED = 3


class Match(NamedTuple):
    """Sentences ``first`` to ``last`` (exclusive) of a work are a sentence of a book."""

    first: int
    last: int
    book: int
    sentence: int
    score: float


class Sought(NamedTuple):
    """The sentences of a book that are long enough to be sought.

    Attributes:
        texts: All its sentences, normalised.
        places: Which of them are sought.
        grams: The runs of those.
    """

    texts: list[str]
    places: list[int]
    grams: Grams


class Present(NamedTuple):
    """The pieces of a work that may be a sentence of a book.

    Attributes:
        texts: All sentences of the work, normalised.
        spans: First and past-the-last sentence of each piece.
        pieces: The pieces, normalised.
        grams: The runs of the pieces.
    """

    texts: list[str]
    spans: list[tuple[int, int]]
    pieces: list[str]
    grams: Grams


def seek(sentences: Sequence[str], least_words: int) -> Sought:
    """Prepare a book: its sentences of ``least_words`` words or more are sought."""
    texts = normalised(sentences)
    places = [at for at, text in enumerate(sentences) if count_words(text) >= least_words]
    return Sought(texts, places, grams_of([texts[at] for at in places]))


def present(sentences: Sequence[str]) -> Present:
    """Prepare a work of criticism.

    Its pieces are its sentences, and up to three neighbours that ellipses part taken together: the
    two ends of a sentence whose middle the critic left out are more like it than either alone.
    """
    texts = normalised(sentences)
    spans = [(at, at + 1) for at in range(len(texts))]
    for first in range(len(texts)):
        for last in range(first + 2, min(first + _MOST_ELIDED, len(texts)) + 1):
            if not are_elided(sentences[last - 2], sentences[last - 1]):
                break
            spans.append((first, last))
    pieces = [" ".join(texts[first:last]) for first, last in spans]
    return Present(texts, spans, pieces, grams_of(pieces))


def find_matches(book: int, sought: Sought, work: Present, alike: float) -> list[Match]:
    """Every piece of a work that a sought sentence of a book matches, with its score.

    The number of candidate pairs grows in proportion to the texts (:mod:`.grams`); RapidFuzz
    compares them in C, on two threads.
    """
    from rapidfuzz.fuzz import QRatio
    from rapidfuzz.process import cpdist

    left, right = candidate_pairs(sought.grams, work.grams, alike)
    if not len(left):
        return []
    texts = [sought.texts[place] for place in sought.places]
    scores = cpdist(
        [texts[at] for at in left],
        [work.pieces[at] for at in right],
        scorer=QRatio,
        score_cutoff=alike,
        dtype=np.float32,
        workers=2,
    )
    return [
        Match(
            work.spans[right[at]][0],
            work.spans[right[at]][1],
            book,
            sought.places[left[at]],
            float(scores[at]),
        )
        for at in np.flatnonzero(scores)
    ]


def resolve(matches: Iterable[Match]) -> list[Match]:
    """Give each sentence of a work to one sentence of one book: the most alike.

    Equal scores (a novel may say a thing twice) go to the place where more neighbours match as
    well, then to the earlier book and sentence.

    Returns:
        Matches that do not overlap, in the order of the work.
    """
    found = sorted(matches)
    places = {(match.book, match.first, match.sentence) for match in found}

    def rank(match: Match) -> tuple[float, int, Match]:
        before = (match.book, match.first - 1, match.sentence - 1) in places
        behind = (match.book, match.last, match.sentence + 1) in places
        return -match.score, -(before + behind), match

    taken: set[int] = set()
    kept: list[Match] = []
    for match in sorted(found, key=rank):
        sentences = range(match.first, match.last)
        if taken.isdisjoint(sentences):
            taken.update(sentences)
            kept.append(match)
    return sorted(kept)
