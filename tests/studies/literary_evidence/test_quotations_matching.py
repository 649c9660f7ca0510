"""Fuzzy matching: what is compared, against comparing everything."""

import random
import string
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quotation_texts import REMARKS, TALE
from rapidfuzz.fuzz import QRatio
from rapidfuzz.process import cdist
from rapidfuzz.utils import default_process

from adducir.studies.literary_evidence.grams import RUN, candidate_pairs, grams_of
from adducir.studies.literary_evidence.matching import Match, find_matches, present, resolve, seek
from adducir.studies.literary_evidence.similarity import (
    count_words,
    is_part,
    normalise,
    ratio,
    share_run,
)
from adducir.studies.literary_evidence.sources import read_book, read_work

words = st.text(alphabet="abc ", max_size=30)


def longest_run(first: str, second: str) -> int:
    """The plain way, by the standard library."""
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.find_longest_match(0, len(first), 0, len(second)).size


@given(words, words, st.integers(1, 12))
def test_shared_runs(first: str, second: str, length: int) -> None:
    assert share_run(first, second, length) == (longest_run(first, second) >= length)


def test_normalising() -> None:
    assert normalise("“It’s--_so_ — far,\n  Ünterwegs!”") == "it s so far ünterwegs"
    assert normalise("…!") == ""
    assert count_words("It’s a well-known fact -- isn't it? No. 5!") == 8


def test_ratio_is_that_of_rapidfuzz_on_processed_texts() -> None:
    first, second = "Not a word said she.", "“NOT ONE WORD SAID SHE"
    # 19 and 21 characters; "not " and " word said she" are the longest common subsequence, 18.
    assert ratio(normalise(first), normalise(second)) == pytest.approx(200 * 18 / 40)
    assert QRatio(first, second, processor=default_process) == pytest.approx(90)
    assert ratio("", "") == 0


def test_parts() -> None:
    whole = "she did not turn her head when he spoke nor did she stop"
    assert is_part("did not turn her head when he spoke", whole, 15, 80)
    assert is_part("did not turn the head when he spake", whole, 15, 80)
    assert not is_part("went away without another look at him", whole, 15, 80)
    assert is_part("he spoke", whole, 15, 80)  # short, but word by word
    assert not is_part("spoke", whole, 15, 80)  # one word says nothing
    assert not is_part("e spoke", whole, 15, 80)
    assert not is_part(whole + " more and more", whole, 15, 80)


def test_candidates_share_runs_and_have_fitting_lengths() -> None:
    sought = ["abcdefgh ijklmnop", "qrstuvwxyz", "abcdefg"]
    there = ["xx abcdefgh ijklmn", "qrstuvwxyz qrstuvwxyz", "", "abcdefg", "qrstuv", "qrstuvw"]
    left, right = candidate_pairs(grams_of(sought), grams_of(there), 80)
    # "qrstuv" shares one run only; "qrstuvwxyz" twice is too long; 7 of 10 letters is enough.
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 0), (1, 5), (2, 3)]


def test_longer_texts_must_share_more_runs() -> None:
    shared = "abcdefgh"  # three runs
    short, long = shared + "q" * 50, shared + "q" * 100
    there = [shared + "z" * 50, shared + "z" * 100]
    left, right = candidate_pairs(grams_of([short, long]), grams_of(there), 80)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 0)]
    left, right = candidate_pairs(grams_of([short, long]), grams_of(there), 79)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("sentences", [[], [""], ["abc"], ["é" * 3, "ab"]])
def test_texts_without_runs(sentences: list[str]) -> None:
    grams = grams_of(sentences)
    assert len(grams.lengths) == len(sentences)
    left, right = candidate_pairs(grams, grams_of(["something else"]), 80)
    assert len(left) == len(right) == 0


@given(st.lists(st.text(alphabet="ab", max_size=12), max_size=4))
def test_runs_are_all_runs(sentences: list[str]) -> None:
    grams = grams_of(sentences)
    expected = {
        (int.from_bytes(text[at : at + RUN].encode(), "little"), place)
        for place, text in enumerate(sentences)
        for at in range(len(text) - RUN + 1)
    }
    runs = np.repeat(grams.runs, np.diff(grams.starts)).tolist()
    assert len(set(grams.runs.tolist())) == len(grams.runs)
    found = list(zip(runs, grams.places.tolist(), strict=True))
    assert found == sorted(expected)


def blurred(text: str, rate: float, rng: random.Random) -> str:
    """The text as a poor scanner would read it: letters lost, changed and added."""
    made: list[str] = []
    for letter in text:
        chance = rng.random()
        if chance > rate / 3:
            made.append(rng.choice(string.ascii_lowercase) if chance < 2 * rate / 3 else letter)
        if chance < rate and chance > 2 * rate / 3:
            made.append(rng.choice(string.ascii_lowercase))
    return "".join(made)


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.15])
def test_all_pairs_find_no_more(rate: float) -> None:
    rng = random.Random(7)
    sentences = [blurred(one, rate, rng) for one in (*TALE, *REMARKS)]
    sought = seek(TALE, 10)
    work = present(sentences)
    expected = {
        (at, at + 1, 0, place)
        for place in sought.places
        for at, text in enumerate(work.texts)
        if QRatio(sought.texts[place], text) >= 80
    }
    assert len(expected) == 14
    assert {match[:4] for match in find_matches(0, sought, work, 80)} == expected


def test_short_sentences_are_not_sought() -> None:
    sought = seek(TALE, 10)
    assert sought.places == [place for place in range(16) if place not in (2, 8)]
    assert find_matches(0, sought, present([TALE[2], TALE[8]]), 80) == []


def test_pieces_that_an_ellipsis_parts_are_one_piece_as_well() -> None:
    work = present(["One ...", "two;", "three…", "…four", "five"])
    spans = [span for span in work.spans if span[1] - span[0] > 1]
    assert spans == [(0, 2), (2, 4)]
    assert work.pieces[-2:] == ["one two", "three four"]


def test_a_sentence_is_given_to_one_place() -> None:
    better, worse = Match(3, 4, 1, 9, 90.0), Match(3, 4, 0, 2, 85.0)
    whole, half = Match(5, 7, 0, 4, 95.0), Match(6, 7, 0, 5, 94.0)
    assert resolve([worse, better, half, whole]) == [better, whole]


def test_equal_scores_go_where_the_neighbours_match() -> None:
    here, there = Match(1, 2, 0, 10, 100.0), Match(1, 2, 0, 50, 100.0)
    after = Match(2, 3, 0, 51, 99.0)
    assert resolve([here, there, after]) == [there, after]
    assert resolve([there, here]) == [here]
    assert resolve([]) == []


@pytest.mark.slow
def test_a_real_book_loses_nothing_to_all_pairs(collections: Path) -> None:
    book = read_book(collections / "gutenberg/novels/105-persuasion.txt")
    criticism = read_work(collections / "gutenberg/criticism/70809-jane-austen-and-her-works.txt")
    sought, work = seek(book.sentences, 10), present(criticism.sentences)
    texts = [sought.texts[place] for place in sought.places]
    scores = cdist(texts, work.pieces, scorer=QRatio, score_cutoff=80, workers=2, dtype=np.uint8)
    expected = {
        (*work.spans[piece], 0, sought.places[at]) for at, piece in np.argwhere(scores).tolist()
    }
    found = {match[:4] for match in find_matches(0, sought, work, 80)}
    assert len(expected) > 400
    assert found == expected
