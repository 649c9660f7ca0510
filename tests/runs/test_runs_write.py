"""Writing runs and the metadata beside them."""

import gzip
import platform
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

from adducir.core.errors import InputError, MachineError, UsageError
from adducir.core.files import file_digest
from adducir.runs.metadata import metadata_for, platform_facts, read_metadata
from adducir.runs.read import read_run
from adducir.runs.run import SCHEMA, Run
from adducir.runs.write import write_run


def run_of(rows, tag="sys"):
    return Run(pl.DataFrame(rows, schema=SCHEMA, orient="row"), tag)


RUN = run_of([("7", "d2", 2.5), ("7", "d1", 1.0), ("3", "d2", -1e-7)])


def scores_of(path):
    return read_run(path).frame["score"].to_numpy()


def test_lines_are_what_trec_eval_reads(tmp_path):
    write_run(RUN, tmp_path / "a.trec")
    assert (tmp_path / "a.trec").read_text() == (
        "7 Q0 d2 1 2.5 sys\n7 Q0 d1 2 1.0 sys\n3 Q0 d2 1 -1e-7 sys\n"
    )


def test_gzip_holds_the_same_and_equal_runs_give_equal_bytes(tmp_path):
    for name in ("a.trec", "a.trec.gz", "b.trec.gz"):
        write_run(RUN, tmp_path / name)
    packed = (tmp_path / "a.trec.gz").read_bytes()
    assert packed == (tmp_path / "b.trec.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "a.trec").read_bytes()


def test_scores_are_read_back_as_they_were(tmp_path):
    scores = np.sort(np.random.default_rng(1).standard_normal(5000) * 1e3)[::-1]
    write_run(run_of([("1", f"d{i}", s) for i, s in enumerate(scores)]), tmp_path / "a.trec")
    np.testing.assert_array_equal(scores_of(tmp_path / "a.trec"), scores)
    texts = [line.split()[4] for line in (tmp_path / "a.trec").read_text().splitlines()]
    assert [float(text) for text in texts] == scores.tolist()
    # As short as Python's, which pads short exponents (1e-07) and turns to them at other places.
    assert max(len(text.split("e")[0].strip("-0.")) for text in texts) <= 18


def test_single_precision_scores_are_written_short(tmp_path):
    scores = np.array([12.3456, 7.1, 1e-7], dtype=np.float32).astype(np.float64)
    write_run(run_of([("1", f"d{i}", s) for i, s in enumerate(scores)]), tmp_path / "a.trec")
    texts = [line.split()[4] for line in (tmp_path / "a.trec").read_text().splitlines()]
    assert texts == ["12.3456", "7.1", "1e-7"]


@pytest.mark.parametrize("start", [22.0874, 80.3, 200.2, 1e-3, 3e-39, 16777216.0, 1e30])
def test_neighbouring_single_precision_scores_stay_in_order_as_text(tmp_path, start):
    first = np.array(start, dtype=np.float32).view(np.int32)
    floats = np.arange(first, first - 20_000, -1, dtype=np.int32).view(np.float32)
    assert (np.diff(floats) < 0).all()
    rows = [("1", f"d{i}", float(s)) for i, s in enumerate(floats)]
    write_run(run_of(rows), tmp_path / "a.trec")
    texts = [line.split()[4] for line in (tmp_path / "a.trec").read_text().splitlines()]
    doubles = np.array([float(text) for text in texts])
    assert (np.diff(doubles) < 0).all()
    np.testing.assert_array_equal(doubles.astype(np.float32), floats)
    np.testing.assert_allclose(doubles, floats.astype(np.float64), rtol=1e-7, atol=1e-45)


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
    written = [line.split() for line in path.read_text().splitlines()]
    for precision in (np.float32, np.float64):
        found = np.array([line[4] for line in written]).astype(precision)
        assert (found[1:] < found[:-1]).all()
    assert [line[3] for line in written] == [str(rank + 1) for rank in range(len(docnos))]
    for ties in ("trec_eval", "anserini"):
        assert read_run(path, ties=ties).frame["docno"].to_list() == docnos


def test_writing_what_was_read_gives_the_same_file(tmp_path, collections):
    write_run(read_run(collections / "touche/runs/2021/ElrondSimpleRun.txt.gz"), tmp_path / "a")
    write_run(read_run(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_ties_of_a_run_that_was_read_keep_trec_evals_order(tmp_path):
    (tmp_path / "a").write_text("1 0 a 1 200.2 t\n1 0 b 2 200.2 t\n1 0 c 3 200.2 t\n")
    write_run(read_run(tmp_path / "a"), tmp_path / "b")
    assert read_run(tmp_path / "b", ties="anserini").frame["docno"].to_list() == ["c", "b", "a"]
    assert read_metadata(tmp_path / "b")["run file"]["scores moved to break ties"] == 2


@pytest.mark.parametrize(
    "run",
    [
        run_of([("1", "a b", 1.0)]),
        run_of([("1", "a\tb", 1.0)]),
        run_of([("1", "", 1.0)]),
        run_of([("1", "a\nb", 1.0)]),
        run_of([("1 ", "a", 1.0)]),
        run_of([("", "a", 1.0)]),
        run_of([("1", "a", 1.0)], tag="my run"),
        run_of([("1", "a", 1.0)], tag=""),
        run_of([("1", "a", 1.0), ("1", "b", 2.0)]),
        run_of([("1", "a", 2.0), ("1", "a", 1.0)]),
        run_of([("1", "a", 2.0), ("2", "a", 1.0), ("1", "b", 1.0)]),
    ],
)
def test_what_cannot_be_read_back_is_refused_and_nothing_is_written(tmp_path, run):
    with pytest.raises(UsageError):
        write_run(run, tmp_path / "a.trec")
    assert list(tmp_path.iterdir()) == []


def test_docnos_with_quotes_and_other_scripts_survive(tmp_path):
    docnos = ['a"b', "'c'", "#d", "é漢", "e,f", "x" * 60]
    rows = [("1", docno, -float(i)) for i, docno in enumerate(docnos)]
    write_run(run_of(rows), tmp_path / "a.trec.gz")
    assert read_run(tmp_path / "a.trec.gz").frame["docno"].to_list() == docnos


def test_an_empty_run_can_be_written(tmp_path):
    write_run(run_of([]), tmp_path / "a.trec.gz", topics=["1"])
    assert len(read_run(tmp_path / "a.trec.gz", allow_empty=True)) == 0
    assert read_metadata(tmp_path / "a.trec.gz")["run file"]["topics without documents"] == ["1"]


def test_metadata_shows_of_the_run_and_of_the_machine(tmp_path):
    path = tmp_path / "bm25.trec.gz"
    write_run(
        RUN,
        path,
        {
            "actor": {"team": "someone"},
            "method": {"retrieval": [{"name": "bm25", "k1": np.float64(0.9)}]},
            "data": {"test collection": {"topics": tmp_path / "topics.xml"}},
            "resources": {"runtime": {"wallclock": "1.5 s"}},
        },
        topics=["3", "7", "9", "8"],
    )
    assert metadata_for(path) == tmp_path / "bm25.trec.gz.ir-metadata.yml"
    facts = read_metadata(path)
    assert facts["tag"] == "sys"
    assert facts["schema-version"] == 0.1
    assert facts["actor"] == {"team": "someone"}
    assert facts["method"]["automatic"] is True
    assert facts["method"]["retrieval"] == [{"name": "bm25", "k1": 0.9}]
    assert facts["data"]["test collection"]["topics"] == str(tmp_path / "topics.xml")
    assert facts["run file"]["topics without documents"] == ["8", "9"]
    assert facts["run file"]["documents"] == 3
    assert facts["platform"]["hardware"]["cpu"]["number of cores"] >= 1
    libraries = facts["platform"]["software"]["libraries"]["python"]
    assert f"python=={platform.python_version()}" in libraries
    assert f"numpy=={np.__version__}" in libraries


def test_metadata_names_neither_the_host_nor_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/jane")
    monkeypatch.setenv("USERPROFILE", "/home/jane")
    write_run(RUN, tmp_path / "a.trec", {"data": {"other": ["/home/jane/x.txt", "/home/janet/y"]}})
    text = metadata_for(tmp_path / "a.trec").read_text()
    assert "/home/jane/" not in text
    assert read_metadata(tmp_path / "a.trec")["data"]["other"] == ["~/x.txt", "/home/janet/y"]
    assert socket.gethostname() not in yaml.safe_dump(platform_facts())


def test_given_facts_win_over_those_filled_in(tmp_path):
    write_run(RUN, tmp_path / "a", {"method": {"automatic": False}, "platform": {"hardware": None}})
    facts = read_metadata(tmp_path / "a")
    assert facts["method"]["automatic"] is False
    assert "score ties" in facts["method"]
    assert facts["platform"]["hardware"] is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ir_metadata.start\ntag: x\nir_metadata.end\n", 0),
        ("a: [1\nb: 2\n", 2),
        ("- a\n", 1),
        ("a: !!python/object:x {}", 1),
    ],
)
def test_metadata_is_a_mapping_in_yaml(tmp_path, text, line):
    with pytest.raises(InputError, match="ir-metadata"):
        read_metadata(tmp_path / "a")
    metadata_for(tmp_path / "a").write_text(text)
    if not line:
        assert read_metadata(tmp_path / "a") == {"tag": "x"}
        return
    with pytest.raises(InputError) as caught:
        read_metadata(tmp_path / "a")
    assert caught.value.line == line


def _killed_at(path: Path, tag: str, last: int) -> bool:
    """Write a run of that tag in a child killed at the n-th change of a file; whether it was."""
    code = f"""
import os, signal
from pathlib import Path
import polars as pl
from adducir.runs.run import SCHEMA, Run
from adducir.runs.write import write_run
frame = pl.DataFrame([("1", "{tag}", 1.0)], schema=SCHEMA, orient="row")
run, seen = Run(frame, "{tag}"), 0
from adducir.runs.metadata import platform_facts
platform_facts()
def count(event, arguments):
    global seen
    if event in ("os.rename", "os.remove", "os.chmod"):
        seen += 1
        if seen == {last}:
            os.kill(os.getpid(), signal.SIGKILL)
import sys
sys.addaudithook(count)
write_run(run, Path({str(path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def test_a_killed_writer_leaves_no_run_with_another_runs_metadata(tmp_path: Path) -> None:
    path = tmp_path / "a.trec"
    assert not _killed_at(path, "old", 99)
    last = 1
    while _killed_at(path, "new", last):
        tag = "new" if " new" in path.read_text() else "old"
        if metadata_for(path).is_file():
            assert read_metadata(path)["tag"] == tag
            assert read_metadata(path)["run file"]["sha256"] == file_digest(path)
        assert not _killed_at(path, "old", 99)
        last += 1
    assert last > 3
    assert read_metadata(path)["tag"] == "new"


def test_a_run_that_cannot_be_written_leaves_the_old_one_and_its_metadata(
    tmp_path: Path, monkeypatch
) -> None:
    path = tmp_path / "a.trec"
    old = run_of([("1", "a", 1.0)], "old")
    write_run(old, path)
    before = path.read_bytes(), metadata_for(path).read_bytes()

    def full(hidden: Path) -> None:
        raise OSError(28, "No space left on device", str(hidden))

    with monkeypatch.context() as patch:
        patch.setattr("adducir.runs.write.sync", full)
        with pytest.raises(MachineError, match="no space left"):
            write_run(old, path)
    assert (path.read_bytes(), metadata_for(path).read_bytes()) == before
