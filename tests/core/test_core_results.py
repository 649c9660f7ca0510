"""Results in several files appear together, whenever their writer is killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.core.artifacts import build, publishing_results, replacing_anything
from adducir.core.errors import ArtifactError, InputError, MachineError
from adducir.core.manifests import MANIFEST, read_manifest

# Publishes three files, and is killed at the n-th thing that it does to the file system.
CHILD = """
import os, signal, sys
from pathlib import Path
from adducir.core.artifacts import publishing_results

path, text, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
EVENTS = {"os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree",
          "shutil.copystat", "open"}
seen = 0

def count(event, arguments):
    global seen
    if event in EVENTS and not (event == "open" and arguments[1] in ("r", "rb")):
        seen += 1
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
with publishing_results(path) as folder:
    for name in ("table.txt", "table.csv", "report.html"):
        (folder / name).write_text(text)
print("done")
"""


def publish(path: Path, text: str, names: tuple[str, ...] = ("table.txt", "table.csv")) -> None:
    with publishing_results(path) as folder:
        for name in names:
            (folder / name).write_text(text)


def killed_at(path: Path, text: str, last: int) -> bool:
    """Publish in a child that is killed; whether it was."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), text, str(last)], capture_output=True, text=True
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def texts(path: Path) -> set[str]:
    return {one.read_text() for one in path.glob("*.*") if one.name not in (MANIFEST, "notes.md")}


def check_kills(tmp_path: Path, step: int) -> int:
    path = tmp_path / "demo"
    names = ("table.txt", "table.csv", "report.html")
    publish(path, "old", names)
    (path / "notes.md").write_text("mine")
    (path / "tuning" / "own").mkdir(parents=True)
    (path / "tuning" / "own" / "grid.csv").write_text("grid")
    last, kills = 1, 0
    while killed_at(path, "new", last):
        kills += 1
        if path.exists():  # it is missing between two renames
            assert texts(path) in ({"old"}, {"new"}), f"a mixture after {last}"
            assert {name for name in names if (path / name).is_file()} == set(names)
        publish(path, "old", names)
        assert (path / "notes.md").read_text() == "mine"
        assert (path / "tuning" / "own" / "grid.csv").read_text() == "grid"
        assert {one.name for one in tmp_path.iterdir()} == {"demo", ".demo.lock"}
        last += step
    assert texts(path) == {"new"}
    return kills


def test_killed_anywhere_the_results_are_all_old_or_all_new(tmp_path: Path) -> None:
    assert check_kills(tmp_path, 4) > 5


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
