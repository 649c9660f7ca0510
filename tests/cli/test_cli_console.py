"""What is shown: progress as lines or bars, results whole, and nothing that steers a terminal."""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.cli.console import PlainProgress
from adducir.cli.console import show as show_text

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b8m\u202e"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b8m\u202e"
# What commands themselves send to a terminal: colours, and the bars' cursor movements.
OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\d*[AK]|\x1b\[\?25[lh]|\r")


class Clock:
    """Seconds that pass only when told to."""

    now = 100.0

    def __call__(self):
        return self.now


def plain():
    stream, clock = io.StringIO(), Clock()
    return PlainProgress(stream, clock), stream, clock


def test_quick_work_gets_one_line():
    progress, stream, clock = plain()
    progress.start("indexing", 300, "documents")
    clock.now += 0.3
    progress.advance(300)
    progress.finish()
    assert stream.getvalue() == "indexing: 300 documents in 0.3 s\n"


def test_long_work_gets_lines_at_growing_intervals():
    progress, stream, clock = plain()
    progress.start("indexing", 100_000, "documents")
    for _ in range(1000):
        clock.now += 1
        progress.advance(100)
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("indexing: 500 of 100,000 documents (0%), 100")
    assert lines[0].endswith("16 min 35 s left")
    assert 15 <= len(lines) <= 30  # one per minute at the end, more often at first


def on_terminal(folder, *arguments):
    """The exit code of a program on a terminal, and all that it sent there."""
    outside, inside = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
    )
    os.close(inside)
    sent = b""
    try:
        while piece := os.read(outside, 1 << 16):
            sent += piece
    except OSError:  # the program has ended
        pass
    os.close(outside)
    return done.wait(), sent.decode("utf-8")


_WORKING = f"""
import time
from adducir.cli import bars, console
bars.TICK = .02
with console.open_progress() as progress:
    progress.start("indexing", 300, "documents")
    for _ in range(3):
        time.sleep(.12)
        progress.advance(100)
    progress.note("a note [of mine] " + {EVIL!r})
    progress.finish()
    progress.start("reading", None, "lines")
    progress.advance(5)
    progress.finish()
    time.sleep(.2)
console.show("RESULT")
"""


def controls(sent):
    """What is left of control characters when a command's own are taken away."""
    return re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", OWN.sub("", sent))


def test_bars_on_a_terminal(tmp_path):
    code, sent = on_terminal(tmp_path, "-c", _WORKING)
    assert code == 0
    words = ["indexing", "300/300", "documents", "a note [of mine]", "/s", "working:", "RESULT"]
    assert [one for one in words if one not in sent] == []
    assert controls(sent) == []


def test_a_bar_moves_while_one_inside_it_waits(tmp_path):
    code = """
import time
from adducir.cli import bars, console
bars.TICK = .02
with console.open_progress() as progress, progress.doing("encoding", None, "texts"):
    with progress.doing("running", 100, "tokens"):
        time.sleep(.5)
"""
    code, sent = on_terminal(tmp_path, "-c", code)
    assert code == 0
    assert sent.count("encoding") > 5
    assert "running" not in sent


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text(f"q{EVIL} Q0 d{EVIL} 1 1.0 t{EVIL}\n", encoding="utf-8")
    Path(f"b{EVIL}.run").write_text("q1 Q0 d1 1 1.0 t\n", encoding="utf-8")
    Path("q.txt").write_text(f"q{EVIL} 0 d1 1\nq2 0 d2 1\n", encoding="utf-8")
    return tmp_path


def test_no_control_character_of_a_file_reaches_the_terminal(files):
    commands = (
        ("check", "a.run", f"b{EVIL}.run"),
        ("evaluate", "a.run", "--qrels", "q.txt", "-m", "P@1", "--per-topic"),
        ("fuse", "a.run", f"b{EVIL}.run", "-o", "out.run"),
        ("fuse", "a.run", f"b{EVIL}.run", "-o", "-"),
        ("--debug", "evaluate", f"no{EVIL}file", "--qrels", "q.txt"),
    )
    code = f"""
from adducir.cli.app import main
for words in {commands!r}:
    main([*words])
    print("END", flush=True)
"""
    _, sent = on_terminal(files, "-c", code)
    *each, rest = sent.split("END")
    assert [bool(one.strip()) for one in each] == [True] * len(commands), rest
    assert controls(sent) == []


def test_what_does_not_go_to_a_terminal_stays_as_it_is(files, capsys):
    table = ["evaluate", "a.run", "--qrels", "q.txt", "-m", "P@1", "--per-topic"]
    assert main([*table, "--format", "csv"]) == 0
    assert f"q{EVIL}" in capsys.readouterr().out
    assert main(["evaluate", f"no{EVIL}file", "--qrels", "q.txt"]) == 3
    assert SHOWN in capsys.readouterr().err


def test_results_go_to_stdout_or_whole_to_a_file(tmp_path, capsys):
    show_text("a table")
    assert capsys.readouterr() == ("a table\n", "")
    show_text("a table\n", tmp_path / "new" / "t.txt")
    assert (tmp_path / "new" / "t.txt").read_text() == "a table\n"
    assert capsys.readouterr() == ("", f"wrote {tmp_path / 'new' / 't.txt'}\n")
    with pytest.raises(Exception, match="UTF-8"):
        show_text("before \ud800 after", tmp_path / "u.txt")
    assert not (tmp_path / "u.txt").exists()
