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
