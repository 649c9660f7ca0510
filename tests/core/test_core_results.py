"""Results in several files, and what else lies in their folder."""

from pathlib import Path

import pytest

from adducir.core.artifacts import build, publishing_results, replacing_anything
from adducir.core.errors import ArtifactError, InputError, MachineError
from adducir.core.manifests import MANIFEST, read_manifest


def publish(path: Path, text: str, names: tuple[str, ...] = ("table.txt", "table.csv")) -> None:
    with publishing_results(path) as folder:
        for name in names:
            (folder / name).write_text(text)


def texts(path: Path) -> set[str]:
    return {one.read_text() for one in path.glob("*.*") if one.name not in (MANIFEST, "notes.md")}


def test_results_are_listed_and_what_else_lies_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "demo"
    publish(path, "1", ("table.txt", "by-book.csv"))
    (path / "notes.md").write_text("mine")
    (path / "link").symlink_to("notes.md")
    publish(path, "2", ("table.txt", "table.csv"))
    assert {one.name for one in path.iterdir()} == {
        *("table.txt", "table.csv", "notes.md", "link", MANIFEST)
    }
    assert (path / "link").is_symlink()
    assert (path / "notes.md").stat().st_nlink == 1
    assert set(read_manifest(path).files) == {"table.txt", "table.csv"}


def test_what_a_person_keeps_in_a_folder_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "demo"
    path.mkdir()
    (path / "table.txt").write_text("mine")
    with pytest.raises(ArtifactError):
        publish(path, "new")
    assert texts(path) == {"mine"}
    with replacing_anything():
        publish(path, "new")
    assert texts(path) == {"new"}


def test_other_folders_are_refused_before_the_work(tmp_path: Path, monkeypatch) -> None:
    index = tmp_path / "index"
    build(index, kind="toy", recipe={}, inputs={}, builder_version=1, make=lambda folder: {})
    file = tmp_path / "file"
    file.touch()
    here = tmp_path / "here"
    here.mkdir()
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    monkeypatch.chdir(here)
    for path, error, what in (
        (index, ArtifactError, "an artifact of kind 'toy'"),
        (file, InputError, "this is a file"),
        (Path(), InputError, "the current folder"),
        (tmp_path, InputError, "the current folder"),
        (closed, MachineError, "read-only"),
    ):
        worked = False
        with pytest.raises(error, match=what), publishing_results(path):
            worked = True
        assert not worked
    assert list(here.iterdir()) == []
