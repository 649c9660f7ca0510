"""What the machine cannot do is reported as such, and what unpacks to far too much is refused."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.core.errors import MachineError, explaining_writes
from adducir.core.files import read_lines, read_text, writing_text

FAILURES = (errno.EIO, errno.EFBIG, errno.EMFILE, errno.ENOMEM)


@pytest.mark.parametrize("code", FAILURES)
def test_a_failure_while_writing_is_the_machines(code, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before", encoding="utf-8")
    with pytest.raises(MachineError) as caught, writing_text(path) as handle:
        handle.write("after")
        raise OSError(code, os.strerror(code))  # as write() raises it: without a name
    assert caught.value.exit_code == 4
    assert caught.value.path == path
    assert path.read_text(encoding="utf-8") == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("code", FAILURES)
@pytest.mark.parametrize("read", [read_text, lambda path: list(read_lines(path))])
def test_a_failure_while_reading_is_the_machines(code, read, tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("a", encoding="utf-8")

    def fails(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "open", fails)
    with pytest.raises(MachineError) as caught:
        read(path)
    assert caught.value.path == path


def test_a_limit_on_file_sizes_ends_a_command_with_code_4(tmp_path):
    run = tmp_path / "a.run"
    run.write_text("".join(f"q{n} Q0 d{n} 1 1.0 t\n" for n in range(5000)), encoding="utf-8")
    output = tmp_path / "out.trec"

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))

    done = subprocess.run(
        [sys.executable, "-m", "adducir.cli.app", "fuse", str(run), str(run), "-o", str(output)],
        capture_output=True,
        text=True,
        preexec_fn=limited,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 4, done.stderr
    assert "ulimit -f" in done.stderr
    assert not output.exists()


@pytest.mark.parametrize("number", [27, 28])
def test_what_a_library_says_of_the_disk_is_understood(tmp_path: Path, number: int) -> None:
    # As safetensors has it, whose errors are no OSError.
    with pytest.raises(MachineError), explaining_writes(tmp_path / "x"):
        raise RuntimeError(f"Error while serializing: I/O error: words (os error {number})")
    with pytest.raises(RuntimeError), explaining_writes(tmp_path / "x"):
        raise RuntimeError("Error while deserializing: header too large (os error 2704)")
