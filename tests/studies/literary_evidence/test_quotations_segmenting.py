"""Sentences that also end at ellipses, colons and semicolons."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.corpora.literary_sentences import are_elided, cut_sentence, literary_sentences


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
        ("Why? . . . Because;", ["Why? . . .", "Because;"]),
        ("A * * * B", ["A * * *", "B"]),
        (": ; ...", [": ; ..."]),
        ("", []),
        ("Mr. Elliot.", ["Mr. Elliot."]),
        ("one.. two", ["one.. two"]),
    ],
)
def test_cuts(sentence: str, pieces: list[str]) -> None:
    assert cut_sentence(sentence) == pieces


@given(st.text(alphabet="aB .…;:\"”')*-—\n", max_size=40))
def test_nothing_but_white_space_is_lost(sentence: str) -> None:
    assert "".join("".join(cut_sentence(sentence)).split()) == "".join(sentence.split())


def test_sentences_of_paragraphs() -> None:
    text = ["Dr. Shaw had argued; Miss\n Lee had not. “Why?”  he said.", "She knew."]
    assert literary_sentences(text) == [
        "Dr. Shaw had argued;", "Miss Lee had not.", "“Why?” he said.", "She knew.",
    ]  # fmt: skip
    assert literary_sentences([]) == []


@pytest.mark.parametrize(
    ("before", "after", "elided"),
    [
        ("He went...", "and came.", True), ("He went", "“… and came.", True),
        ("He went. . . .”", "Then", True), ("He went;", "and came.", False),
        ("He went.", "Then..", False), ("He went [...]", "then", True),
    ],
)  # fmt: skip
def test_ellipses_between_sentences(before: str, after: str, elided: bool) -> None:
    assert are_elided(before, after) is elided
