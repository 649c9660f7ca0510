"""Prompts against books: chapters, places, fused rankings, the command."""

from pathlib import Path

import pytest
from tiny import as_encoder, tiny_bert

from adducir.cli.app import main
from adducir.core.errors import InputError
from adducir.encoders.kinds import encoder_source
from adducir.encoders.model import DualEncoder
from adducir.encoders.settings import EncodingSettings
from adducir.studies.literary_evidence.ask import Book, SearchableBooks, heading_of, open_book

MEAN = EncodingSettings(pooling="mean", similarity="dot")

TEXT = """Title: A Book of Cats

*** START OF THE PROJECT GUTENBERG EBOOK A BOOK OF CATS ***

CONTENTS

CHAPTER I

CHAPTER II

BOOK THE FIRST

CHAPTER I. The Cat

The cat slept on the warm
wall. Nobody woke it. The dog ran past.

CHAPTER II

A storm came in the night. The roof of the old school fell. All the dogs cried!

*** END OF THE PROJECT GUTENBERG EBOOK A BOOK OF CATS ***
Licence of Project Gutenberg
"""
ASK = ("literary-evidence", "ask")


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cats.txt").write_text(TEXT)
    return tmp_path / "cats.txt"


def test_a_book_its_sentences_and_chapters(path):
    book = open_book(path)
    assert book.title == "A Book of Cats"
    assert list(book.sentences) == [
        "CONTENTS", "The cat slept on the warm wall.", "Nobody woke it.", "The dog ran past.",
        "A storm came in the night.", "The roof of the old school fell.", "All the dogs cried!",
    ]  # fmt: skip
    chapters = [book.chapter_of(n) for n in (0, 1, 3, 4)]
    first, second = "BOOK THE FIRST, CHAPTER I. The Cat", "BOOK THE FIRST, CHAPTER II"
    assert chapters == [None, first, first, second]
    assert list(book.places) == sorted(book.places)
    assert book.passages(2) == [1, 2, 4, 5]  # none across a heading
    assert book.passages(4) == []
    path.write_text("\n \n")
    with pytest.raises(InputError):
        open_book(path)
    path.write_text("One sentence here. Another one there.")
    assert (open_book(path).title, open_book(path).chapter_of(1)) == ("cats", None)


@pytest.mark.parametrize(
    ("paragraph", "heading"),
    [
        ("CHAPTER XII.", "CHAPTER XII"),
        ("CHAPTER IV\n  The Road to Nowhere", "CHAPTER IV The Road to Nowhere"),
        ("LETTER the First", "LETTER the First"),
        ("XIV", "XIV"),
        ("I. The Period", "I. The Period"),
        ("PREFACE", "PREFACE"),
        ("Chapter by chapter he read on.", None),
        ("Part of it was true.", None),
        ("Book one a room, please, she said,", None),
        ("I. He said nothing; she wept.", None),
        ("The Cat", None),
        ("", None),
    ],
)
def test_headings(paragraph, heading):
    assert heading_of(paragraph) == heading


def test_fused_rankings_by_hand_and_no_overlaps(tmp_path):
    source = encoder_source(str(tiny_bert(tmp_path / "tiny")), encoding=MEAN)
    encoder = DualEncoder.load(source)
    words = ["cat", "dog", "nuclear", "energy", "school", "fast", "slow", "clean"]
    book = Book("b", words, [n / 8 for n in range(8)], [(0, "I")])
    prompt = "nuclear cat"
    searchable = SearchableBooks([book], 2, encoders={"tiny": (source, encoder)})
    found = searchable.best(prompt, top=10)
    texts = [" ".join(words[start : start + 2]) for start in range(7)]
    similar = (encoder.encode_documents(texts) @ encoder.encode_queries([prompt])[0]).tolist()
    by_meaning = sorted(range(7), key=lambda n: -similar[n])
    by_words = [p.start for p in SearchableBooks([book], 2).best(prompt, top=10)]
    for passage in found:
        assert passage.ranks["tiny"] == by_meaning.index(passage.start) + 1
    assert set(by_words) <= {0, 1, 2}  # those with a word of the prompt
    totals = [sum(1 / (60 + rank) for rank in passage.ranks.values() if rank) for passage in found]
    assert totals == sorted(totals, reverse=True)
    starts = [passage.start for passage in found]
    assert all(abs(a - b) >= 2 for a in starts for b in starts if a != b)
    assert len(searchable.best(prompt, top=2)) == 2


def test_the_command_keeps_what_an_encoder_made(path, tmp_path, capsys, monkeypatch):
    model = as_encoder(tiny_bert(tmp_path / "tiny"), tmp_path / "encoder")
    words = [*ASK, str(path), "cat on the wall", "storm", "-m", "bm25", "-m", str(model)]
    assert main([*words, "--sentences", "1", "--top", "2"]) == 0
    shown = capsys.readouterr().out
    assert "A Book of Cats  6 passages of 1 sentence" in shown
    assert "“cat on the wall”" in shown
    assert "BOOK THE FIRST, CHAPTER I. The Cat · " in shown
    assert "bm25 #1" in shown
    assert len(list((tmp_path / "cache/adducir/ask").glob("[!.]*"))) == 1
    monkeypatch.setattr(
        DualEncoder, "encode_documents", lambda *_: pytest.fail("the book was read again")
    )
    assert main([*words, "--sentences", "1", "--top", "2"]) == 0
    assert capsys.readouterr().out == shown


def test_several_books_and_folders_are_books_and_no_prompts(path, capsys):
    Path("more").mkdir()
    Path("more/fog.txt").write_text("The fog hid the quay. A gull cried. Nobody came.")
    Path("more/notes.pdf").write_text("Notes")
    for books in (["cats.txt", "more/fog.txt"], ["cats.txt", "more"]):
        assert main([*ASK, *books, "fog by the quay", "-m", "bm25", "--sentences", "1"]) == 0
        shown = capsys.readouterr()
        assert shown.out.count("“") == 1
        assert "9 passages" in shown.out
        assert "fog · 0%" in shown.out
        assert ("notes.pdf" in shown.err) == (books[-1] == "more")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["cats.txt", "fog.txt"], 2),
        (["cats.txt", "none.txt", "the storm"], 2),
        (["cats.txt", "the storm", "fog.txt"], 2),
        (["cats.txt", " "], 2),
        (["none.txt", "the storm"], 3),
    ],
)
def test_what_may_be_a_book_is_not_taken_for_a_prompt(words, code, path, monkeypatch):
    Path("fog.txt").write_text("The fog hid the quay.")
    monkeypatch.setattr(DualEncoder, "load", lambda *_: pytest.fail("an encoder was opened"))
    assert main([*ASK, *words]) == code
