"""Artifacts: built once, replaced whole, verified, refused where they are not ours."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adducir import __version__
from adducir.core import artifacts
from adducir.core.artifacts import (
    FORMAT,
    MANIFEST,
    artifact_fingerprint,
    build,
    changes,
    is_current,
    read_manifest,
)
from adducir.core.errors import ArtifactError
from adducir.core.progress import Progress


class Builder:
    """Fills a folder with two files and remembers how often it did."""

    def __init__(self, content: str = "content") -> None:
        self.content = content
        self.calls = 0

    def __call__(self, folder: Path) -> dict[str, Any]:
        self.calls += 1
        assert list(folder.iterdir()) == []
        (folder / "sub").mkdir()
        (folder / "sub" / "a.txt").write_text(self.content)
        (folder / "empty").touch()
        return {"documents": np.int64(3), "share": 0.5}


class Notes(Progress):
    """A progress that remembers its notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def made(path: Path, builder: Any, **changes: Any) -> artifacts.Manifest:
    order = {
        "kind": "toy",
        "recipe": {"k1": 0.9, "fields": ("text",)},
        "inputs": {"corpus": "abc"},
        "builder_version": 1,
    }
    return build(path, make=builder, **{**order, **changes})


def whole(path: Path) -> bool:
    return not changes(path, read_manifest(path))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_a_artifact_is_built_once(tmp_path: Path) -> None:
    path = tmp_path / "indexes" / "toy"
    builder = Builder()
    first = made(path, builder, versions={"lucene": "10"})
    assert made(path, builder) == first == read_manifest(path)
    assert builder.calls == 1
    assert names(path.parent) == ["toy"]
    assert first.kind == "toy"
    assert first.recipe == {"k1": 0.9, "fields": ["text"]}
    assert first.inputs == {"corpus": "abc"}
    assert first.counts == {"documents": 3, "share": 0.5}
    assert set(first.files) == {"empty", "sub/a.txt"}
    assert first.files["sub/a.txt"].bytes == 7
    assert first.files["sub/a.txt"].sha256.startswith("ed7002b439e9ac84")
    assert first.versions["adducir"] == __version__
    assert first.versions["lucene"] == "10"
    assert "python" in first.versions
    assert first.started.endswith("+00:00")
    assert first.fingerprint == artifact_fingerprint(
        "toy", {"fields": ["text"], "k1": 0.9}, {"corpus": "abc"}, 1
    )
    assert is_current(path, first.fingerprint)
    assert not is_current(path, "another")
    assert whole(path)


@pytest.mark.parametrize(
    "change",
    [
        {"recipe": {"k1": 0.8}},
        {"inputs": {"corpus": "abd"}},
        {"inputs": {}},
        {"builder_version": 2},
        {"rebuild": True},
    ],
)
def test_what_has_changed_is_built_again(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "toy"
    made(path, Builder("old"))
    made(path, Builder("new!"), **change)
    assert (path / "sub" / "a.txt").read_text() == "new!"
    assert names(tmp_path) == ["toy"]
    assert whole(path)


@pytest.mark.parametrize("problem", [ValueError("bad record"), KeyboardInterrupt()])
def test_a_failed_build_leaves_nothing_and_the_old_artifact(tmp_path: Path, problem) -> None:
    path = tmp_path / "toy"

    def fail(folder: Path) -> dict[str, Any]:
        (folder / "half").write_text("x")
        raise problem

    with pytest.raises(type(problem)):
        made(path, fail)
    assert names(tmp_path) == []
    old = made(path, Builder())
    with pytest.raises(type(problem)):
        made(path, fail, builder_version=2)
    assert read_manifest(path) == old
    assert names(tmp_path) == ["toy"]


def test_things_of_others_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.mkdir()
    (path / "thesis.tex").write_text("years of work")
    builder = Builder()
    for rebuild in (False, True):
        with pytest.raises(ArtifactError, match="was not created by Adducir"):
            made(path, builder, rebuild=rebuild)
    (path / MANIFEST).write_text('{"name": "a web app"}')
    with pytest.raises(ArtifactError, match="is not of the format"):
        made(path, builder)
    assert names(path) == [MANIFEST, "thesis.tex"]
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ArtifactError, match="was not created by Adducir"):
        made(file, builder)
    assert file.read_text() == "x"
    assert builder.calls == 0


def test_manifests_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "toy"
    with pytest.raises(ArtifactError, match="no such artifact") as caught:
        read_manifest(path)
    assert "Build it first" in str(caught.value)
    (tmp_path / ".toy.building-1-2").mkdir()
    with pytest.raises(ArtifactError, match="cut short"):
        read_manifest(path)
    path.mkdir()
    with pytest.raises(ArtifactError, match="this was not created by Adducir"):
        read_manifest(path)
    made(path, Builder())
    text = (path / MANIFEST).read_text()
    newer = text.replace(FORMAT, "adducir-artifact/99")
    assert newer != text
    for content, words in [
        (newer, "adducir-artifact/99.*Use the Adducir that made it"),
        (text[:-9], "damaged.*Delete the folder"),
        ("", "damaged"),
        (json.dumps({"format": FORMAT}), "damaged"),
        (text.replace('"kind"', '"sort"'), "damaged"),
    ]:
        (path / MANIFEST).write_text(content)
        with pytest.raises(ArtifactError, match=words):
            read_manifest(path)
        assert not is_current(path, "x")
        with pytest.raises(ArtifactError, match=words):
            made(path, Builder(), rebuild=True)
    (path / MANIFEST).write_bytes(b"\xff")
    with pytest.raises(ArtifactError, match="damaged"):
        read_manifest(path)


def test_damage_is_found_and_fixed(tmp_path: Path) -> None:
    path = tmp_path / "toy"
    manifest = made(path, Builder())
    (path / "sub" / "a.txt").write_text("CONTENT")
    (path / "more").touch()
    assert changes(path, manifest) == {"sub/a.txt": "its content has changed"}
    assert not is_current(path, manifest.fingerprint)
    (path / "sub" / "a.txt").write_text("short")
    (path / "empty").unlink()
    assert changes(path, manifest) == {"empty": "missing", "sub/a.txt": "5 bytes instead of 7"}
    assert not is_current(path, manifest.fingerprint)
    progress = Notes()
    with progress:
        made(path, Builder())
    assert whole(path)
    assert "empty: missing" in progress.notes[0]


def test_the_second_of_two_waits_and_finds_it_built(tmp_path: Path) -> None:
    path = tmp_path / "toy"
    begun, go_on = threading.Event(), threading.Event()
    progress = Notes()
    second = Builder()

    def slow(folder: Path) -> dict[str, Any]:
        begun.set()
        assert go_on.wait(30)
        (folder / "a").write_text("slow")
        return {}

    def wait_for_note(message: str) -> None:
        progress.notes.append(message)
        go_on.set()

    progress.note = wait_for_note  # type: ignore[method-assign]
    thread = threading.Thread(target=made, args=(path, slow))
    thread.start()
    assert begun.wait(30)
    with progress:
        made(path, second)
    thread.join()
    assert second.calls == 0
    assert (path / "a").read_text() == "slow"
    assert len(progress.notes) == 1
    assert f"{path}: waiting for " in progress.notes[0]
    assert names(tmp_path) == ["toy"]
