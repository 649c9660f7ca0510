"""Artifacts: built once, replaced whole, verified, refused where they are not ours."""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from notes import Notes

from adducir import __version__
from adducir.core import artifacts
from adducir.core import fingerprint as digests
from adducir.core.artifacts import build, is_current
from adducir.core.errors import ArtifactError, MachineError
from adducir.core.files import file_digest, writing_text
from adducir.core.manifests import (
    FORMAT,
    MANIFEST,
    artifact_fingerprint,
    changes,
    open_artifact,
    read_manifest,
)


class Builder:
    """Fills a folder with two files and a card, and remembers how often it did."""

    def __init__(self, content: str = "content") -> None:
        self.content = content
        self.calls = 0

    def __call__(self, folder: Path) -> dict[str, Any]:
        self.calls += 1
        assert list(folder.iterdir()) == []
        (folder / "sub").mkdir()
        (folder / "sub" / "a.txt").write_text(self.content)
        (folder / "empty").touch()
        (folder / "README.md").write_text("card")
        return {"documents": np.int64(3), "share": 0.5}


def made(path: Path, builder: Any = None, **changes: Any) -> artifacts.Manifest:
    order = {
        "kind": "toy",
        "recipe": {"k1": 0.9, "fields": ("text",)},
        "inputs": {"corpus": "abc"},
        "builder_version": 1,
    }
    return build(path, make=builder or Builder(), **{**order, **changes})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_an_artifact_is_built_once(tmp_path: Path) -> None:
    path = tmp_path / "indexes" / "toy"
    builder = Builder()
    first = made(path, builder, versions={"lucene": "10"})
    assert made(path, builder) == first == read_manifest(path)
    assert builder.calls == 1
    assert names(path.parent) == ["toy"]
    assert (first.kind, first.inputs) == ("toy", {"corpus": "abc"})
    assert first.recipe == {"k1": 0.9, "fields": ["text"]}
    assert first.counts == {"documents": 3, "share": 0.5}
    assert set(first.files) == {"empty", "sub/a.txt", "README.md"}
    assert first.files["sub/a.txt"]["sha256"].startswith("ed7002b439e9ac84")
    assert (first.versions["adducir"], first.versions["lucene"]) == (__version__, "10")
    recipe, inputs = {"fields": ["text"], "k1": 0.9}, {"corpus": "abc"}
    assert first.fingerprint == artifact_fingerprint("toy", recipe, inputs, 1)
    assert is_current(path, first.fingerprint)
    assert not is_current(path, "another")


