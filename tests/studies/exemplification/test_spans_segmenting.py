"""Sentences of books and answers, and the licence around books."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError
from adducir.core.files import read_text
from adducir.corpora.gutenberg import body, body_bounds
from adducir.corpora.sentences import sentence_bounds, sentences_of
from adducir.studies.exemplification.sentences import Sentences

CASES = {
    "plain": ["It rained.", "We stayed at home!", "Why not?"],
    "titles": ["Mr. Darcy met Mrs. Long and Dr. Perry.", "They talked."],
    "abbreviations": ["Some fishes, e.g. Salmon, and whales, viz. Cetacea, swim.", "Others walk."],
    "messrs": ["Messrs. Lyell and Dawson came.", "So did MM. Lund and Clausen."],
    "numbers": ["See No. 4 and p. 12 of vol. 2.", "It is 3.5 deep."],
    "no is a word": ["Did he come? No.", "I had to go."],
    "semicolons": ["I waited; Nothing came; I left.", "He stayed."],
    "speech": ["“Dead?” repeated Diana.", "“Yes.”", "She wept."],
    "verb after speech": ["‘To be sure!’ said my aunt, patting her cheek.", "‘Well!’"],
    "dashes": ["Which is better?--To have surrendered.", "No!"],
    "brackets": ["He left (I saw him).", "She stayed."],
    "links": ["It is [still in use](_URL_0_).", "California uses it."],
    "no capital": ["Because your body knows.", "if you slouch, it hurts."],
    "tokenised": ["He wrote `` a cloud of thought . ''", "Pirsig began his book ."],
}


@pytest.mark.parametrize("name", CASES)
def test_hand_cut_text(name):
    wanted = CASES[name]
    if name == "no is a word":
        wanted = ["Did he come?", "No.", "I had to go."]
    assert sentences_of(" ".join(CASES[name])) == wanted


def test_line_breaks_end_no_sentence_but_blank_lines_and_lists_do():
    text = "CHAPTER I\n\nIt was a dark\nand stormy night. We ate:\n* bread\n* cheese; or\n1. fish"
    assert sentences_of(text) == [
        "CHAPTER I",
        "It was a dark and stormy night.",
        "We ate:",
        "* bread",
        "* cheese; or",
        "1. fish",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n"])
def test_nothing_has_no_sentence(text):
    assert sentence_bounds(text) == []


@given(st.text(st.sampled_from("Aab1 .!?;:\n\"')(*-–“”_&\u00a0é") | st.characters(), max_size=80))
def test_nothing_is_lost_but_white_space(text):
    place = 0
    for start, end in sentence_bounds(text):
        assert start < end
        assert not text[place:start].strip()
        assert text[start:end] == text[start:end].strip()
        place = end
    assert not text[place:].strip()


@given(st.text(st.sampled_from("Ab. \n(e"), max_size=60), st.integers(0, 60))
def test_sentences_by_place_are_those_of_the_whole_text(text, place):
    sentences = Sentences(text)
    every = sentence_bounds(text)
    place = min(place, len(text))
    inside = [(a, b) for a, b in every if a < place < b]
    before = [(a, min(b, place)) for a, b in every if text[a : min(b, place)].strip() and a < place]
    after = [(max(a, place), b) for a, b in every if b > place and text[max(a, place) : b].strip()]
    assert list(sentences.before(place))[::-1] == before
    assert list(sentences.after(place)) == after
    assert all(sentences.at(place) == bounds for bounds in inside)


HEADER = "The Project Gutenberg EBook of X\n\nThis eBook is for the use of anyone.\n\n"
LICENCE = "Section 1. General Terms of Use of Project Gutenberg-tm electronic works\n"


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (
            "*** START OF THIS PROJECT GUTENBERG EBOOK X ***",
            "*** END OF THIS PROJECT GUTENBERG X ***",
        ),
        (
            "***START OF THE PROJECT GUTENBERG EBOOK X***",
            "***END OF THE PROJECT GUTENBERG EBOOK X***",
        ),
        (
            "*** START OF THE PROJECT GUTENBERG EBOOK A LONG\nNAME OF A BOOK ***",
            "*** END OF THE PROJECT GUTENBERG EBOOK A LONG\nNAME OF A BOOK ***",
        ),
        (
            "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
            "End of the Project Gutenberg Etext of X",
        ),
    ],
)
def test_the_licence_is_cut_off(start, end):
    producers = (
        "\n\nProduced by A. Reader and the Online\nProofreading Team\n\n\nTranscriber's note: x\n\n"
    )
    old = "\n\nEnd of Project Gutenberg's X, by Y\n\n"
    text = (
        HEADER
        + start
        + producers
        + "CHAPTER I\n\nThe book. THE END OF all.\n"
        + old
        + end
        + LICENCE
    )
    assert body(text) == "CHAPTER I\n\nThe book. THE END OF all."
    first, past = body_bounds(text)
    assert text[first:past] == body(text)


def test_a_plain_book_is_left_as_it_is():
    assert body("\n A book about *** stars ***.\n\n") == "A book about *** stars ***."
    assert body("") == ""


def test_a_book_that_keeps_its_licence_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be determined from the book") as caught:
        body(HEADER + "\nThe book.\n\n" + LICENCE, tmp_path / "b.txt")
    assert caught.value.path == tmp_path / "b.txt"


def test_no_licence_stays_in_the_real_books(collections):
    books = sorted((collections / "gutenberg").glob("*/*.txt"))
    assert len(books) >= 28
    for path in books:
        text = body(read_text(path), path).lower()
        assert "project gutenberg" not in text, path
        assert "small print" not in text, path
        assert len(text) > 100_000, path
