"""Writing runs and the metadata beside them."""

import gzip
import platform
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from notes import Notes

from adducir.core.artifacts import replacing_anything
from adducir.core.errors import ArtifactError, InputError, UsageError
from adducir.core.files import file_digest
from adducir.runs.read import read_run
from adducir.runs.run import SCHEMA, Run
from adducir.runs.write import metadata_for, read_metadata, write_run


def run_of(rows, tag="sys"):
    return Run(pl.DataFrame(rows, schema=SCHEMA, orient="row"), tag)


def run_of_scores(scores):
    return run_of([("1", f"d{i}", float(score)) for i, score in enumerate(scores)])


def texts_of(path):
    return [line.split()[4] for line in path.read_text().splitlines()]


RUN = run_of([("7", "d2", 2.5), ("7", "d1", 1.0), ("3", "d2", -1e-7)])


def test_lines_are_what_trec_eval_reads_and_equal_runs_give_equal_bytes(tmp_path):
    for name in ("a.trec", "a.trec.gz", "b.trec.gz"):
        write_run(RUN, tmp_path / name)
    lines = "7 Q0 d2 1 2.5 sys\n7 Q0 d1 2 1.0 sys\n3 Q0 d2 1 -1e-7 sys\n"
    assert (tmp_path / "a.trec").read_text() == lines
    packed = (tmp_path / "a.trec.gz").read_bytes()
    assert packed == (tmp_path / "b.trec.gz").read_bytes()
    assert gzip.decompress(packed).decode() == lines


def test_scores_are_read_back_as_they_were_and_as_short_as_they_can_be(tmp_path):
    path = tmp_path / "a.trec"
    scores = np.sort(np.random.default_rng(1).standard_normal(5000) * 1e3)[::-1]
    write_run(run_of_scores(scores), path)
    np.testing.assert_array_equal(read_run(path).frame["score"].to_numpy(), scores)
    assert [float(text) for text in texts_of(path)] == scores.tolist()
    # As short as Python's, which pads short exponents (1e-07) and turns to them at other places.
    assert max(len(text.split("e")[0].strip("-0.")) for text in texts_of(path)) <= 18
    write_run(run_of_scores(np.float32([12.3456, 7.1, 1e-7])), path)
    assert texts_of(path) == ["12.3456", "7.1", "1e-7"]


@given(
    st.lists(
        st.sampled_from([80.3, 22.0874, 0.0, -5.0]) | st.floats(-1e9, 1e9), min_size=1, max_size=40
    )
)
def test_every_tool_sees_the_order_that_was_written(tmp_path_factory, scores):
    path = tmp_path_factory.mktemp("run") / "a.trec"
    docnos = [f"d{i:02}" for i in np.random.default_rng(len(scores)).permutation(len(scores))]
    run = run_of(list(zip("1" * len(docnos), docnos, sorted(scores, reverse=True), strict=True)))
    write_run(run, path)
    for precision in (np.float32, np.float64):
        found = np.array(texts_of(path)).astype(precision)
        assert (found[1:] < found[:-1]).all()
    ranks = [line.split()[3] for line in path.read_text().splitlines()]
    assert ranks == [str(rank + 1) for rank in range(len(docnos))]
    for ties in ("trec_eval", "anserini"):
        assert read_run(path, ties=ties).frame["docno"].to_list() == docnos


def test_ties_of_a_run_that_was_read_keep_trec_evals_order(tmp_path):
    (tmp_path / "a").write_text("1 0 a 1 200.2 t\n1 0 b 2 200.2 t\n1 0 c 3 200.2 t\n")
    write_run(read_run(tmp_path / "a"), tmp_path / "b")
    assert read_run(tmp_path / "b", ties="anserini").frame["docno"].to_list() == ["c", "b", "a"]
    assert read_metadata(tmp_path / "b")["run file"]["scores moved to break ties"] == 2


@pytest.mark.parametrize(
    "run",
    [
        *(run_of([("1", docno, 1.0)]) for docno in ("a b", "a\tb", "a\nb", "")),
        *(run_of([(qid, "a", 1.0)]) for qid in ("1 ", "")),
        *(run_of([("1", "a", 1.0)], tag) for tag in ("my run", "")),
        run_of([("1", "a", 1.0), ("1", "b", 2.0)]),
        run_of([("1", "a", 2.0), ("1", "a", 1.0)]),
        run_of([("1", "a", 2.0), ("2", "a", 1.0), ("1", "b", 1.0)]),
    ],
)
def test_what_cannot_be_read_back_is_refused_and_nothing_is_written(tmp_path, run):
    with pytest.raises(UsageError):
        write_run(run, tmp_path / "a.trec")
    assert list(tmp_path.iterdir()) == []


def test_odd_docnos_and_empty_runs_can_be_written(tmp_path):
    path = tmp_path / "a.trec.gz"
    docnos = ['a"b', "'c'", "#d", "é漢", "e,f", "x" * 60]
    write_run(run_of([("1", docno, -float(i)) for i, docno in enumerate(docnos)]), path)
    assert read_run(path).frame["docno"].to_list() == docnos
    write_run(run_of([]), path, topics=["1"])
    assert len(read_run(path, allow_empty=True)) == 0
    assert read_metadata(path)["run file"]["topics without documents"] == ["1"]


