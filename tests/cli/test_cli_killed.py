"""A build killed with SIGKILL leaves the study usable, and the next call finishes it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.core.artifacts import changes, read_manifest
from adducir.indexes.lucene import LuceneIndex
from adducir.indexes.memory.index import MemoryIndex

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL there"),
]
DOCUMENTS = 60_000


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "many.jsonl"
    text = " ".join(f"word{number}" for number in range(150))
    with path.open("w") as handle:
        for number in range(DOCUMENTS):
            handle.write(json.dumps({"id": f"D{number}", "text": f"{text} own{number}"}) + "\n")
    return path


def kill_during(command: list[str], hidden: Path, seconds: float) -> None:
    """Start a command, wait until its hidden folder is there and some time more, and kill it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "adducir.cli.app", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not list(hidden.parent.glob(f".{hidden.name}.building-*")):
        assert process.poll() is None, "the build ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(seconds)
    assert process.poll() is None, "the build ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize("seconds", [0.0, 0.7, 1.5])
@pytest.mark.parametrize("engine", ["lucene", "memory"])
def test_killed_index_is_finished_by_the_next_call(
    corpus: Path, tmp_path: Path, engine: str, seconds: float
) -> None:
    output = tmp_path / "index"
    command = ["index", str(corpus), "--output", str(output), "--engine", engine]
    kill_during(command, output, seconds)
    assert not output.exists()
    assert main(command) == 0
    assert read_manifest(output).counts["documents"] == DOCUMENTS
    assert not changes(output, read_manifest(output))
    assert not list(tmp_path.glob(".*building*"))
    opened = MemoryIndex(output).docnos if engine == "memory" else LuceneIndex(output).docnos
    assert len(opened) == DOCUMENTS


def test_a_killed_rebuild_keeps_the_index_that_was_there(corpus: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.jsonl"
    small.write_text('{"id": "a", "text": "one dog"}\n')
    output = tmp_path / "index"
    assert main(["index", str(small), "--output", str(output)]) == 0
    kill_during(["index", str(corpus), "--output", str(output), "--force"], output, 0.7)
    assert LuceneIndex(output).docnos.to_list() == ["a"]
