"""What commands replace, and what their results are held to."""

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.cli.common import find_system, system_names
from adducir.core.errors import UsageError
from adducir.core.manifests import read_manifest

QRELS = "1 0 d1 1\n1 0 d2 0\n2 0 d3 1\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.trec").write_text("1 Q0 d1 1 9 a\n1 Q0 d2 2 8 a\n2 Q0 d3 1 7 a\n")
    Path("b.trec").write_text("1 Q0 d2 1 3.5 b\n1 Q0 d4 2 1 b\n")
    Path("qrels.txt").write_text(QRELS)
    Path("pets.jsonl").write_text('{"id": "d1", "text": "cats purr"}\n{"id": "d2", "text": "dogs"}')
    Path("more.jsonl").write_text('{"id": "d3", "text": "mice"}\n')
    Path("topics.tsv").write_text("1\tcats\n2\tthe\n3\tdogs\n")
    return tmp_path


def adducir(*words, code=0):
    assert main([str(word) for word in words]) == code


def indexed(source="pets.jsonl", output="indexes/own", *more, code=0):
    adducir("index", source, "--engine", "memory", "-o", output, *more, code=code)


def searched(output, *more, code=0):
    adducir("search", "-i", "indexes/own", "-t", "topics.tsv", "-o", output, *more, code=code)


def test_piped_hits_end_without_blanks_and_how_a_run_was_read_is_said(folder, capsys):
    indexed()
    adducir("search", "indexes/own", "cats")
    Path("a.csv").write_text("1,d1,1,9\n1,d2,2,8\n")
    adducir("show", "a.csv", "--topic", "1")
    shown, said = capsys.readouterr()
    assert {"purr", "d2"} <= {*shown.split()}
    assert "read as qid,docno,rank,score" in said
    assert [line for line in shown.splitlines() if line.endswith(" ")] == []


def test_a_mistyped_hyperparameter_is_suggested(folder, capsys):
    indexed()
    searched("r.trec", "--feedback", "rm3", "--set", "fb_doc=5", code=2)
    assert "did you mean --set fb_docs?" in capsys.readouterr().err


@pytest.mark.parametrize("query", ["and//or", "./cats", "cats/", "a/../b"])
def test_a_query_is_no_path(folder, capsys, query):
    indexed()
    adducir("search", "-i", "indexes/own", query)
    assert capsys.readouterr().out.startswith(f"{query}: ")


@pytest.mark.parametrize("runs", [["a.trec"], ["a.trec", "b.trec"]])
def test_docnos_are_never_broken(folder, capsys, monkeypatch, runs):
    monkeypatch.setenv("COLUMNS", "30")
    long = "clueweb09-en0000-00-00000-and-more"
    for name in runs:
        Path(name).write_text(f"1 Q0 {long} 1 9 a\n1 Q0 d2 2 8 a\n")
    adducir("show", *runs, "--topic", "1", "-q", "qrels.txt")
    shown = capsys.readouterr().out
    assert [shown.count(long), shown.count("9.0000")] == [len(runs)] * 2
    Path("pets.jsonl").write_text(f'{{"id": "{long}", "text": "cats purr"}}\n')
    indexed()
    adducir("search", "indexes/own", "cats")
    assert long in capsys.readouterr().out


def test_what_is_not_of_this_kind_is_replaced_by_force_only(folder, capsys):
    indexed()
    searched("qrels.txt", code=5)
    assert Path("qrels.txt").read_text() == QRELS
    assert "--force" in capsys.readouterr().err
    searched("qrels.txt", "--force")
    adducir("index", "pets.jsonl", "-o", "indexes/own", code=5)
    adducir("index", "pets.jsonl", "-o", "indexes/own", "--force")
    assert read_manifest(Path("indexes/own")).kind == "lucene-index"
    Path("thesis").mkdir()
    Path("thesis/chapter.txt").write_text("x")
    indexed("pets.jsonl", "thesis", "--force", code=5)  # a person's own, whatever is said
    indexed(output="/", code=2)


