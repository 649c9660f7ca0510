"""``adducir index --part`` and ``--keep-parts``: the index in parts is used as any other."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.core.artifacts import read_manifest
from adducir.indexes import builders

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


def in_parts(source: str, index: Path, count: int, size: int, *options: str) -> None:
    """Kept in parts of so many documents, which the jobs of an array make."""
    for number in range(1, count + 1):
        words = ["index", source, "--engine", "memory", "--keep-parts", str(size), *options]
        assert main([*words, "--part", f"{number}/{count}", "-o", str(index)]) == 0
    assert main([*words, "-o", str(index)]) == 0


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
        in_parts(str(source), folder / "cacm", count, 4000 // count, *fields)
        assert runs_of(folder / "cacm", str(topics), folder) == wanted, count


def test_parts_of_other_processes_and_what_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index, one = tmp_path / "indexes" / "arguments", tmp_path / "one" / "arguments"
    words = ["index", "bundled:arguments", "--fields", "conclusion,premise", "--engine", "memory"]
    parted = [*words, "--keep-parts", "120", "-o", str(index)]
    command = [sys.executable, "-m", "adducir.cli.app", *parted]
    jobs = [subprocess.Popen([*command, "--part", f"{number}/3"]) for number in (1, 3)]
    assert [job.wait() for job in jobs] == [0, 0]
    assert main([*parted, "--part", "2/3"]) == 0
    assert "part 2/3 is made, 1 of 3 shards" in capsys.readouterr().err
    assert main(parted) == 0
    assert "tokens, in 3 parts" in capsys.readouterr().err
    assert main([*words, "-o", str(index)]) == 0  # it is the index that this builds
    assert (index / "parts" / "3").is_dir()
    assert main([*words, "-o", str(one)]) == 0
    wanted = runs_of(one, "bundled:topics", one.parent)
    assert runs_of(index, "bundled:topics", tmp_path) == wanted


def same_manifest(one: Path, other: Path) -> None:
    for name in ("files", "fingerprint", "counts", "sources", "versions"):
        wanted, found = (getattr(read_manifest(path), name) for path in (one, other))
        assert found == wanted, name


@pytest.mark.parametrize("more", [[], pytest.param(["--workers", "2"], marks=pytest.mark.slow)])
def test_parts_and_workers_make_the_index_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    monkeypatch.setattr(builders, "SHARD", 50)
    one, many = tmp_path / "one" / "x", tmp_path / "many" / "x"
    words = ["index", "bundled:arguments", "--engine", "memory", "-o"]
    assert main([*words, str(one)]) == 0
    for part in ("2/2", "1/2"):
        assert main([*words, str(many), "--part", part, *more]) == 0
    assert main([*words, str(many)]) == 0
    same_manifest(one, many)


STUDY = """
corpora: {arguments: {source: bundled:arguments}}
indexes: {parted: {corpus: arguments, engine: memory, fields: [conclusion, premise]}}
topics: {bundled: {source: bundled:topics, field: title, qrels: bundled:qrels}}
systems: {BM25: {index: parted, model: bm25}, RM3: {index: parted, model: bm25, rm3: {}}}
measures: [nDCG@5]
"""


@pytest.mark.slow
def test_an_experiment_builds_it_by_shards_where_it_is_made_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Workers of one machine would gain nothing."""
    monkeypatch.setattr(builders, "SHARD", 50)
    said = {}
    for name, more in {"one": [], "workers": ["--workers", "2"], "part": ["--part", "1/1"]}.items():
        (tmp_path / name / "experiments").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / name)
        Path("experiments/study.yaml").write_text(STUDY)
        assert main(["experiment", "experiments/study.yaml", *more]) == 0
        said[name] = "7 parts" in capsys.readouterr().err
        same_manifest(tmp_path / "one/indexes/parted", tmp_path / name / "indexes/parted")
    assert said == {"one": False, "workers": False, "part": True}


def test_an_experiment_takes_it_as_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "study.yaml").write_text(STUDY)
    index = tmp_path / "indexes" / "parted"
    in_parts("bundled:arguments", index, 2, 120, "--fields", "conclusion,premise")
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
        (["--workers", "2"], "--workers means nothing without --engine memory or dense"),
        (["--keep-parts", "9"], "--keep-parts means nothing without --engine memory"),
        (["--engine", "memory", "--batch-tokens", "9"], "--batch-tokens means nothing without"),
    ):
        assert main(["index", "a.jsonl", *options, "-o", "i"]) == 2
        assert what in capsys.readouterr().err
    assert main(["index", "a.jsonl", "--engine", "memory", "-o", "i"]) == 0
    assert main(["index", "b.jsonl", "--engine", "memory", "--part", "1/2", "-o", "i"]) == 5
    assert (
        "from corpus a.jsonl, not from corpus b.jsonl: it is not replaced"
        in capsys.readouterr().err
    )
