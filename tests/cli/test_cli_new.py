"""``adducir new``: all or nothing."""

import os
import shlex
import stat
from pathlib import Path

import pytest

from adducir.cli import study
from adducir.cli.app import main

EXPECTED = sorted([*study.FOLDERS, ".gitignore", "README.md"])


def contents(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_study_has_its_folders_and_a_starter(tmp_path, capsys):
    assert main(["new", str(tmp_path / "deep" / "mine")]) == 0
    folder = tmp_path / "deep" / "mine"
    assert contents(folder) == EXPECTED
    assert contents(folder / "experiments") == contents(folder / "deepct") == ["demo.yaml"]
    assert (folder / "README.md").read_text().startswith("# mine\n")
    assert contents(tmp_path / "deep") == ["mine"]
    assert "mine" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="file modes are otherwise there")
def test_the_folder_has_ordinary_rights(tmp_path):
    (tmp_path / "usual").mkdir()
    main(["new", str(tmp_path / "mine")])
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "mine")]
    assert modes[0] == modes[1]


def test_the_starter_is_the_demo_of_this_repository():
    ours = Path(__file__).parents[2] / "experiments" / "demo.yaml"
    assert (study.STARTER / "demo.yaml").read_bytes() == ours.read_bytes()
    ours = Path(__file__).parents[2] / "deepct" / "demo.yaml"
    assert (study.STARTER / "deepct.yaml").read_bytes() == ours.read_bytes()


def test_the_starter_is_a_valid_experiment():
    from adducir.core.config import load, validate
    from adducir.experiments.retrieval.study import Retrieval

    recipe = validate(load(study.STARTER / "demo.yaml"), Retrieval)
    assert all(corpus.source.startswith("bundled:") for corpus in recipe.corpora.values())


def test_the_starter_is_a_valid_term_weighter():
    from adducir.core.config import load, validate
    from adducir.deepct.recipe import DeepCTRecipe

    recipe = validate(load(study.STARTER / "deepct.yaml"), DeepCTRecipe)
    assert (recipe.corpus.source, recipe.base) == ("bundled:arguments", "minilm")


def test_an_empty_folder_and_a_fresh_git_repository_are_filled(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["new", "."]) == 0
    assert contents(tmp_path) == sorted([*EXPECTED, ".git"])
    assert (tmp_path / "README.md").read_text().startswith(f"# {tmp_path.name}\n")


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("x")
    assert main(["new", str(tmp_path)]) == 5
    assert contents(tmp_path) == ["thesis.tex"]
    assert "not empty: it holds thesis.tex." in capsys.readouterr().err


def test_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("x")
    assert main(["new", str(tmp_path / "thesis.tex")]) == 2
    assert "is a file" in capsys.readouterr().err


def test_what_a_killed_new_left_is_finished(tmp_path):
    assert main(["new", str(tmp_path)]) == 0
    assert main(["new", str(tmp_path)]) == 5
    (tmp_path / "README.md").unlink()  # it comes last
    (tmp_path / "deepct" / "demo.yaml").unlink()
    assert main(["new", str(tmp_path)]) == 0
    assert contents(tmp_path) == EXPECTED
    assert contents(tmp_path / "deepct") == ["demo.yaml"]


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
