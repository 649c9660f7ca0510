"""``adducir compare``: from values per topic to a table, whoever computed them."""

import base64
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from adducir.cli.app import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, *lines: object, head: str = "system,qid,measure,value") -> str:
    Path(name).write_text("\n".join((head, *map(str, lines))) + "\n")
    return name


def test_the_scatter_draws_a_sample_of_many_topics_and_says_so() -> None:
    # The second system gains on the first 3,700 topics and loses on 1,300.
    values = [(n, 0.5, 0.6 if n < 3700 else 0.3) for n in range(5000)]
    lines = [f"{name},q{n},AP,{v}" for n, *both in values for name, v in zip("ab", both, strict=1)]
    assert main(["compare", write("v.csv", *lines), "-b", "a", "-o", "v.html"]) == 0
    page = Path("v.html").read_text()
    drawn = page[page.index('id="compare-dots"') :].split("</svg>")[0]
    worse = drawn.count('class="worse"')
    assert drawn.count("<circle") == 2000
    assert abs(worse - 520) < 100
    assert "2000 of 5000" in drawn
    block = re.search(r'id="data"[^>]*>([^<]+)<', page)
    assert block
    data = json.loads(gzip.decompress(base64.b64decode(block[1])))
    (dots,) = data["dots"].values()
    assert len(dots) == 2000
    assert sum(n >= 3700 for n in dots) == worse


SCORES = ["a,1,AP,0.5", "a,2,AP,0.25", "b,1,AP,0.75", "b,2,AP,0.5"]
INPUTS = {
    "r.trec": "1 Q0 d1 1 2.0 t\n2 Q0 d2 1 3.0 t\n2 Q0 d1 2 2.0 t\n",
    "q.txt": "1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n",
    "t.tsv": "1\thello\n2\tworld\n",
    "v.csv": "\n".join(("system,qid,measure,value", *SCORES, "")),
    "v.jsonl": '{"qid": "1", "AP": 0.5}\n{"qid": "2", "AP": 0.25}\n',
    "v.json": '{"1": {"AP": 0.5},\n "2": {"AP": 0.25}}\n',
}


@pytest.mark.parametrize(
    "command",
    [
        "evaluate r.trec* -q q.txt* -m AP --format json",
        "evaluate r.trec -q q.txt -m AP --baseline r.trec* --format json",
        "check r.trec* -q q.txt* --topics t.tsv*",
        "fuse r.trec* r.trec -o fused.trec",
        "compare v.csv* --format json",
        "compare v.json* --format json",
    ],
)
def test_what_comes_through_a_pipe_is_read_once(command: str) -> None:
    """In a process of its own, for a second opening of a FIFO would wait for ever."""
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in INPUTS.values()]
    words = command.split()
    for name, text in INPUTS.items():
        Path(name).write_text(text)
        if f"{name}*" in words:
            pipe = f"pipe-{name.replace('.', '')}"  # what shows the format is the content
            os.mkfifo(pipe)
            words = [pipe if word == f"{name}*" else word for word in words]
            writing = threading.Thread(target=Path(pipe).write_text, args=(text,), daemon=True)
            writing.start()
    done = subprocess.run(
        [sys.executable, "-m", "adducir", *words], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("{"):
        assert any(digest in done.stdout for digest in digests)
        assert hashlib.sha256(b"").hexdigest() not in done.stdout
