"""``adducir fuse`` and ``adducir check``."""

import gzip

import pytest

from adducir.cli.app import main
from adducir.runs.fusion import fuse
from adducir.runs.metadata import read_metadata
from adducir.runs.read import read_run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two runs in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.trec").write_text("1 Q0 d1 1 9 a\n1 Q0 d2 2 8 a\n2 Q0 d3 1 7 a\n")
    (tmp_path / "b.trec").write_text("1 Q0 d2 1 3.5 b\n1 Q0 d4 2 1 b\n")
    return tmp_path


def test_fusion_is_that_of_the_package(folder, capsys):
    assert main(["fuse", "a.trec", "b.trec", "--output", "ab.trec.gz"]) == 0
    expected = fuse([read_run("a.trec"), read_run("b.trec")], "rrf")
    got = read_run("ab.trec.gz")
    assert got.frame["docno"].to_list() == expected.frame["docno"].to_list()
    assert got.tag == "ab"
    err = capsys.readouterr().err
    assert "b.trec lacks 1 topics of the others: 2" in err
    assert "ab.trec.gz: 2 topics, 4 documents" in err


def test_all_that_is_said_of_a_fusion_counts(folder):
    arguments = ["--method", "combsum", "--weights", "0.2,0.8", "--set", "normalise=none"]
    rest = ["--depth", "2", "--tag", "sum", "--output", "new/ab.trec"]
    assert main(["fuse", "a.trec", "b.trec", *arguments, *rest]) == 0
    got = read_run("new/ab.trec")
    runs = [read_run("a.trec"), read_run("b.trec")]
    expected = fuse(runs, "combsum", weights=[0.2, 0.8], normalise="none", depth=2)
    assert got.frame.equals(expected.frame)
    assert got.tag == "sum"
    assert got.depth == 2
    method = read_metadata("new/ab.trec")["method"]["fusion"]
    assert method["method"] == "combsum"
    assert method["weights"] == [0.2, 0.8]
    assert method["runs"] == ["a.trec", "b.trec"]


def test_k_of_rrf(folder):
    assert main(["fuse", "a.trec", "b.trec", "--set", "k=1", "--output", "ab.trec"]) == 0
    assert read_run("ab.trec").frame["score"].to_list()[0] == pytest.approx(1 / 3 + 1 / 2)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["--method", "combsum", "--set", "k=3"], "`k` is no hyperparameter of combsum"),
        (["--set", "normalise=none"], "`normalise` is no hyperparameter of rrf"),
        (["--weights", "1,x"], "--weights takes numbers"),
        (["--weights", "1"], "as many weights"),
    ],
)
def test_senseless_fusions_are_refused(folder, capsys, option, words):
    assert main(["fuse", "a.trec", "b.trec", "--output", "ab.trec", *option]) == 2
    assert words in capsys.readouterr().err
    assert not (folder / "ab.trec").exists()


def test_one_run_is_no_fusion(folder, capsys):
    assert main(["fuse", "a.trec", "--output", "ab.trec"]) == 2
    assert "two or more" in capsys.readouterr().err


def checked(capsys, *arguments):
    code = main(["check", *arguments])
    return code, capsys.readouterr().out


def test_a_sound_run(folder, capsys):
    assert checked(capsys, "a.trec") == (0, "a.trec: nothing to remark\n")


def test_warnings_leave_the_exit_code(folder, capsys):
    (folder / "c.trec").write_text("1 Q0 d1 1 9 a\n1 Q0 d2 2 9 a\n1 Q0 d3 3 8 a\n")
    code, out = checked(capsys, "c.trec")
    assert code == 0
    assert out.startswith("c.trec: 1 warning")
    assert "[ties]" in out


def test_errors_exit_with_1_and_name_their_lines(folder, capsys):
    (folder / "c.trec").write_text("1 Q0 d1 1 9 a\n1 Q0 d1 2 8 a\n1 Q0 d3 3 nan a\n1 Q0 d4\n")
    code, out = checked(capsys, "c.trec", "a.trec")
    assert code == 1
    assert "c.trec: 3 errors" in out
    for line, code in ((2, "duplicate"), (3, "score"), (4, "columns")):
        assert any(
            f"c.trec:{line}: " in found and f"[{code}]" in found for found in out.split("\n")
        )


