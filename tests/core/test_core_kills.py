"""Builds killed with SIGKILL, and several processes at one artifact, for real."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.core.artifacts import build
from adducir.core.manifests import changes, read_manifest

# A build of 30 files. With a point to stop at, it says so there and sleeps.
CHILD = """
import sys, time
from pathlib import Path
from adducir.core import artifacts

path, version, stop = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

def reached(point):
    if point == stop:
        print("reached", flush=True)
        time.sleep(600)

def before(module, name, point):
    real = getattr(module, name)
    def call(*arguments, **options):
        reached(point)
        return real(*arguments, **options)
    setattr(module, name, call)

before(artifacts, "give_default_rights", "made")
before(artifacts.json, "dump", "unwritten")
before(artifacts, "remove_parts", "published")
rename = Path.rename
def renamed(self, target):
    if ".building-" in str(self):
        reached("written")
    result = rename(self, target)
    if ".old-" in str(target):
        reached("aside")
    return result
Path.rename = renamed

def make(folder):
    with open(path.parent / "calls", "a") as calls:
        calls.write("made\\n")
    for number in range(30):
        (folder / f"{number}.txt").write_text(f"{version} " * 1000)
        if number == 15:
            reached("half")
        time.sleep(0.002)
    return {"files": 30}

print("started", flush=True)
artifacts.build(path, kind="toy", recipe={}, inputs={}, builder_version=version, make=make)
print("done", flush=True)
"""


def start(path: Path, version: int, stop: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), str(version), stop],
        stdout=subprocess.PIPE,
        text=True,
    )


def kill(child: subprocess.Popen[str]) -> None:
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert child.stdout is not None
    child.stdout.close()


def finish(path: Path, version: int, *, is_there: bool = False) -> None:
    """Build in this process, unless it is there, to an artifact that is whole and alone."""

    def make(folder: Path) -> dict[str, int]:
        assert not is_there
        for number in range(30):
            (folder / f"{number}.txt").write_text(f"{version} " * 1000)
        return {"files": 30}

    manifest = build(path, kind="toy", recipe={}, inputs={}, builder_version=version, make=make)
    assert manifest.builder_version == version
    check_whole(path, version)
    left = {each.name for each in path.parent.iterdir()} - {"calls", f".{path.name}.lock"}
    assert left == {path.name}


def check_whole(path: Path, version: int) -> None:
    assert not changes(path, read_manifest(path))
    assert len(read_manifest(path).files) == 30
    assert (path / "29.txt").read_text() == f"{version} " * 1000


POINTS = ["half", "made", "unwritten", "written", "published"]


@pytest.mark.parametrize(
    ("stop", "is_replacing"),
    [*((point, False) for point in POINTS), *((point, True) for point in [*POINTS, "aside"])],
)
def test_killed_at_a_point(tmp_path: Path, stop: str, is_replacing: bool) -> None:
    path = tmp_path / "toy"
    if is_replacing:
        finish(path, 1)
    child = start(path, 2, stop)
    assert child.stdout is not None
    assert [child.stdout.readline() for _ in range(2)] == ["started\n", "reached\n"]
    kill(child)
    if stop == "published":
        check_whole(path, 2)
    elif is_replacing and stop not in ("written", "aside"):
        check_whole(path, 1)
    else:
        assert not path.exists()
    finish(path, 2, is_there=stop in ("published", "aside"))


def test_two_processes_build_it_once(tmp_path: Path) -> None:
    path = tmp_path / "toy"
    children = [start(path, 1) for _ in range(3)]
    outputs = [child.communicate(timeout=60)[0] for child in children]
    assert outputs == ["started\ndone\n"] * 3
    assert [child.returncode for child in children] == [0] * 3
    assert (tmp_path / "calls").read_text() == "made\n"
    check_whole(path, 1)