def test_a_run_is_replaced_unless_somebody_changed_it(folder):
    indexed()
    searched("x.trec")
    searched("x.trec", "--depth", "1")
    # As a kill between the run and its metadata leaves them.
    left = Path(f".x.trec.ir-metadata.yml.{platform.node()}-99999999-0.tmp")
    Path("x.trec.ir-metadata.yml").rename(left)
    searched("x.trec")
    assert not left.exists()
    with Path("x.trec").open("a") as run:
        run.write("2 Q0 d9 2 0.5 me\n")
    searched("x.trec", code=5)


def test_tables_are_replaced_unless_somebody_changed_them(folder):
    words = ["evaluate", "a.trec", "-q", "qrels.txt", "-m", "P@1", "-o"]
    for name in ("t.json", "t.html", "t.csv", "t.tex"):
        adducir(*words, name)
        adducir(*words, name)
        with Path(name).open("a") as table:
            table.write("\n")
        adducir(*words, name, code=5)
    adducir(*words, "t.docx", code=2)
    adducir(*words, "t.docx", "--format", "csv")


INPUTS = {
    "r.trec": "1 Q0 d1 1 2.0 t\n2 Q0 d2 1 3.0 t\n2 Q0 d1 2 2.0 t\n",
    "q.txt": "1 0 d1 1\n1 0 d2 0\n2 0 d1 1\n",
    "v.json": '{"1": {"AP": 0.5},\n "2": {"AP": 0.25}}\n',
}


@pytest.mark.parametrize(
    "command",
    [
        "evaluate r.trec* -q q.txt* -m AP --format json",
        "check r.trec* -q q.txt*",
        "fuse r.trec* r.trec -o fused.trec",
        "compare v.json* --format json",
    ],
)
def test_what_comes_through_a_pipe_is_read_once(folder, command, capsys):
    """In a thread of its own, for a second opening of a FIFO would wait for ever."""
    words = command.split()
    for name, text in INPUTS.items():
        Path(name).write_text(text)
        if f"{name}*" in words:
            pipe = f"pipe-{name.replace('.', '')}"  # what shows the format is the content
            os.mkfifo(pipe)
            words = [pipe if word == f"{name}*" else word for word in words]
            threading.Thread(target=Path(pipe).write_text, args=(text,), daemon=True).start()
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(words)), daemon=True)
    thread.start()
    thread.join(60)
    assert codes == [0], capsys.readouterr().err
    shown = capsys.readouterr().out
    if shown.startswith("{"):
        digests = [hashlib.sha256(text.encode()).hexdigest() for text in INPUTS.values()]
        assert any(digest in shown for digest in digests)


@pytest.mark.slow
def test_ctrl_c_during_a_build_leaves_nothing_half_made(tmp_path):
    text = " ".join(f"word{number}" for number in range(200))
    with (tmp_path / "many.jsonl").open("w") as handle:
        for number in range(15_000):
            handle.write(json.dumps({"docno": f"d{number}", "text": f"{number} {text}"}) + "\n")
    with subprocess.Popen(
        [Path(sys.executable).with_name("adducir"), "index", "many.jsonl", "-o", "i"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until = time.monotonic() + 30
        while not list(tmp_path.glob(".i.building-*/lucene/*")) and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
    assert process.returncode == 130
    assert "adducir: interrupted; the same command goes on" in errors
    assert not list(tmp_path.glob("i")) + list(tmp_path.glob(".i.building-*"))


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["x/b.trec", "x/a.trec"], ["b", "a"]),
        (["1/bm25.trec", "2/bm25.trec.gz", "2/qld.trec"], ["1/bm25", "2/bm25", "qld"]),
        (["a/x/r/bm25.trec", "b/x/r/bm25.trec"], ["a/x/r/bm25", "b/x/r/bm25"]),
        (["bm25.trec", "bm25.trec.gz"], ["bm25.trec", "bm25.trec.gz"]),
    ],
)
def test_equal_names_are_told_apart(files, names):
    assert list(system_names([*map(Path, files)]).values()) == names


def test_a_system_is_found_by_name_and_by_path(folder):
    names = system_names([Path("runs/a.trec"), Path("runs/b.trec")])
    assert find_system("b", names) == find_system("runs/../runs/b.trec", names) == "b"
    assert find_system(str(folder / "runs" / "a.trec"), names) == "a"
    assert find_system("c", names) is None
    with pytest.raises(UsageError):
        system_names([Path("a.trec"), folder / "a.trec"])
