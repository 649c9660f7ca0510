"""What the machine cannot do is reported as such, and what unpacks to far too much is refused."""

import errno
import os

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