def test_qrels_topics_and_measures_are_looked_at(folder, capsys):
    (folder / "qrels.txt").write_text("1 0 d1 1\n3 0 d1 1\n")
    (folder / "topics.tsv").write_text("1\tone\n2\ttwo\n7\tseven\n")
    out = checked(capsys, "a.trec", "--qrels", "qrels.txt", "--measures", "P@10")[1]
    assert "missing-topics" in out
    assert "shallow" in out
    out = checked(capsys, "a.trec", "--topics", "topics.tsv")[1]
    assert "missing-topics" in out
    assert "7" in out


def test_runs_are_compared_with_one_another(folder, capsys):
    out = checked(capsys, "a.trec", "b.trec")[1]
    assert "[topic-sets]" in out


def test_a_file_that_is_cut_short(folder, capsys):
    whole = gzip.compress(b"".join(b"1 Q0 d%d 1 %d a\n" % (n, -n) for n in range(9999)))
    (folder / "c.trec.gz").write_bytes(whole[: len(whole) // 2])
    code, out = checked(capsys, "c.trec.gz", "a.trec")
    assert code == 1
    assert "[unreadable]" in out


def test_unknown_documents_of_an_index(two_runs, arguments_index, tmp_path, capsys):
    (tmp_path / "x.trec").write_text("1 Q0 nobody-knows-this 1 9 a\n")
    code, out = checked(capsys, str(tmp_path / "x.trec"), "--index", str(arguments_index))
    assert code == 1
    assert "[unknown-docnos]" in out
    code, out = checked(capsys, str(two_runs[0]), "--index", str(arguments_index))
    assert "unknown-docnos" not in out
    assert code == 0


def test_metadata_files_that_a_glob_takes_in_are_ignored(tmp_path, capsys):
    from adducir.cli.options import METADATA_ENDING
    from adducir.runs.metadata import SUFFIX

    assert METADATA_ENDING == SUFFIX
    run = tmp_path / "a.trec"
    run.write_text("1 Q0 d1 1 2.0 a\n1 Q0 d2 2 1.0 a\n")
    (tmp_path / f"a.trec{SUFFIX}").write_text("tag: a\n")
    assert main(["check", *map(str, sorted(tmp_path.iterdir()))]) == 0
    assert SUFFIX not in capsys.readouterr().out


def test_no_command_writes_over_what_it_reads(tmp_path, capsys):
    run, other, qrels = tmp_path / "a.trec", tmp_path / "b.trec", tmp_path / "q.txt"
    run.write_text("1 Q0 d1 1 2.0 a\n2 Q0 d2 1 1.0 a\n")
    other.write_text("1 Q0 d2 1 2.0 b\n2 Q0 d1 1 1.0 b\n")
    qrels.write_text("1 0 d1 1\n2 0 d1 1\n")
    before = {path: path.read_bytes() for path in (run, other, qrels)}
    assert main(["fuse", str(run), str(other), "-o", str(run)]) == 2
    assert main(["evaluate", str(run), str(other), "-q", str(qrels), "-o", str(other)]) == 2
    assert main(["evaluate", str(run), "-q", str(qrels), "-o", str(qrels)]) == 2
    assert {path: path.read_bytes() for path in before} == before
    assert "which this command reads" in capsys.readouterr().err


def test_a_run_that_found_nothing_counts_zero(tmp_path, capsys):
    (tmp_path / "c.jsonl").write_text('{"id": "a", "text": "one dog"}\n')
    (tmp_path / "t.tsv").write_text("1\tthe\n2\tof\n")
    (tmp_path / "q.txt").write_text("1 0 a 1\n2 0 a 1\n")
    index, run = str(tmp_path / "i"), str(tmp_path / "r.trec")
    assert main(["index", str(tmp_path / "c.jsonl"), "-o", index]) == 0
    command = ["search", "--index", index, "--topics", str(tmp_path / "t.tsv"), "--output", run]
    assert main(command) == 0
    assert main(["evaluate", run, "-q", str(tmp_path / "q.txt"), "--measures", "AP"]) == 0
    assert "0.000" in capsys.readouterr().out


def test_all_topics_in_latex_are_refused(tmp_path, capsys):
    run, qrels = tmp_path / "a.trec", tmp_path / "q.txt"
    run.write_text("1 Q0 d1 1 2.0 a\n")
    qrels.write_text("1 0 d1 1\n")
    command = ["evaluate", str(run), "-q", str(qrels), "--format", "latex", "--per-topic"]
    assert main(command) == 2
    assert "--format csv" in capsys.readouterr().err
