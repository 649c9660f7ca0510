"""``adducir literary-evidence quotations``."""

import json
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.corpora.spans import read_spans

TALE = """*** START OF THIS PROJECT GUTENBERG EBOOK A TALE ***

CHAPTER I

The harbour lay so still that morning that the gulls seemed
painted on it. Old Margaret counted her baskets twice, for she
trusted nobody, and herself least of all.

*** END OF THIS PROJECT GUTENBERG EBOOK A TALE ***

You may copy it under the terms of the Project Gutenberg License.
"""
CRITICISM = """The opening of this little book has been praised more often than it has been read.
Much depends on what we are told of her:

"Old Margaret counted her baskets twice, for she trusted nobody, and herself least
of all" (45).

It is here that the author shows what can be done with a sober style.
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("books", "works"):
        Path(name).mkdir()
    Path("books/tale.txt").write_text(TALE, encoding="utf-8")
    Path("works/remarks.txt").write_text(CRITICISM, encoding="utf-8")
    return tmp_path


COMMAND = ["literary-evidence", "quotations", "--primary", "books", "--secondary", "works"]


def test_files_report_and_sample(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = [
        *COMMAND,
        "--output",
        "relic.json",
        "--spans",
        "windows.jsonl.gz",
        "--set",
        "min_matches=1",
    ]
    assert main([*line, "--sample", "3"]) == 0
    shown = capsys.readouterr()
    assert "tale          2       2        1           1        1      1" in shown.out
    assert '  critic: "Old Margaret counted' in shown.out
    assert "wrote relic.json: 1 quotations" in shown.err
    book = json.loads((folder / "relic.json").read_text(encoding="utf-8"))["tale"]
    assert book["quotes"] == {
        "000000": [
            [
                "The opening of this little book has been praised more often than it has been "
                "read.",
                "Much depends on what we are told of her:",
            ],
            1,
            1,
            ["It is here that the author shows what can be done with a sober style."],
        ]
    }
    assert book["candidates"]["2_sentence"] == [0]
    (span,) = read_spans(folder / "windows.jsonl.gz")
    assert (span.id, span.candidate, span.extra["work"]) == ("000000", "tale/1+1", "remarks")


def test_parts_by_book(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(6):
        text = TALE.replace("Margaret", f"Margaret {'abcdef'[number] * 40}")
        Path(f"books/b{number}.txt").write_text(text, encoding="utf-8")
        quoting = CRITICISM.replace("Margaret", f"Margaret {'abcdef'[number] * 40}")
        Path(f"works/w{number}.txt").write_text(quoting, encoding="utf-8")
    line = [*COMMAND, "-o", "out/relic.json.gz", "--set", "min_matches=1", "--shares", ".4,.3,.3"]
    assert main([*line, "--seed", "3", "--spans", "out/w.jsonl"]) == 0
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == [
        "relic.test.json.gz", "relic.train.json.gz", "relic.validation.json.gz",
        "w.test.jsonl", "w.train.jsonl", "w.validation.jsonl",
    ]  # fmt: skip
    groups = [
        {span.group for span in read_spans(folder / "out" / f"w.{part}.jsonl")}
        for part in ("train", "validation", "test")
    ]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 7


@pytest.mark.parametrize(
    ("wrong", "code", "error"),
    [
        (["--shares", "1,2"], 2, "--shares takes three numbers"),
        (["--rules", "relic", "--set", "min_similarity=0"], 2, "min_similarity must be above 0"),
        (
            ["--set", "min_similarity=90"],
            2,
            "--set min_similarity means nothing without --rules relic",
        ),
        (
            ["--rules", "relic", "--set", "parts=2"],
            2,
            "--set parts means nothing without --rules strict",
        ),
        (["--spans", "relic.json"], 2, "--output and --spans are one file"),
        (["--primary", "nowhere"], 3, "nowhere: there is no such file"),
        (["--secondary", "empty"], 3, "empty: there is no .txt file"),
        (["--secondary", "blank.txt"], 3, "blank.txt: there is no sentence"),
        (["--secondary", "books/tale.txt", "--secondary", "tale.txt"], 3, "its name 'tale'"),
    ],
)
def test_errors(
    folder: Path, capsys: pytest.CaptureFixture[str], wrong: list[str], code: int, error: str
) -> None:
    Path("empty").mkdir()
    Path("blank.txt").write_text("\n\n", encoding="utf-8")
    Path("tale.txt").write_text(TALE, encoding="utf-8")
    assert main([*COMMAND, "--output", "relic.json", *wrong]) == code
    assert error in " ".join(capsys.readouterr().err.split())
    assert not (folder / "relic.json").exists()


def test_what_is_read_is_not_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = [
        "literary-evidence",
        "quotations",
        "--primary",
        "books/tale.txt",
        "--secondary",
        "works",
    ]
    assert main([*line, "--output", "books/tale.txt"]) == 2
    assert (folder / "books/tale.txt").read_text(encoding="utf-8") == TALE
