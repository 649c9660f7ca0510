"""Sentences of books and answers, those of literary scholars, and the frame around books."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core.errors import InputError
from adducir.corpora.sentences import cut_sentence, literary_sentences, sentence_bounds
from adducir.studies.books import body, body_bounds, read_plain

CASES = [
    ["It rained.", "We stayed at home!", "Why not?"],
    ["Mr. Darcy met Mrs. Long and Dr. Perry.", "They talked."],
    ["Some fishes, e.g. Salmon, and whales, viz. Cetacea, swim.", "Others walk."],
    ["Messrs. Lyell and Dawson came.", "So did MM. Lund and Clausen."],
    ["See No. 4 and p. 12 of vol. 2.", "It is 3.5 deep."],
    ["Did he come?", "No.", "I had to go."],
    ["I waited; Nothing came; I left.", "He stayed."],
    ["“Dead?” repeated Diana.", "“Yes.”", "She wept."],
    ["‘To be sure!’ said my aunt, patting her cheek.", "‘Well!’"],
    ["Which is better?--To have surrendered.", "No!"],
    ["He left (I saw him).", "She stayed."],
    ["It is [still in use](_URL_0_).", "California uses it."],
    ["Because your body knows.", "if you slouch, it hurts."],
    ["He wrote `` a cloud of thought . ''", "Pirsig began his book ."],
]


def sentences_of(text):
    return [" ".join(text[start:end].split()) for start, end in sentence_bounds(text)]


@pytest.mark.parametrize("wanted", CASES)
def test_hand_cut_text(wanted):
    assert sentences_of(" ".join(wanted)) == wanted


def test_line_breaks_end_no_sentence_but_blank_lines_and_lists_do():
    text = "CHAPTER I\n\nIt was a dark\nand stormy night. We ate:\n* bread\n* cheese; or\n1. fish"
    assert sentences_of(text) == [
        "CHAPTER I", "It was a dark and stormy night.", "We ate:", "* bread", "* cheese; or",
        "1. fish",
    ]  # fmt: skip


@given(st.text(st.sampled_from("Aab1 .!?;:\n\"')(*-–“”_&\u00a0é") | st.characters(), max_size=80))
def test_nothing_is_lost_but_white_space(text):
    place = 0
    for start, end in sentence_bounds(text):
        assert start < end
        assert not text[place:start].strip()
        assert text[start:end] == text[start:end].strip()
        place = end
    assert not text[place:].strip()


@pytest.mark.parametrize(
    ("sentence", "pieces"),
    [
        ("He came; he saw: he left.", ["He came;", "he saw:", "he left."]),
        ("He said:--“No.”", ["He said:--", "“No.”"]),
        ("“I will;” she said, “so:” and left.", ["“I will;”", "she said, “so:”", "and left."]),
        ("At 3:30 see Genesis 3:16;all", ["At 3:30 see Genesis 3:16;all"]),
        ("She went ... and came back.", ["She went ...", "and came back."]),
        ("She went...and came. . . . Then no", ["She went...", "and came. . . .", "Then no"]),
        ("… I met a white man…", ["… I met a white man…"]),
        ("A * * * B", ["A * * *", "B"]),
        (": ; ...", [": ; ..."]),
        ("", []),
        ("one.. two", ["one.. two"]),
    ],
)
def test_cuts_at_ellipses_colons_and_semicolons(sentence, pieces):
    assert cut_sentence(sentence) == pieces


@given(st.text(alphabet="aB .…;:\"”')*-—\n", max_size=40))
def test_a_cut_sentence_loses_white_space_alone(sentence):
    assert "".join("".join(cut_sentence(sentence)).split()) == "".join(sentence.split())


def test_sentences_of_paragraphs():
    text = ["Dr. Shaw had argued; Miss\n Lee had not. “Why?”  he said.", "She knew."]
    assert literary_sentences(text) == [
        "Dr. Shaw had argued;", "Miss Lee had not.", "“Why?” he said.", "She knew.",
    ]  # fmt: skip


HEADER = "The Project Gutenberg EBook of X\n\nThis eBook is for the use of anyone.\n\n"
LICENCE = "Section 1. General Terms of Use of Project Gutenberg-tm electronic works\n"


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("*** START OF THIS PROJECT GUTENBERG EBOOK X ***", "*** END OF THIS PROJECT X ***"),
        ("***START OF THE PROJECT GUTENBERG EBOOK X***", "***END OF THE EBOOK X***"),
        ("*** START OF THE PROJECT EBOOK A LONG\nNAME ***", "*** END OF THE A LONG\nNAME ***"),
        ("*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
         "End of the Project Gutenberg Etext of X"),
    ],
)  # fmt: skip
def test_the_licence_is_cut_off(start, end):
    people = "\n\nProduced by A. Reader and the Online\nTeam\n\n\nTranscriber's note: x\n\n"
    book = "CHAPTER I\n\nThe book. THE END OF all."
    old = "\n\n\nEnd of Project Gutenberg's X, by Y\n\n"
    text = HEADER + start + people + book + old + end + LICENCE
    assert body(text) == book
    first, past = body_bounds(text)
    assert text[first:past] == book


def test_a_plain_book_is_left_as_it_is():
    assert body("\n A book about *** stars ***.\n\n") == "A book about *** stars ***."
    assert body("") == ""


def test_a_book_that_keeps_its_licence_is_refused(tmp_path):
    with pytest.raises(InputError) as caught:
        body(HEADER + "\nThe book.\n\n" + LICENCE, tmp_path / "b.txt")
    assert caught.value.path == tmp_path / "b.txt"


@pytest.mark.parametrize("text", ['{"a": 1}', "<html><p>x", "a\tb\nc\td\ne\tf\ng\th\n"])
def test_what_is_not_plain_text_is_refused(tmp_path, text):
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(InputError) as caught:
        read_plain(tmp_path / "x.txt")
    assert caught.value.line == 1


def test_no_licence_stays_in_the_real_books(collections):
    books = sorted((collections / "gutenberg").glob("*/*.txt"))
    assert len(books) >= 28
    for path in books:
        text = body(read_plain(path), path).lower()
        assert "project gutenberg" not in text, path
        assert "small print" not in text, path
        assert len(text) > 100_000, path
