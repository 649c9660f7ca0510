"""Artifacts and results killed anywhere with SIGKILL, and several processes at one artifact."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import Forked

from adducir.core.artifacts import build, publishing_results
from adducir.core.manifests import MANIFEST, changes, read_manifest

NAMES = ("table.txt", "table.csv", "report.html")

# Makes three files, and is killed at the n-th thing that it does to the file system.
CHILD = f"""
import os, signal, sys
from pathlib import Path
sys.path += [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1] / "helpers")!r}]
from test_core_kills import make

EVENTS = {{"os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.chmod",
           "shutil.rmtree", "shutil.copystat", "open"}}
last, seen = int(sys.argv[4]), 0

def count(event, arguments):
    global seen
    if event in EVENTS and not (event == "open" and arguments[1] in ("r", "rb")):
        seen += 1
        if seen == last:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(count)
print(make(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
"""


def make(kind: str, path: Path, text: str) -> int:
    """Make an artifact or results of three files with a text; how often they were filled."""
    filled = 0

    def fill(folder: Path) -> dict[str, int]:
        nonlocal filled
        filled += 1
        for name in NAMES:
            (folder / name).write_text(text)
        return {"files": len(NAMES)}

    if kind == "results":
        with publishing_results(path) as folder:
            fill(folder)
    else:
        build(path, kind="toy", recipe={"text": text}, inputs={}, builder_version=1, make=fill)
    return filled


@pytest.fixture(scope="module")
def forked() -> Iterator[Forked]:
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    server = Forked(os.environ | {"PYTHONPATH": path}, "test_core_kills")
    yield server
    server.server.communicate()


def texts(path: Path) -> set[str]:
    assert changes(path, read_manifest(path)) == {}
    assert {name for name in NAMES if (path / name).is_file()} == {*NAMES}
    return {(path / name).read_text() for name in NAMES}


@pytest.mark.parametrize(
    ("kind", "is_replacing"), [("artifact", False), ("artifact", True), ("results", True)]
)
def test_killed_anywhere_everything_is_old_or_new(
    tmp_path: Path, kind: str, is_replacing: bool, forked: Forked
) -> None:
    """Whatever a kill leaves is finished by the next call, and made again only if it must be."""
    last, kills = 1, 0
    while True:
        path = tmp_path / str(last) / "demo"
        path.parent.mkdir()
        if is_replacing:
            make(kind, path, "old")
        if kind == "results":
            (path / "notes.md").write_text("mine")
            (path / "tuning" / "own").mkdir(parents=True)
            (path / "tuning" / "own" / "grid.csv").write_text("grid")
        code = forked.run(["-c", CHILD, kind, str(path), "new", str(last)], path.parent)
        assert code in (0, -signal.SIGKILL), (tmp_path / "told").read_text()
        if code == 0:
            break
        kills += 1
        if path.exists():  # it is missing between two renames
            assert texts(path) in ([{"old"}, {"new"}] if is_replacing else [{"new"}])
        whole = path if path.exists() else next(path.parent.glob(".demo.building-*"), path)
        is_whole = (whole / MANIFEST).is_file() and texts(whole) == {"new"}
        assert make(kind, path, "new") == (kind == "results" or not is_whole)
        assert texts(path) == {"new"}
        assert {file.name for file in path.parent.iterdir()} == {"demo", ".demo.lock"}
        if kind == "results":
            assert (path / "notes.md").read_text() == "mine"
            assert (path / "tuning" / "own" / "grid.csv").read_text() == "grid"
        last += 4
    assert texts(path) == {"new"}
    assert kills > 5


def test_several_processes_build_it_once(tmp_path: Path) -> None:
    words = [sys.executable, "-c", CHILD, "artifact", str(tmp_path / "toy"), "new", "0"]
    children = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [child.communicate(timeout=60)[0] for child in children]
    assert sorted(outputs) == ["0\n", "0\n", "1\n"]
    assert texts(tmp_path / "toy") == {"new"}
