"""``adducir index --part`` and ``adducir finish``: the index in parts is used as any other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest

SEARCHES = {
    "bm25": ["--model", "bm25"],
    "rm3": ["--model", "bm25", "--feedback", "rm3"],
    "qld": ["--model", "qld"],
    "rocchio": ["--model", "qld", "--feedback", "rocchio"],
    "all": ["--model", "bm25l", "--depth", "all"],
}


def runs_of(index: Path, topics: str, folder: Path) -> dict[str, bytes]:
    """The bytes of each search's run file."""
    found = {}
    for name, options in SEARCHES.items():
        run = folder / f"{name}.trec"
        arguments = ["-i", str(index), "-t", topics, *options, "--tag", name, "-o", str(run)]
        assert main(["search", *arguments, "--force"]) == 0
        found[name] = run.read_bytes()
        assert found[name].count(b"\n") > 100
    return found


def in_parts(source: str, index: Path, count: int, *options: str) -> None:
    for number in range(1, count + 1):
        part = ["--part", f"{number}/{count}", "--engine", "memory", *options]
        assert main(["index", source, *part, "-o", str(index)]) == 0
    assert main(["finish", str(index)]) == 0


@pytest.mark.slow
def test_cacm_in_up_to_seven_parts(collections: Path, tmp_path: Path) -> None:
    source, topics = collections / "cacm/corpus.jsonl", collections / "cacm/topics.cacm.trec.txt"
    fields = ("--fields", "html_text")
    arguments = ["--engine", "memory", *fields, "-o", str(tmp_path / "cacm")]
    assert main(["index", str(source), *arguments]) == 0
    wanted = runs_of(tmp_path / "cacm", str(topics), tmp_path)
    for count in range(1, 8):
        # Of the same name, which runs' tags and metadata may hold.
        folder = tmp_path / str(count)
        folder.mkdir()
        in_parts(str(source), folder / "cacm", count, *fields)
        assert runs_of(folder / "cacm", str(topics), folder) == wanted, count


def test_parts_of_other_processes_and_what_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = tmp_path / "indexes" / "arguments"
    command = [sys.executable, "-m", "adducir.cli.app", "index", "bundled:arguments"]
    command += ["--fields", "conclusion,premise", "--engine", "memory", "-o", str(index)]
    jobs = [subprocess.Popen([*command, "--part", f"{number}/3"]) for number in (1, 3)]
    assert [job.wait() for job in jobs] == [0, 0]
    assert main(["finish", str(index)]) == 6
    assert "of this index the part 2/3 is missing. Build what" in capsys.readouterr().err
    assert main([*command[3:], "--part", "2/3"]) == 0
    assert "part 2/3: " in capsys.readouterr().err
    assert main(["finish", str(index)]) == 0
    assert "tokens, in 3 parts" in capsys.readouterr().err
    assert main(["finish", str(index)]) == 0
    assert "it is finished already" in capsys.readouterr().err
    assert main(command[3:]) == 0  # it is the index that this builds: nothing is to be done
    assert (index / "parts" / "3").is_dir()
    one = tmp_path / "one" / "arguments"
    assert main([*command[3:-1], str(one)]) == 0
    wanted = runs_of(one, "bundled:topics", one.parent)
    assert runs_of(index, "bundled:topics", tmp_path) == wanted
    for number in (1, 2):
        merged = tmp_path / "merged" / "arguments"
        assert main([*command[3:-1], str(merged), "--part", f"{number}/2"]) == 0
    assert main(["finish", str(merged), "--merge"]) == 0
    assert read_manifest(merged).files == read_manifest(one).files
    capsys.readouterr()
    assert main(["finish", str(index), "--merge"]) == 0  # of a finished index in parts
    assert "in 3 parts" not in capsys.readouterr().err
    for name in ("files", "fingerprint", "counts", "sources"):
        wanted, found = (getattr(read_manifest(path), name) for path in (merged, index))
        assert found == wanted, name
    assert main(["finish", str(index), "--merge"]) == 0
    assert "it is finished already" in capsys.readouterr().err
    assert main(["finish", str(tmp_path / "nothing"), "--merge"]) == 2


def test_an_experiment_takes_it_as_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = """
corpora: {arguments: {source: bundled:arguments}}
indexes: {parted: {corpus: arguments, engine: memory, fields: [conclusion, premise]}}
topics: {bundled: {source: bundled:topics, field: title, qrels: bundled:qrels}}
systems: {BM25: {index: parted, model: bm25}, RM3: {index: parted, model: bm25, rm3: {}}}
measures: [nDCG@5]
"""
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "study.yaml").write_text(text)
    index = tmp_path / "indexes" / "parted"
    in_parts("bundled:arguments", index, 2, "--fields", "conclusion,premise")
    made = (index / "manifest.json").read_bytes()
    assert main(["experiment", "experiments/study.yaml"]) == 0
    assert "nDCG@5" in capsys.readouterr().out
    assert (index / "manifest.json").read_bytes() == made


def test_a_part_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text(json.dumps({"docno": "a", "text": "cat"}) + "\n")
    (tmp_path / "b.jsonl").write_text(json.dumps({"docno": "b", "text": "cat"}) + "\n")
    for options, what in (
        (["--engine", "memory", "--part", "3/2"], "'3/2' is no part"),
        (["--part", "1/2"], "--part means nothing without --engine memory or dense"),
    ):
        assert main(["index", "a.jsonl", *options, "-o", "i"]) == 2
        assert what in capsys.readouterr().err
    assert main(["index", "a.jsonl", "--engine", "memory", "-o", "i"]) == 0
    assert main(["index", "b.jsonl", "--engine", "memory", "--part", "1/2", "-o", "i"]) == 5
    assert (
        "from corpus a.jsonl, not from corpus b.jsonl: it is not replaced"
        in capsys.readouterr().err
    )
