"""Progress: lines where there is no terminal, bars where there is one."""

import io
import os
import sys

import pytest

from adducir.cli.console import BarProgress, PlainProgress, duration, is_terminal, open_progress
from adducir.cli.console import show as show_text


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def plain():
    stream, clock = io.StringIO(), Clock()
    return PlainProgress(stream, clock), stream, clock


def test_quick_work_gets_one_line():
    progress, stream, clock = plain()
    progress.start("indexing", 300, "documents")
    for _ in range(3):
        clock.now += 0.1
        progress.advance(100)
    progress.finish()
    assert stream.getvalue() == "indexing: 300 documents in 0.3 s\n"


def test_long_work_gets_lines_at_growing_intervals():
    progress, stream, clock = plain()
    progress.start("indexing", 100_000, "documents")
    for _ in range(1000):
        clock.now += 1
        progress.advance(100)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "indexing: 500 of 100,000 documents (0%), 100 a second, 16 min 35 s left"
    assert 15 <= len(lines) <= 30  # one per minute at the end, more often at first
    progress.finish()
    last = stream.getvalue().splitlines()[-1]
    assert last == "indexing: 100,000 documents in 16 min 40 s (100 a second)"


def test_what_was_done_before_is_in_no_rate():
    progress, stream, clock = plain()
    progress.start("weighting", 1000, "documents")
    progress.resume(800)
    clock.now += 10
    progress.advance(100)
    clock.now += 10
    progress.advance(100)
    progress.finish()
    assert stream.getvalue().splitlines() == [
        "weighting: 900 of 1,000 documents (90%), 10 a second, 10 s left",
        "weighting: 1,000 of 1,000 documents (100%), 10 a second, 0.0 s left",
        "weighting: 200 documents after 800 before in 20 s (10 a second)",
    ]


def test_an_unknown_total():
    progress, stream, clock = plain()
    progress.start("reading", None, "lines")
    clock.now += 10
    progress.advance(25)
    assert stream.getvalue() == "reading: 25 lines, 2.5 a second\n"


def test_work_within_work():
    progress, stream, _ = plain()
    progress.start("outer", 2, "systems")
    progress.start("inner", 10, "topics")
    progress.advance(10)
    progress.finish()
    progress.advance(2)
    progress.finish()
    assert stream.getvalue().splitlines() == [
        "inner: 10 topics in 0.0 s",
        "outer: 2 systems in 0.0 s",
    ]


def test_calls_out_of_order_do_no_harm():
    progress, stream, _ = plain()
    progress.advance(3)
    progress.finish()
    assert stream.getvalue() == ""
    bars = BarProgress()
    bars.advance(3)
    bars.finish()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (12, "12 s"),
        (59.7, "1 min 0 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_no_terminal_no_bars():
    assert isinstance(open_progress(), PlainProgress)


def test_a_dumb_terminal_gets_lines(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    assert is_terminal(stream)
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(stream)


@pytest.mark.skipif(os.name == "nt", reason="no pseudo terminals there")
def test_bars_on_a_real_terminal():
    pid, master = os.forkpty()
    if pid == 0:  # the child, with a terminal
        os.environ["TERM"] = "xterm"
        os.environ["COLUMNS"] = "100"
        os.execv(sys.executable, [sys.executable, "-c", _WORKING])
    shown = b""
    while True:
        try:
            block = os.read(master, 4096)
        except OSError:
            break
        if not block:
            break
        shown += block
    assert os.waitpid(pid, 0)[1] == 0
    text = shown.decode()
    assert "indexing" in text
    assert "300/300 documents" in text
    assert "a note [of mine]" in text
    assert "/s" in text
    assert "RESULT" in text


_WORKING = """
import time
from adducir.cli.console import open_progress, show
with open_progress() as progress:
    assert type(progress).__name__ == "BarProgress"
    progress.start("indexing", 300, "documents")
    for _ in range(3):
        time.sleep(.12)
        progress.advance(100)
    progress.note("a note [of mine]")
    progress.finish()
    progress.start("reading", None, "lines")
    progress.advance(5)
    progress.finish()
show("RESULT")
"""


def test_results_go_to_stdout_or_whole_to_a_file(tmp_path, capsys):
    show_text("a table")
    assert capsys.readouterr() == ("a table\n", "")
    show_text("a table\n", tmp_path / "new" / "t.txt")
    assert (tmp_path / "new" / "t.txt").read_text() == "a table\n"
    assert capsys.readouterr() == ("", f"wrote {tmp_path / 'new' / 't.txt'}\n")


def test_a_result_is_not_half_written(tmp_path, capsys):
    with pytest.raises(Exception, match="UTF-8"):
        show_text("before \ud800 after", tmp_path / "t.txt")
    assert list(tmp_path.iterdir()) == []
