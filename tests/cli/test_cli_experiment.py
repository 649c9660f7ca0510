"""``adducir experiment`` and ``adducir demo``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.cli.app import main


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A fresh study as the current folder."""
    assert main(["new", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_dry_run_says_what_would_be_done_and_does_nothing(study, capsys):
    before = files(study)
    capsys.readouterr()
    assert main(["experiment", "experiments/demo.yaml", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("build  index indexes/arguments")
    assert sum(line.startswith("search") for line in lines) == 4
    assert files(study) == before


def test_an_experiment_prints_its_table_and_does_nothing_twice(study, capsys):
    capsys.readouterr()
    assert main(["experiment", "experiments/demo.yaml"]) == 0
    out, err = capsys.readouterr()
    assert "DirichletLM+RM3" in out
    assert "20 topics." in out
    assert "\x1b" not in out + err
    assert "indexing:" in err
    assert len(list((study / "runs").rglob("*.trec.gz"))) == 4
    assert (study / "experiments" / "demo" / "report.html").is_file()

    assert main(["experiment", "experiments/demo.yaml", "--format", "json"]) == 0
    again, err = capsys.readouterr()
    assert "indexing:" not in err
    assert len(json.loads(again)["rows"]) == 4
    main(["experiment", "experiments/demo.yaml", "--dry-run"])
    plan = capsys.readouterr().out
    assert "build" not in plan
    assert plan.count("keep") == 5


def test_changes_for_this_time(study, capsys):
    capsys.readouterr()
    arguments = ["experiment", "experiments/demo.yaml", "--dry-run"]
    assert main([*arguments, "--set", "measures=[P@3]", "--set", "systems.BM25.k1=2"]) == 0
    assert "P@3" in capsys.readouterr().out
    assert main([*arguments, "--set", "systems.BM25.k=2"]) == 3
    assert "systems.BM25.k=2" in capsys.readouterr().err


def test_all_errors_at_once_with_their_lines(study, capsys):
    path = study / "experiments" / "demo.yaml"
    text = path.read_text().replace("model: qld", "model: qdl").replace("baseline:", "basline:")
    path.write_text(text)
    assert main(["experiment", "experiments/demo.yaml"]) == 3
    err = capsys.readouterr().err
    assert err.count("demo.yaml:") >= 3
    assert "baseline" in err
    assert not (study / "runs" / "demo").exists()


def test_no_such_file(study, capsys):
    assert main(["experiment", "experiments/none.yaml"]) == 3
    assert "experiments/none.yaml" in capsys.readouterr().err


def test_the_demo_makes_a_study_where_there_is_none(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert "nDCG@5" in out
    assert "made the study adducir-demo" in err
    assert [path.name for path in tmp_path.iterdir()] == ["adducir-demo"]
    assert main(["demo"]) == 0
    assert "indexing:" not in capsys.readouterr().err


def test_the_demo_uses_the_study_it_stands_in(study, capsys):
    capsys.readouterr()
    assert main(["demo"]) == 0
    assert (study / "experiments" / "demo" / "table.tex").is_file()
    assert not (study / "adducir-demo").exists()


def test_the_demo_in_a_folder_of_ones_choice(tmp_path, capsys):
    assert main(["demo", "--folder", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x" / "experiments" / "demo" / "table.md").is_file()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    assert main(["demo", "--folder", str(tmp_path / "full")]) == 5


def test_the_demo_as_a_program_of_its_own(tmp_path):
    """From a fresh process: Java, search, evaluation and table, results and notes apart."""
    run = subprocess.run(
        [str(Path(sys.executable).with_name("adducir")), "demo"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Four lexical systems")
    assert "\x1b" not in run.stdout + run.stderr
    assert "Traceback" not in run.stderr
    assert "WARNING" not in run.stderr
