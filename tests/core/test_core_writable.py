"""What stands where something is written: its rights stay, and what is read-only stays."""

import stat
from pathlib import Path

import pytest

from adducir.core import artifacts
from adducir.core.artifacts import build, is_current
from adducir.core.errors import MachineError
from adducir.core.files import writing_text


def write(path: Path, text: str) -> None:
    with writing_text(path) as handle:
        handle.write(text)


def make(folder: Path) -> dict[str, int]:
    (folder / "a").write_text("a")
    return {}


def artifact(path: Path, version: int) -> artifacts.Manifest:
    return build(path, kind="toy", recipe={}, inputs={}, builder_version=version, make=make)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("wanted", [0o600, 0o640, 0o664, 0o755])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, wanted: int) -> None:
    path = tmp_path / "run.trec"
    write(path, "old")
    path.chmod(wanted)
    write(path, "new")
    assert (path.read_text(), mode(path)) == ("new", wanted)


def test_a_read_only_file_is_refused_before_any_work(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    write(path, "old")
    path.chmod(0o444)
    worked = False
    with pytest.raises(MachineError, match="read-only"), writing_text(path):
        worked = True
    assert not worked
    assert path.read_text() == "old"


def test_a_read_only_artifact_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "index"
    old = artifact(path, 1)
    path.chmod(0o555)
    try:
        assert artifact(path, 1) == old  # it is current: nothing is to be written
        with pytest.raises(MachineError, match="read-only"):
            artifact(path, 2)
        assert is_current(path, old.fingerprint)
    finally:
        path.chmod(0o755)
