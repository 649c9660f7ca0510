"""What the machine cannot do is reported as such, and what unpacks to far too much is refused."""

import errno
import os
import resource
import subprocess
import sys

import pytest

from adducir.core.errors import MachineError
from adducir.core.files import writing_text

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
