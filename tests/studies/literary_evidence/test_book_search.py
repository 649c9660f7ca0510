"""Prompts against a book: chapters, places, fused rankings, the command."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))

from tiny import tiny_bert

from adducir.cli.app import main
from adducir.core.errors import InputError, MachineError, UsageError
from adducir.encoders import encoding
from adducir.encoders.model import DualEncoder
from adducir.encoders.sources import encoder_source
from adducir.models import machine
from adducir.studies.literary_evidence.book import Book, Heading, heading_of, open_book
from adducir.studies.literary_evidence.book_search import SearchableBooks

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

CPU = torch.device("cpu")

ASK = ("literary-evidence", "ask")


@pytest.fixture
def path(tmp_path):
    (tmp_path / "cats.txt").write_text(TEXT)
    return tmp_path / "cats.txt"


def test_a_book_its_sentences_and_chapters(path):
    book = open_book(path)
    assert book.title == "A Book of Cats"
    assert book.sentences == (
        "CONTENTS",
        "The cat slept on the warm wall.",
        "Nobody woke it.",
        "The dog ran past.",
        "A storm came in the night.",
        "The roof of the old school fell.",
        "All the dogs cried!",
    )
    assert [book.chapter_of(n) for n in range(7)] == [
        None,
        *["BOOK THE FIRST, CHAPTER I. The Cat"] * 3,
        *["BOOK THE FIRST, CHAPTER II"] * 3,
    ]
    assert list(book.places) == sorted(book.places)
    assert book.passages(2) == [1, 2, 4, 5]  # none across a heading
    assert book.passages(4) == []
    with pytest.raises(UsageError):
        book.passages(0)


@pytest.mark.parametrize(
    ("paragraph", "heading"),
    [
        ("CHAPTER XII.", "CHAPTER XII"),
        ("Chapter 3", "Chapter 3"),
        ("CHAPTER IV\n  The Road to Nowhere", "CHAPTER IV The Road to Nowhere"),
        ("LETTER the First", "LETTER the First"),
        ("XIV", "XIV"),
        ("I. The Period", "I. The Period"),
        ("PREFACE", "PREFACE"),
        ("Chapter by chapter he read on.", None),
        ("Part of it was true.", None),
        ("Book one a room, please, she said,", None),
        ("I. He said nothing; she wept.", None),
        ("I", "I"),
        ("The Cat", None),
        ("", None),
    ],
)
def test_headings(paragraph, heading):
    assert heading_of(paragraph) == heading


def test_a_book_without_headings_and_one_without_text(tmp_path):
    (tmp_path / "a.txt").write_text("One sentence here. Another one there.")
    book = open_book(tmp_path / "a.txt")
    assert (book.title, book.headings, book.chapter_of(1)) == ("a", (), None)
    (tmp_path / "b.txt").write_text("\n \n")
    with pytest.raises(InputError, match="no sentence"):
        open_book(tmp_path / "b.txt")


def test_words_alone(path):
    searchable = SearchableBooks([open_book(path)], 1)
    (first,) = searchable.best("a cat on the walls")
    assert first.text == "The cat slept on the warm wall."
    assert first.ranks == {"bm25": 1}
    assert first.chapter == "BOOK THE FIRST, CHAPTER I. The Cat"
    assert searchable.best("zebra") == []
    with pytest.raises(UsageError, match="no passage of 9"):
        SearchableBooks([open_book(path)], 9)
    with pytest.raises(UsageError, match="at least one"):
        SearchableBooks([open_book(path)], 1, words=False)


def test_fused_rankings_by_hand_and_no_overlaps(tmp_path):
    source = encoder_source(str(tiny_bert(tmp_path / "tiny")))
    encoder = DualEncoder.load(source)
    words = ["cat", "dog", "nuclear", "energy", "school", "fast", "slow", "clean"]
    book = Book("b", tuple(words), tuple(n / 8 for n in range(8)), (Heading("I", 0),))
    prompt = "nuclear cat"
    searchable = SearchableBooks([book], 2, encoders={"tiny": (source, encoder)})
    found = searchable.best(prompt, top=10)
    texts = [book.text_of(start, 2) for start in range(7)]
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


def test_kept_vectors_are_taken_up_again(path, tmp_path, monkeypatch):
    source = encoder_source(str(tiny_bert(tmp_path / "tiny")))
    encoders = {"tiny": (source, DualEncoder.load(source))}
    book, keep = open_book(path), tmp_path / "kept"
    first = SearchableBooks([book], 2, encoders=encoders, keep=keep).best("the cat")
    assert len(list(keep.iterdir())) >= 1
    monkeypatch.setattr(
        DualEncoder, "read_documents", lambda *_: pytest.fail("the book was read again")
    )
    again = SearchableBooks([book], 2, encoders=encoders, keep=keep).best("the cat")
    assert again == first


def test_kept_vectors_are_computed_where_the_encoder_is(path, tmp_path, monkeypatch):
    searchable = []
    monkeypatch.setattr(machine, "choose_device", lambda name: searchable.append(name) or CPU)
    source = encoder_source(str(tiny_bert(tmp_path / "tiny")))
    encoders = {"tiny": (source, DualEncoder.load(source))}
    SearchableBooks([open_book(path)], 2, encoders=encoders, keep=tmp_path / "kept")
    assert searchable == ["cpu"]


def test_a_book_is_answered_from_where_nothing_can_be_kept(path, tmp_path, monkeypatch, capsys):
    def full(*_, **__):
        raise MachineError("the disk is full.")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(encoding, "encode", full)
    words = [*ASK, str(path), "cat on the wall", "-m", str(tiny_bert(tmp_path / "tiny"))]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "not kept: the disk is full" in shown.err
    assert "4 passages of 2 sentences" in shown.out
    assert main([*words, "--keep", str(tmp_path / "mine")]) == 0
    assert "not kept: the disk is full" in capsys.readouterr().err


def test_the_command(path, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = tiny_bert(tmp_path / "tiny")
    words = [*ASK, str(path), "cat on the wall", "storm", "-m", "bm25", "-m", str(model)]
    assert main([*words, "--sentences", "1", "--top", "2"]) == 0
    shown = capsys.readouterr().out
    assert "A Book of Cats  7 passages of 1 sentence" in shown
    assert "“cat on the wall”" in shown
    assert "The cat slept on the warm wall." in shown
    assert "BOOK THE FIRST, CHAPTER I. The Cat · " in shown
    assert "bm25 #1" in shown
    kept = tmp_path / "cache" / "adducir" / "ask"
    assert len(list(kept.glob("[!.]*"))) == 1
    assert main([*words, "--sentences", "1", "--top", "2"]) == 0
    assert capsys.readouterr().out == shown
    assert main([*ASK, str(path), "storm", "-m", "bm25"]) == 0
    assert "A storm came in the night." in capsys.readouterr().out
    assert main([*ASK, str(path), " ", "-m", "bm25"]) == 2
    assert main([*ASK, str(tmp_path / "none.txt"), "storm", "-m", "bm25"]) == 3


def test_several_books_and_folders_are_books_and_no_prompts(path, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "fog.txt").write_text("The fog hid the quay. A gull cried. Nobody came.")
    (tmp_path / "more" / "notes.pdf").write_text("Notes")
    by_words = ["-m", "bm25", "--sentences", "1"]
    for books in (["cats.txt", "more/fog.txt"], ["cats.txt", "more"]):
        assert main([*ASK, *books, "fog by the quay", *by_words]) == 0
        shown = capsys.readouterr()
        assert shown.out.count("“") == 1
        assert "10 passages" in shown.out
        assert "fog · 0%" in shown.out
        assert ("notes.pdf" in shown.err) == (books[-1] == "more")


@pytest.mark.parametrize(
    "words",
    [
        ["cats.txt", "fog.txt"],
        ["cats.txt", "none.txt", "the storm"],
        ["cats.txt", "the storm", "fog.txt"],
    ],
)
def test_what_may_be_a_book_is_not_taken_for_a_prompt(words, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fog.txt").write_text("The fog hid the quay.")
    monkeypatch.setattr(DualEncoder, "load", lambda *_: pytest.fail("an encoder was opened"))
    assert main([*ASK, *words]) == 2
