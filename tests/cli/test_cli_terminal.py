"""What files hold cannot steer the terminal: commands run on one, with data that tries to."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.cli.console import BarProgress
from adducir.tables.formats.terminal import render
from adducir.tables.table import Column, ResultTable, Row, TableCell, Versus

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b8m\u202e"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b8m\u202e"
# What commands themselves send to a terminal: colours, and the bars' cursor movements.
OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\d*[AK]|\x1b\[\?25[lh]|\r")


def on_terminal(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of a command, and all that it sent to its terminal."""
    outside, inside = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-m", "adducir.cli.app", *arguments],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
    )
    os.close(inside)
    sent = b""
    while True:
        try:
            piece = os.read(outside, 1 << 16)
        except OSError:  # the command has ended
            break
        if not piece:
            break
        sent += piece
    os.close(outside)
    return done.wait(), sent.decode("utf-8")


def controls(sent: str) -> list[str]:
    """What is left of control characters when a command's own are taken away."""
    return re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", OWN.sub("", sent))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    evil = EVIL.replace("\x85", "")
    (tmp_path / "a.run").write_text(f"q{evil} Q0 d{evil} 1 1.0 t{evil}\n", encoding="utf-8")
    (tmp_path / f"b{evil}.run").write_text("q1 Q0 d1 1 1.0 t\n", encoding="utf-8")
    (tmp_path / "q.txt").write_text(f"q{evil} 0 d1 1\nq2 0 d2 1\n", encoding="utf-8")
    book = f"Title: A{evil}B\n\nCHAPTER I\n\nThe old{evil} teacher had tenure. It was good.\n"
    (tmp_path / "book.txt").write_text(book, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "a.run", f"b{EVIL}.run"),
        ("evaluate", "a.run", "--qrels", "q.txt", "-m", "P@1"),
        ("evaluate", "a.run", "--qrels", "q.txt", "-m", "P@1", "--format", "csv", "--per-topic"),
        ("fuse", "a.run", f"b{EVIL}.run", "-o", "out.run"),
        (
            "literary-evidence",
            "ask",
            "book.txt",
            f"teacher{EVIL}",
            "--model",
            "bm25",
            "--sentences",
            "1",
        ),
        ("--debug", "evaluate", f"no{EVIL}file", "--qrels", "q.txt"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]).encode("ascii", "backslashreplace").decode(),
)
def test_no_control_character_of_a_file_reaches_the_terminal(files, arguments):
    _, sent = on_terminal(files, *arguments)
    assert sent.strip()
    assert controls(sent) == []
    assert "Traceback" not in sent or "--debug" in arguments


def test_what_does_not_go_to_a_terminal_stays_as_it_is(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    table = ["evaluate", "a.run", "--qrels", "q.txt", "-m", "P@1", "--per-topic"]
    assert main([*table, "--format", "csv"]) == 0
    assert f"q{EVIL}" in capsys.readouterr().out
    assert main([*table, "--output", "out.csv"]) == 0
    assert f"q{EVIL}" in (files / "out.csv").read_text(encoding="utf-8")
    assert SHOWN not in capsys.readouterr().err


def test_errors_and_notes_are_harmless_wherever_they_go(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    assert main(["evaluate", f"no{EVIL}file", "--qrels", "q.txt"]) == 3
    assert SHOWN in capsys.readouterr().err
    assert main(["fuse", "a.run", f"b{EVIL}.run", "-o", "out.run"]) == 0
    message = capsys.readouterr().err
    assert controls(message) == []
    assert SHOWN in message
    (files / "long.jsonl").write_text(json.dumps({"qid": "x " * 90_000}), encoding="utf-8")
    assert main(["search", "--index", "none", "-t", "long.jsonl", "-o", "o.run"]) != 0
    assert len(capsys.readouterr().err) < 10_000


def test_bars_show_no_control_characters(capsys):
    with BarProgress() as bars:
        bars.start(f"reading {EVIL}", 2, "lines")
        bars.detail(EVIL)
        bars.note(f"note {EVIL}")
        bars.finish()
    assert controls(capsys.readouterr().err) == []


def test_a_tables_legend_is_harmless():
    versus = Versus(f"base{EVIL}", 0.1, "better", p=0.01, p_corrected=0.01)
    table = ResultTable(
        columns=(Column("P@1", label=f"P{EVIL}"),),
        rows=(
            Row(f"base{EVIL}", cells=(TableCell(0.1, 3),)),
            Row(f"other{EVIL}", cells=(TableCell(0.2, 3, best=True, versus=(versus,)),)),
        ),
        baselines=(f"base{EVIL}",),
        footer=(f"footer{EVIL}",),
        title=f"title{EVIL}",
    )
    assert controls(render(table, width=60)) == []
    assert controls(render(table, width=60, color=True)) == []
