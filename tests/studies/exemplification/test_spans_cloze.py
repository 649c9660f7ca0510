"""Sentences masked in their own text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.cli.app import main
from adducir.core.errors import UsageError
from adducir.corpora.spans import read_spans
from adducir.studies.exemplification.cloze import mask_sentences
from adducir.studies.exemplification.texts import ANSWER, BOOK, Text


def text_of(count, *, kind=ANSWER, name="t"):
    content = " ".join(f"Sentence number {n} has these eight words." for n in range(count))
    return Text(name, "g", content, kind, "file", offset=100 if kind == BOOK else 0)


def masks(count, **options):
    return list(mask_sentences([text_of(count)], **{"min_words": 1, **options}))


def number_of(span):
    return int(span.span[0].split()[2])


def test_masks_stand_evenly_and_keep_their_place():
    found = masks(30, every=10)
    assert [number_of(span) for span in found] == [5, 15, 25]
    for span in found:
        at = number_of(span)
        assert span.left[-1] == f"Sentence number {at - 1} has these eight words."
        assert span.right[0] == f"Sentence number {at + 1} has these eight words."
        assert span.extra["kind"] == "cloze"
        content = text_of(30).content
        assert content[span.extra["start"] : span.extra["end"]] == span.text
    assert len({span.id for span in found}) == 3


@pytest.mark.parametrize(("count", "expected"), [(0, []), (1, []), (2, []), (3, [1]), (4, [1])])
def test_short_texts(count, expected):
    assert [number_of(span) for span in masks(count, every=10)] == expected


def test_lengths_go_round_and_leave_context():
    found = masks(40, every=6, longest=3)
    assert [len(span.span) for span in found] == [1, 2, 3, 1, 2, 3]
    assert all(span.left and span.right for span in masks(9, every=4, longest=3))


def test_words_bound_masks_and_contexts():
    assert masks(30, min_words=8) == []
    assert masks(30, max_words=6) == []
    assert len(masks(30, max_words=7, longest=2)) == 3
    assert [len(span.left) for span in masks(30, words=10)] == [2, 2, 2]


def test_places_of_a_book_are_those_of_its_file():
    (span, *_) = mask_sentences([text_of(20, kind=BOOK)], min_words=1)
    assert span.id == f"t:{span.extra['start']}"
    assert span.extra["start"] >= 100


@given(st.integers(0, 60), st.integers(2, 12), st.integers(1, 5))
def test_masks_never_meet_and_have_context(count, every, longest):
    if every <= longest:
        with pytest.raises(UsageError):
            masks(count, every=every, longest=longest)
        return
    ends = 0
    for span in masks(count, every=every, longest=longest):
        assert span.extra["start"] >= ends
        ends = span.extra["end"]
        assert span.left
        assert span.right
        assert 1 <= len(span.span) <= longest


def test_what_cannot_be_is_reported_with_its_numbers():
    with pytest.raises(UsageError, match="up to 10 sentences would meet, 5 sentences apart"):
        masks(20, every=5, longest=10)
    with pytest.raises(UsageError, match="70 words: it has 1 sentences at most, of 60 words"):
        masks(20, min_words=70)
    assert masks(20, min_words=70, longest=3) == []


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.txt").write_text(text_of(30).content)
    assert (
        main(["exemplification", "cloze", "book.txt", "--min-words", "5", "-o", "x.jsonl.gz"]) == 0
    )
    assert "wrote x.jsonl.gz: 3 masks" in capsys.readouterr().err
    assert [span.group for span in read_spans(tmp_path / "x.jsonl.gz")] == ["book"] * 3
    assert main(["exemplification", "cloze", "book.txt", "-o", "book.txt"]) == 2
    assert (
        main(["exemplification", "cloze", "book.txt", "--max-sentences", "10", "-o", "y.jsonl"])
        == 2
    )
    assert not (tmp_path / "y.jsonl").exists()
    assert main(["exemplification", "cloze", "missing.txt", "-o", "y.jsonl"]) == 3
