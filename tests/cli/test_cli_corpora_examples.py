"""``adducir exemplification examples``."""

from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.corpora.spans import read_spans


@pytest.fixture
def books(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("books").mkdir()
    Path("books/a.txt").write_text("Dogs help. For example, some guide the blind. (e.g. Fig. 3)\n")
    Path("books/b.txt").write_text("Fish (e.g. eels) swim.\n\nHe (e.g. left.\n")
    return tmp_path


def test_what_it_writes_and_prints(books, capsys):
    assert main(["exemplification", "examples", "books", "-o", "out/x.jsonl.gz"]) == 0
    spans = list(read_spans(Path("out/x.jsonl.gz")))
    assert [span.id for span in spans] == ["a:11", "b:5"]
    shown = dict(line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    rows = {name.strip(): value for name, value in shown.items()}
    assert rows["examples"] == rows["different ones (candidates)"] == "2"
    assert rows["answers or books read"] == rows["questions or books with one"] == "2"
    assert rows["mean words of left context"] == "1.5"  # "Dogs help." and "Fish"
    assert rows["mean words of example"] == "4.0"  # six and two
    assert rows["dropped: parenthesis not closed"] == "1"
    assert rows["dropped: points to a figure, table, page or book"] == "1"


def test_nested_folders_of_books_are_read(books, capsys):
    """Books3 has its books in folders by letter and author."""
    for name in ("books/A/Austen/a.txt", "books/B/a.txt", "books/B/cover.jpg"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(f"Cats purr. For example, some in {name[6]} are content.\n")
    assert main(["exemplification", "examples", "books", "-o", "x.jsonl.gz"]) == 0
    spans = list(read_spans(Path("x.jsonl.gz")))
    assert [(span.id, span.group) for span in spans] == [
        ("A/Austen/a:11", "A/Austen/a"),
        ("B/a:11", "B/a"),
        ("a:11", "a"),
        ("b:5", "b"),
    ]
    assert "B/cover.jpg" in capsys.readouterr().err


def test_errors(books, capsys):
    assert main(["exemplification", "examples", "books/a.txt", "-o", "books/a.txt"]) == 2
    assert main(["exemplification", "examples", "none.txt", "-o", "x.jsonl"]) == 3
    assert (
        main(["exemplification", "examples", "books/a.txt", "--format", "qa", "-o", "x.jsonl"]) == 3
    )
    assert "books/a.txt:1" in capsys.readouterr().err
    assert not Path("x.jsonl").exists()


def test_a_json_array_is_no_book(tmp_path, capsys):
    """It was read as one book, and examples were cut out of raw JSON."""
    import gzip
    import json

    record = {
        "q_id": "q",
        "title": "Why?",
        "answers": {"a_id": ["a"], "text": ["Ice. For example, x."]},
    }
    path = tmp_path / "eli5.json.gz"
    path.write_bytes(gzip.compress(json.dumps([record]).encode()))
    assert main(["exemplification", "examples", str(path), "-o", str(tmp_path / "x.jsonl")]) == 0
    (line,) = (tmp_path / "x.jsonl").read_text().splitlines()
    assert json.loads(line)["span"] == ["For example, x."]