def test_metadata_tells_of_the_run_and_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/jane")
    path = tmp_path / "bm25.trec.gz"
    given_facts = {
        "actor": {"team": "someone"},
        "method": {"automatic": False, "retrieval": [{"name": "bm25", "k1": np.float64(0.9)}]},
        "data": {"topics": Path("/home/jane/x.xml"), "other": "/home/janet/y"},
        "platform": {"hardware": {"ram": None}},
    }
    write_run(RUN, path, given_facts, topics=["3", "7", "9", "8"])
    assert metadata_for(path) == tmp_path / "bm25.trec.gz.ir-metadata.yml"
    text = metadata_for(path).read_text()
    facts = read_metadata(path)
    assert facts == yaml.safe_load(text)  # the field's own tools read it
    assert (facts["tag"], facts["schema-version"], facts["actor"]["team"]) == (
        "sys",
        0.1,
        "someone",
    )
    assert facts["method"]["automatic"] is False  # what is given wins
    assert "score ties" in facts["method"]
    assert facts["method"]["retrieval"] == [{"name": "bm25", "k1": 0.9}]
    assert facts["data"] == {"topics": "~/x.xml", "other": "/home/janet/y"}
    assert facts["run file"]["topics without documents"] == ["8", "9"]
    assert facts["run file"]["documents"] == 3
    assert facts["platform"]["hardware"]["cpu"]["number of cores"] >= 1
    assert facts["platform"]["hardware"]["ram"] is None
    libraries = facts["platform"]["software"]["libraries"]["python"]
    assert {f"python=={platform.python_version()}", f"numpy=={np.__version__}"} <= {*libraries}
    assert "/home/jane/" not in text
    assert socket.gethostname() not in text


def test_metadata_is_a_mapping_in_yaml(tmp_path):
    path = tmp_path / "a"
    with pytest.raises(InputError, match="ir-metadata"):
        read_metadata(path)
    metadata_for(path).write_text("ir_metadata.start\ntag: x\nir_metadata.end\n")
    assert read_metadata(path) == {"tag": "x"}
    for text, line in (("a: [1\nb: 2\n", 2), ("- a\n", 1), ("a: !!python/object:x {}", 1)):
        metadata_for(path).write_text(text)
        with pytest.raises(InputError) as caught:
            read_metadata(path)
        assert caught.value.line == line


def test_fields_that_somebody_added_to_the_metadata_are_kept(tmp_path):
    path = tmp_path / "a.trec"
    write_run(RUN, path, {"method": {"retrieval": [{"model": "bm25"}], "feedback": "rm3"}})
    beside = metadata_for(path)
    added = {"actor": {"team": "owls"}, "research goal": {"venue": "ECIR"}, "day": "2026-11-29"}
    facts = read_metadata(path) | added
    facts["implementation"]["source"]["commit"] = "b7b8f4d1"
    facts["tag"] = "mine"
    beside.write_text(yaml.safe_dump(facts))
    notes = Notes()
    for _ in range(2):  # and remain the user's
        with notes:
            write_run(RUN, path, {"method": {"retrieval": [{"model": "qld"}]}})
        found = read_metadata(path)
        assert added.items() <= found.items()
        assert found["implementation"]["source"]["commit"] == "b7b8f4d1"
        assert found["method"]["retrieval"] == [{"model": "qld"}]
        assert "feedback" not in found["method"]  # Adducir's, of the old run
        assert found["tag"] == "sys"
    assert [": tag: " in line for line in notes.lines] == [True]
    beside.rename(
        tmp_path / f".{beside.name}.{platform.node()}-99999999-0.tmp"
    )  # a killed writer's
    write_run(RUN, path)
    assert added.items() <= read_metadata(path).items()


@pytest.mark.parametrize(
    "text", ["actor: {team: owls}\n", "- a\n", "run file: {name: a.trec, sha256: 00}\n", "\xff"]
)
def test_metadata_of_somebody_else_are_not_replaced(tmp_path, text):
    path, victim = tmp_path / "a.trec", tmp_path / "victim.yml"
    victim.write_text(text, encoding="latin-1")
    metadata_for(path).symlink_to(victim)
    with pytest.raises(ArtifactError):
        write_run(RUN, path)
    assert not path.exists()
    assert victim.read_text(encoding="latin-1") == text
    write_run(RUN, tmp_path / "b.trec")
    shutil.copy(metadata_for(tmp_path / "b.trec"), victim)  # another run's
    with pytest.raises(ArtifactError):
        write_run(RUN, path)
    with replacing_anything():
        write_run(RUN, path)
    assert read_metadata(path)["run file"]["name"] == "a.trec"


def _killed_at(path: Path, last: int) -> bool:
    """Write a new run in a child killed at the n-th change of a file; whether it was."""
    code = f"""
import os, signal, sys
from pathlib import Path
from adducir.runs.write import platform_facts
from adducir.runs.run import Run
from adducir.runs.write import write_run
run, seen = Run.of({{"1": {{"new": 1.0}}}}, "new"), 0
platform_facts()
def count(event, arguments):
    global seen
    if event in ("os.rename", "os.remove", "os.chmod"):
        seen += 1
        if seen == {last}:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
write_run(run, Path({str(path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.slow
def test_a_killed_writer_leaves_no_run_with_another_runs_metadata(tmp_path: Path) -> None:
    path, old = tmp_path / "a.trec", Run.of({"1": {"old": 1.0}}, "old")
    write_run(old, path)
    last = 1
    while _killed_at(path, last):
        tag = "new" if " new" in path.read_text() else "old"
        if metadata_for(path).is_file():
            assert read_metadata(path)["tag"] == tag
            assert read_metadata(path)["run file"]["sha256"] == file_digest(path)
        write_run(old, path)
        last += 1
    assert last > 3
    assert read_metadata(path)["tag"] == "new"
