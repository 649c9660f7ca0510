"""``adducir new``, ``demo`` and ``experiment``, and what a killed command leaves."""

import shlex
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.cli.new import STARTER
from adducir.core.files import FOLDERS

EXPECTED = sorted([*FOLDERS, ".gitignore", "README.md"])
ROOT = Path(__file__).parents[2]


def contents(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_study_has_its_folders_and_a_starter(tmp_path, capsys):
    folder = tmp_path / "deep" / "mine"
    assert main(["new", str(folder)]) == 0
    assert contents(folder) == EXPECTED
    assert contents(folder / "experiments") == contents(folder / "deepct") == ["demo.yaml"]
    assert (folder / "README.md").read_text().startswith("# mine\n")
    for own, ours in (("demo.yaml", "experiments/demo.yaml"), ("deepct.yaml", "deepct/demo.yaml")):
        assert (STARTER / own).read_bytes() == (ROOT / ours).read_bytes()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("x")
    assert main(["new", str(tmp_path)]) == 5
    assert main(["demo", "--folder", str(tmp_path)]) == 5
    assert contents(tmp_path) == ["thesis.tex"]
    assert "thesis.tex" in capsys.readouterr().err
    assert main(["new", str(tmp_path / "thesis.tex")]) == 2


def test_what_a_killed_new_left_is_finished(tmp_path):
    assert main(["new", str(tmp_path)]) == 0
    assert main(["new", str(tmp_path)]) == 5
    (tmp_path / "README.md").unlink()  # it comes last
    (tmp_path / "deepct" / "demo.yaml").unlink()
    assert main(["new", str(tmp_path)]) == 0
    assert contents(tmp_path) == EXPECTED
    assert contents(tmp_path / "deepct") == ["demo.yaml"]


@pytest.mark.slow
def test_the_commands_of_the_readme_run(tmp_path, monkeypatch, capsys):
    assert main(["new", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    text = Path("README.md").read_text().replace("\\\n", " ")
    lines = [line.partition("#")[0] for line in text.splitlines() if line.startswith("    adducir")]
    assert len(lines) == 9
    # A training takes its time; the slow tests of the documents do one.
    for line in (line for line in lines if " deepct " not in line and " train " not in line):
        words = [
            one
            for word in shlex.split(line)[1:]
            for one in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
        ]
        # Java looks for relative paths where it was started, which is not here.
        words = [str(Path(one).resolve()) if one == "indexes/arguments" else one for one in words]
        assert main(words) == 0, (line, capsys.readouterr().err)
