"""What the machine cannot do is reported as such, and what unpacks to far too much is refused."""

import errno
import os
import pickle

import pytest

from adducir.core.errors import AdducirError, InputError, MachineError, explaining_writes
from adducir.core.errors import reading_error as error_of
from adducir.core.files import read_text, writing_text

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


@pytest.mark.parametrize(
    ("code", "kind", "told"),
    [
        (errno.EACCES, InputError, "permission denied: the file cannot be read"),
        (errno.ELOOP, InputError, "the file cannot be read: Too many levels"),
        (errno.EIO, MachineError, "a.txt: "),
    ],
)
def test_a_file_that_cannot_be_read(code, kind, told, tmp_path):
    error = error_of(OSError(code, os.strerror(code)), tmp_path / "a.txt")
    assert (type(error), told in str(error)) == (kind, True), str(error)
    again = pickle.loads(pickle.dumps(error))  # as another process sends it
    assert (str(again), again.path, again.hint) == (str(error), error.path, error.hint)


def test_a_file_where_a_folder_is_needed(tmp_path):
    (tmp_path / "file").write_text("x")
    for name in ("file/a.txt", "file/folder/a.txt"):
        with pytest.raises(AdducirError, match="file"), writing_text(tmp_path / name):
            pass
        with pytest.raises(InputError, match=r"cannot be read|no such file"):
            read_text(tmp_path / name)
    for name, told in (("", "this is a folder"), ("a.txt.bz2", "bzip2 can be read")):
        with pytest.raises(InputError, match=told), writing_text(tmp_path / name):
            pass
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("code", "below", "told"),
    [
        (errno.EACCES, "a.txt", "permission denied: this path cannot be written"),
        (errno.ENAMETOOLONG, "a.txt", "this cannot be written: File name too long"),
        (errno.ENOTDIR, "", "this is a file, but a folder is needed"),
        (errno.EACCES, "/elsewhere", None),  # of another file: not explained
        (errno.ENOENT, "a.txt", None),
    ],
)
def test_what_hinders_writing_is_explained(code, below, told, tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(AdducirError if told else OSError) as caught, explaining_writes(path):
        raise OSError(code, os.strerror(code), str(tmp_path / below))
    assert told is None or told in str(caught.value)
