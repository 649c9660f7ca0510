"""What the machine cannot do is reported as such, and what unpacks to far too much is refused."""

import bz2
import errno
import gzip
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from adducir.core import streams
from adducir.core.errors import InputError, MachineError, explaining_writes
from adducir.core.files import read_bytes, read_lines, read_text, writing_text

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


@pytest.mark.parametrize(("name", "pack"), [("a.gz", gzip.compress), ("a.bz2", bz2.compress)])
@pytest.mark.parametrize(
    "read", [read_bytes, read_text, lambda path: sum(1 for _ in read_lines(path))]
)
def test_what_unpacks_to_far_too_much_is_refused(name, pack, read, tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "ALWAYS_READ", 1 << 20)
    path = tmp_path / name
    path.write_bytes(pack(b"blank line\n" * (1 << 18)))
    with pytest.raises(InputError, match="more than 100 times its size"):
        read(path)
    monkeypatch.setattr(streams, "ALWAYS_READ", 1 << 22)
    read(path)  # so small a file may be as it likes


def test_what_is_packed_as_text_is_has_no_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "ALWAYS_READ", 1 << 10)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress("".join(f"{n * n} words\n" for n in range(50_000)).encode()))
    assert len(read_text(path)) > 1 << 19


@pytest.mark.parametrize("number", [27, 28])
def test_what_a_library_says_of_the_disk_is_understood(tmp_path: Path, number: int) -> None:
    # As safetensors has it, whose errors are no OSError.
    with pytest.raises(MachineError), explaining_writes(tmp_path / "x"):
        raise RuntimeError(f"Error while serializing: I/O error: words (os error {number})")
    with pytest.raises(RuntimeError), explaining_writes(tmp_path / "x"):
        raise RuntimeError("Error while deserializing: header too large (os error 2704)")
