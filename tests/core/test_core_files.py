"""Reading and writing files: what comes back, and every error with its line."""

import bz2
import gzip
import io
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adducir.core import files
from adducir.core.errors import InputError, MachineError
from adducir.core.files import file_digest, read_bytes, read_lines, read_text, writing_text

PACKED = {"gzip": gzip.compress, "bzip2": bz2.compress}

LINES = [f"{number}\tline {number} é" for number in range(1, 40_001)]
TEXT = "".join(f"{line}\n" for line in LINES)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def lines_until_fault(path: Path) -> tuple[list[str], InputError]:
    """The lines that were yielded before the error, and the error."""
    seen: list[str] = []
    with pytest.raises(InputError) as caught:
        for number, line in read_lines(path):
            assert number == len(seen) + 1
            seen.append(line)
    return seen, caught.value


PACKS = pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])


@PACKS
def test_lines_and_bytes_come_back(tmp_path: Path, pack) -> None:
    path = tmp_path / "a.txt"  # compression is recognised whatever the name
    path.write_bytes(pack(TEXT.encode()))
    assert list(read_lines(path)) == list(enumerate(LINES, 1))
    assert read_bytes(path) == TEXT.encode()
    assert read_text(path) == TEXT


@given(
    text=st.text(st.characters(codec="utf-8", exclude_characters="\0") | st.sampled_from("\r\n")),
    name=st.sampled_from(["a.txt", "a.txt.gz"]),
)
def test_what_is_written_is_read(tmp_path_factory, text: str, name: str) -> None:
    path = tmp_path_factory.mktemp("round") / name
    with writing_text(path) as handle:
        handle.write(text)
    plain = text.removeprefix("\ufeff")
    lines = io.StringIO(plain, newline=None).readlines()  # as Python reads a file
    assert [line for _, line in read_lines(path)] == [line.removesuffix("\n") for line in lines]
    assert (read_bytes(path), read_text(path)) == (plain.encode(), "".join(lines))


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("cut", [3, 12, 5_000, 50_000, -8, -1])
def test_truncated_streams_tell_the_line_reached(tmp_path: Path, name: str, cut: int) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(PACKED[name](TEXT.encode())[:cut])
    seen, error = lines_until_fault(path)
    assert seen == LINES[: len(seen)]
    if cut >= 5_000 and name == "gzip":  # a block of bzip2 is larger than this
        assert seen
    if cut in (-8, -1):
        assert len(seen) == len(LINES)
    if seen:
        assert error.line == len(seen)
    with pytest.raises(InputError) as caught:
        read_bytes(path)
    assert caught.value.line == error.line


@pytest.mark.parametrize("name", PACKED)
def test_corrupt_streams(tmp_path: Path, name: str) -> None:
    packed = bytearray(PACKED[name](TEXT.encode()))
    packed[-8] ^= 0xFF  # the check sum, or the last block
    path = tmp_path / "a.txt"
    path.write_bytes(packed)
    _, error = lines_until_fault(path)
    with pytest.raises(InputError) as caught:
        read_bytes(path)
    assert caught.value.line == error.line


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.gz", b""),
        ("a.gz", b"a\n"),
        ("a.bz2", b""),
        ("a.bz2", b"a\n"),
        ("a.bz2", b"BZh91AY"),
        ("a.xz", b"\xfd7zXZ\x00"),
        ("a.zst", b"\x28\xb5\x2f\xfd00"),
        ("utf-16", "1\tcats\n".encode("utf-16")),
        ("utf-16-le", "1\tcats\n".encode("utf-16-le")),
        ("utf-16-be.gz", gzip.compress("1\tcats\n".encode("utf-16-be"), mtime=0)),
        ("utf-32", "1\tcats\n".encode("utf-32")),
    ],
)
def test_streams_that_are_not_what_they_seem(tmp_path: Path, name, content) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    _, error = lines_until_fault(path)
    assert error.path == path
    assert error.hint


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("where", [0, 2, 39_999])
def test_other_encodings_tell_line_and_byte(tmp_path: Path, pack, where: int) -> None:
    raw = [line.encode() for line in LINES]
    raw[where] = b"caf\xe9 latin"
    path = tmp_path / "a.txt"
    path.write_bytes(pack(b"\n".join(raw)))
    seen, error = lines_until_fault(path)
    assert seen == LINES[:where]
    assert error.line == where + 1
    with pytest.raises(InputError) as caught:
        read_bytes(path)
    assert str(caught.value) == str(error)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    _, error = lines_until_fault(tmp_path / "none.txt")
    assert str(error) == f"{tmp_path / 'none.txt'}: no such file."
    _, error = lines_until_fault(tmp_path / "no" / "none.txt")
    assert f"the folder {tmp_path / 'no'} does not exist" in str(error)
    _, error = lines_until_fault(tmp_path)
    assert "this is a folder" in str(error)
    with pytest.raises(InputError, match="this is a folder"):
        file_digest(tmp_path)


def test_equal_content_gives_equal_gzip(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with writing_text(tmp_path / name) as handle:
            handle.write(TEXT)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == TEXT.encode()
    assert (tmp_path / "a.gz").read_bytes()[4:8] == b"\0\0\0\0"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(files.secrets, "token_hex", lambda _: "0")
    hidden = f".{name}.{platform.node()}-{os.getpid()}-0.tmp"
    (tmp_path / hidden).symlink_to("/dev/full")
    with pytest.raises(MachineError, match="no space"), writing_text(tmp_path / name) as out:
        out.write(TEXT)
    assert names(tmp_path) == []
    with pytest.raises(MachineError, match="no space"), writing_text(Path("/dev/full")) as out:
        out.write(TEXT)


def test_killed_writer_leaves_the_old_file_and_a_later_one_clears_up(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    code = f"""
import sys, time
from pathlib import Path
from adducir.core.files import writing_text
with writing_text(Path({str(path)!r})) as handle:
    handle.write("new" * 100000)
    print("writing", flush=True)
    time.sleep(60)
"""
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    with writing_text(path) as handle:  # a living writer's file is left alone
        handle.write("meanwhile")
    assert len(names(tmp_path)) == 2
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert path.read_text() == "meanwhile"
    with writing_text(path) as handle:
        handle.write("newer")
    assert names(tmp_path) == ["a.txt"]
