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
from typing import Any

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


def shown(capsys: pytest.CaptureFixture[str], *command: str) -> dict[str, Any]:
    assert main([*command, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def ranks(measure: str) -> str:
    lines = [
        f"{s},{q},{measure},{v + q % 3}" for q in range(30) for s, v in (("bad", 12), ("ok", 1))
    ]
    return write(f"{re.sub('[^a-z]', '', measure.lower())}.csv", *lines)


def test_our_own_rank_is_the_better_the_lower(capsys: pytest.CaptureFixture[str]) -> None:
    table = shown(capsys, "compare", ranks("Rank"), "-b", "bad")
    bad, ok = (row["cells"][0] for row in table["rows"])
    assert table["columns"][0]["higher_is_better"] is False
    assert (bad["best"], ok["best"], ok["versus"][0]["verdict"]) == (False, True, "better")
    assert any("Rank" in sentence and "ower" in sentence for sentence in table["footer"])


@pytest.mark.parametrize("name", ["meanRank", "val_loss", "error_rate", "query_latency_ms", "PPL"])
def test_names_that_usually_fall_must_be_told(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = ranks(name)
    assert main(["compare", path, "-b", "bad"]) == 2
    for option, verdict in (("--lower-is-better", "better"), ("--higher-is-better", "worse")):
        table = shown(capsys, "compare", path, "-b", "bad", option, name)
        assert table["rows"][1]["cells"][0]["versus"][0]["verdict"] == verdict
    assert main(["compare", path, "--lower-is-better", name, "--higher-is-better", name]) == 2


@pytest.mark.parametrize("name", ["reciprocal_rank", "ROUGE-7", "recip_rank_cut"])
def test_the_footer_says_how_an_unknown_name_was_taken(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    table = shown(capsys, "compare", ranks(name), "-b", "bad")
    assert table["columns"][0]["higher_is_better"] is True
    assert any(name in sentence for sentence in table["footer"])


def test_a_direction_survives_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", ranks("ppl"), "-b", "bad"]
    assert main([*command, "--lower-is-better", "ppl", "-o", "table.html"]) == 0
    lines = [f"{s},{q},Foo,{v},false" for q in range(9) for s, v in (("bad", 12 + q), ("ok", 1))]
    path = write("told.csv", *lines, head="system,qid,measure,value,higher_is_better")
    table = shown(capsys, "compare", path, "-b", "bad")
    assert table["rows"][1]["cells"][0]["versus"][0]["verdict"] == "better"


def test_known_item_files_with_several_contexts_are_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    head = "system,section,group,qid,measure,value"
    lines = [
        f"{system},{section},,{q},R@1,{int(q % n > 0)}"
        for section in ("L", "L+R")
        for system, n in (("a", 2), ("b", 3))
        for q in range(12)
    ]
    table = shown(capsys, "compare", write("per-context.csv", *lines, head=head), "-b", "a")
    assert [column["group"] for column in table["columns"]] == ["L", "L+R"]
    again = write("twice.csv", *lines, lines[0], head=head)
    assert main(["compare", again]) == 3
    assert "twice.csv:50" in capsys.readouterr().err
    # Where each system stands in one section, sections only arrange the rows.
    parted = [f"{s},{s.upper()},,{q},AP,0.{q % 7}" for s in ("a", "b") for q in range(9)]
    table = shown(capsys, "compare", write("parted.csv", *parted, head=head), "-b", "a")
    assert [column["group"] for column in table["columns"]] == [""]
