"""Files that belong together: all new, all old, or noticeably missing; never a mixture."""

import os
from pathlib import Path

import pytest

from adducir.core.files import writing_text
from adducir.core.together import publishing_together


def write(paths: list[Path], text: str) -> None:
    with publishing_together(paths):
        for path in paths:
            with writing_text(path) as handle:
                handle.write(text)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{name}.jsonl" for name in ("train", "validation", "test")]
    write(paths, "old")
    return paths


def test_nothing_is_published_before_all_are_written(parts: list[Path]) -> None:
    with publishing_together(parts):
        for path in parts:
            with writing_text(path) as handle:
                handle.write("new")
            assert {text for name, text in contents(path.parent).items() if name[0] != "."} == {
                "old"
            }
    assert contents(parts[0].parent) == dict.fromkeys([path.name for path in parts], "new")


def test_a_failure_leaves_the_old_files_and_nothing_else(parts: list[Path]) -> None:
    with pytest.raises(ValueError, match="half-way"), publishing_together(parts):
        with writing_text(parts[0]) as handle:
            handle.write("new")
        raise ValueError("half-way")
    assert contents(parts[0].parent) == dict.fromkeys([path.name for path in parts], "old")


def test_other_files_are_published_at_once(parts: list[Path], tmp_path: Path) -> None:
    with publishing_together(parts):
        with writing_text(tmp_path / "kept.json") as handle:
            handle.write("{}")
        assert (tmp_path / "kept.json").read_text() == "{}"


def test_a_kill_at_any_step_leaves_no_mixture(
    parts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for steps in range(7):
        write(parts, "old")
        left = [steps]

        def counted(real, left=left):
            def call(*values, **named):
                if left[0] == 0:
                    os._exit(9)
                left[0] -= 1
                return real(*values, **named)

            return call

        if (child := os.fork()) == 0:
            monkeypatch.setattr(Path, "unlink", counted(Path.unlink))
            monkeypatch.setattr(Path, "replace", counted(Path.replace))
            try:
                write(parts, "new")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        found = {text for name, text in contents(parts[0].parent).items() if name[0] != "."}
        assert len(found) <= 1, steps
    write(parts, "last")
    assert set(contents(parts[0].parent).values()) == {"last"}