@pytest.mark.parametrize(
    "change",
    [
        {"recipe": {"k1": 0.8}},
        {"inputs": {"corpus": "abd"}},
        {"builder_version": 2},
        {"rebuild": True},
    ],
)
def test_what_has_changed_is_built_again(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "toy"
    made(path, Builder("old"))
    path.chmod(0o2750)
    made(path, Builder("new!"), **change)
    assert (path / "sub" / "a.txt").read_text() == "new!"
    assert names(tmp_path) == ["toy"]
    assert path.stat().st_mode & 0o7777 == 0o2750


@pytest.mark.parametrize("problem", [ValueError("bad record"), KeyboardInterrupt()])
def test_a_failed_build_leaves_nothing_and_the_old_artifact(tmp_path: Path, problem) -> None:
    path = tmp_path / "toy"

    def fail(folder: Path) -> dict[str, Any]:
        (folder / "half").write_text("x")
        raise problem

    with pytest.raises(type(problem)):
        made(path, fail)
    assert names(tmp_path) == []
    old = made(path)
    with pytest.raises(type(problem)):
        made(path, fail, builder_version=2)
    assert read_manifest(path) == old
    assert names(tmp_path) == ["toy"]


def test_things_of_others_are_left_alone(tmp_path: Path) -> None:
    path, file, builder = tmp_path / "mine", tmp_path / "file", Builder()
    path.mkdir()
    (path / "thesis.tex").write_text("years of work")
    file.write_text("x")
    for place in (path, file):
        with pytest.raises(ArtifactError):
            made(place, builder, rebuild=True)
    (path / MANIFEST).write_text('{"name": "a web app"}')
    with pytest.raises(ArtifactError):
        made(path, builder)
    assert (names(path), file.read_text()) == ([MANIFEST, "thesis.tex"], "x")
    assert builder.calls == 0


def test_manifests_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "toy"
    with pytest.raises(ArtifactError):
        read_manifest(path)
    made(path)
    text = (path / MANIFEST).read_text()
    for content in (
        text.replace(FORMAT, "adducir-artifact/99"),
        text[:-9],
        "",
        "[" * 100_000,
        json.dumps({"format": FORMAT}),
        text.replace('"kind"', '"sort"'),
        json.dumps(json.loads(text) | {"counts": {"documents": 4}}),
        "\udcff",
    ):
        (path / MANIFEST).write_text(content, encoding="utf-8", errors="surrogateescape")
        with pytest.raises(ArtifactError):
            read_manifest(path)
        assert not is_current(path, "x")
        with pytest.raises(ArtifactError):
            made(path, rebuild=True)


def test_damage_is_named_and_mended(tmp_path: Path) -> None:
    path = tmp_path / "toy"
    manifest = made(path)
    (path / "README.md").write_text("a longer card")  # which its owner may edit
    (path / "more").touch()
    assert open_artifact(path, "toy") == manifest
    (path / "sub" / "a.txt").write_text("CONTENT")
    assert changes(path, manifest) == {"sub/a.txt": "its content has changed"}
    assert not is_current(path, manifest.fingerprint)
    (path / "sub" / "a.txt").write_text("short")
    (path / "empty").unlink()
    assert changes(path, manifest) == {"empty": "missing", "sub/a.txt": "5 bytes instead of 7"}
    with pytest.raises(ArtifactError) as caught:
        open_artifact(path)
    assert caught.value.path == path / "empty"
    with Notes() as progress:
        made(path)
    assert changes(path, read_manifest(path)) == {}
    assert "empty: missing" in progress.lines[0]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The names of the files that are read, and a cache of one's own."""
    read: list[str] = []

    def count(path: Path) -> str:
        read.append(path.name)
        return file_digest(path)

    monkeypatch.setattr(digests, "file_digest", count)
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr(digests, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(digests, "_known", {})
    return read


@pytest.mark.parametrize("lost", [None, b"", b"{", b"SQLite format 3\0" * 99])
def test_contents_are_read_once_per_machine(tmp_path: Path, reads, monkeypatch, lost) -> None:
    path = tmp_path / "toy"
    made(path)
    for file in ("sub/a.txt", "empty"):
        os.utime(path / file, (time.time() - 100,) * 2)
    time.sleep(0.3)  # a file's times are sure when the clock has gone on
    for _ in range(2):
        open_artifact(path)
    assert sorted(reads) == ["a.txt", "empty"]
    monkeypatch.setattr(digests, "_known", {})  # as in another process
    if lost is not None:
        (tmp_path / "cache" / "digests.sqlite").write_bytes(lost)
    open_artifact(path)
    assert len(reads) == (2 if lost is None else 4)
    (path / "sub" / "a.txt").write_text("content")  # the same again, at another time
    open_artifact(path)
    assert reads[-1] == "a.txt"


def test_rights_are_kept_and_what_is_read_only_stays(tmp_path: Path) -> None:
    def write(path: Path, text: str) -> None:
        with writing_text(path) as handle:
            handle.write(text)

    run, index = tmp_path / "run.trec", tmp_path / "index"
    for mode in (0o600, 0o755):
        write(run, "old")
        run.chmod(mode)
        write(run, "new")
        assert (run.read_text(), run.stat().st_mode & 0o777) == ("new", mode)
    run.chmod(0o444)
    with pytest.raises(MachineError):
        write(run, "newer")
    assert run.read_text() == "new"
    old = made(index)
    index.chmod(0o555)
    try:
        assert made(index) == old  # it is current: nothing is to be written
        with pytest.raises(MachineError):
            made(index, builder_version=2)
        assert is_current(index, old.fingerprint)
    finally:
        index.chmod(0o755)
