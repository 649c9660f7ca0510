"""Artifacts are verified when they are opened: sizes always, contents once per machine."""

import os
import time
from pathlib import Path

import pytest

from adducir.core import fingerprint as digests
from adducir.core.artifacts import build, changes, open_artifact, read_manifest, refuse_damaged
from adducir.core.errors import ArtifactError
from adducir.core.files import file_digest


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The names of the files that are read, and a cache of one's own."""
    names: list[str] = []

    def count(path: Path) -> str:
        names.append(path.name)
        return file_digest(path)

    monkeypatch.setattr(digests, "file_digest", count)
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(digests, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(digests, "_known", {})
    return names


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in another process."""
    monkeypatch.setattr(digests, "_known", {})


def toy(path: Path) -> Path:
    def make(folder: Path) -> dict[str, int]:
        (folder / "sub").mkdir()
        (folder / "sub" / "a").write_text("a" * 100)
        (folder / "b").write_text("b" * 100)
        (folder / "README.md").write_text("card")
        return {}

    build(path, kind="toy", recipe={}, inputs={}, builder_version=1, make=make)
    long_ago = time.time() - 100
    for file in (path / "sub" / "a", path / "b"):
        os.utime(file, (long_ago + 0.5, long_ago + 0.5))
    time.sleep(0.06)  # a file's times are sure when the clock has gone on
    return path


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[7] ^= 1
    path.write_bytes(bytes(content))


def test_contents_are_read_once_per_machine(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = toy(tmp_path / "toy")
    assert open_artifact(path, "toy").kind == "toy"
    assert sorted(reads) == ["a", "b"]
    open_artifact(path)
    forget(monkeypatch)
    open_artifact(path)
    assert len(reads) == 2
    (path / "b").write_text("b" * 100)  # the same again, at another time
    open_artifact(path)
    assert reads[2:] == ["b"]


@pytest.mark.parametrize("content", [b"", b"{", b"SQLite format 3\0" * 99])
def test_to_lose_what_was_kept_costs_time_only(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = toy(tmp_path / "toy")
    open_artifact(path)
    forget(monkeypatch)
    (tmp_path / "cache" / "digests.sqlite").write_bytes(content)
    open_artifact(path)
    assert len(reads) == 4


def test_every_damage_is_named(tmp_path: Path, reads: list[str]) -> None:
    path = toy(tmp_path / "toy")
    flip(path / "sub" / "a")
    with pytest.raises(ArtifactError, match=r"sub/a: this file is damaged.*--rebuild") as caught:
        open_artifact(path)
    assert caught.value.exit_code == 5
    assert changes(path, read_manifest(path)) == {"sub/a": "its content has changed"}
    (path / "b").write_text("short")
    with pytest.raises(ArtifactError, match=r"5 bytes instead of 100"):
        open_artifact(path)
    (path / "b").unlink()
    with pytest.raises(ArtifactError, match=r"b: this file is damaged \(missing\)"):
        refuse_damaged(path)


def test_a_card_may_be_edited(tmp_path: Path, reads: list[str]) -> None:
    path = toy(tmp_path / "toy")
    (path / "README.md").write_text("a longer card")
    open_artifact(path)
