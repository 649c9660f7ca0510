"""What a command killed with SIGKILL leaves behind, the next call of the same command removes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.cli.app import main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL there")


_KILLED = """
import os, signal, sys
import {module} as module
module.{name} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from adducir.cli.app import main
sys.exit(main(sys.argv[1:]))
"""


def killed_at(module: str, name: str, *words: str) -> None:
    """Run a command that is killed where it calls a function."""
    code = _KILLED.format(module=module, name=name)
    ended = subprocess.run([sys.executable, "-c", code, *words], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL


def hidden(folder: Path) -> list[str]:
    """What was left behind: hidden files and folders but locks."""
    found = (path.name for path in folder.rglob(".*") if ".parts-" not in path.parent.name)
    return sorted(name for name in found if not name.endswith(".lock"))


@pytest.mark.parametrize("exists", [False, True])
def test_what_a_killed_new_leaves_is_removed(tmp_path: Path, exists: bool) -> None:
    folder = tmp_path / "study"
    if exists:
        folder.mkdir()
    killed_at("adducir.cli.study", "_fill", "new", str(folder))
    assert any(name.startswith(".adducir-new-") for name in hidden(tmp_path))
    assert main(["new", str(folder)]) == 0
    assert hidden(tmp_path) == [".gitignore"]


_KILLED_WHILE_MOVING = """
import os, signal, sys
from pathlib import Path
from adducir.cli.app import main
rename, moved = Path.rename, []
def counted(path, target):
    moved.append(path)
    if len(moved) > int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(path, target)
Path.rename = counted
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("moved", [0, 1, 7])
def test_a_new_killed_while_it_moves_into_a_folder_is_finished(tmp_path: Path, moved: int) -> None:
    folder, whole = tmp_path / "study", tmp_path / "whole"
    folder.mkdir()
    words = (str(moved), "new", str(folder))
    ended = subprocess.run([sys.executable, "-c", _KILLED_WHILE_MOVING, *words], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len([one for one in folder.iterdir() if not one.name.startswith(".adducir")]) == moved
    assert main(["new", str(folder)]) == 0
    assert main(["new", str(whole)]) == 0
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == sorted(
        path.relative_to(whole) for path in whole.rglob("*")
    )


def test_what_a_killed_experiment_leaves_of_a_step_that_is_there_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("experiments").mkdir()
    Path("experiments/study.yaml").write_text("""
corpora: {arguments: {source: bundled:arguments}}
indexes: {small: {corpus: arguments, engine: dense, encoder: minilm, fields: [conclusion]}}
topics: {bundled: {source: bundled:topics, field: title, qrels: bundled:qrels}}
systems: {MiniLM: {index: small}}
measures: [nDCG@5]
""")
    words = ("experiment", "experiments/study.yaml")
    killed_at("adducir.core.artifacts", "remove_parts", *words)
    left = hidden(tmp_path / "indexes")
    assert ".small.lock.holder" in left
    assert main([*words]) == 0
    assert hidden(tmp_path) == []
