"""Artifacts of models: versions, threads, and parts that are cleared away."""

import pytest
import torch

from adducir.models.artifacts import build_by_parts, model_versions

KIND = "thing"


def built(path, precision, make=None, **options):
    def write(folder, parts):
        (folder / "x").write_text(precision)
        return {"threads": torch.get_num_threads(), "parts": str(parts)}

    return build_by_parts(
        path,
        make or write,
        kind=KIND,
        recipe={"precision": precision},
        inputs={},
        builder_version=1,
        **options,
    )


def test_versions_and_threads(tmp_path):
    manifest = built(tmp_path / "p", "float32", threads=1, versions={"engine": "7"})
    assert manifest.counts["threads"] == 1
    assert manifest.versions["engine"] == "7"
    assert manifest.versions.items() >= model_versions().items()


def test_parts_survive_a_failure_and_no_success(tmp_path):
    seen = []

    def make(folder, parts):
        seen.append(parts)
        parts.mkdir(parents=True, exist_ok=True)
        if not (parts / "half").exists():
            (parts / "half").write_text("made")
            raise KeyboardInterrupt
        (folder / "x").write_text((parts / "half").read_text())
        return {}

    with pytest.raises(KeyboardInterrupt):
        built(tmp_path / "p", "float32", make)
    assert [path.name[:3] for path in tmp_path.iterdir() if path.is_dir()] == [".p."]
    built(tmp_path / "p", "float32", make)
    assert seen[0] == seen[1]
    assert (tmp_path / "p" / "x").read_text() == "made"
    assert not seen[0].exists()


def test_parts_that_a_kill_left_beside_a_finished_artifact_go(tmp_path):
    built(tmp_path / "p", "float32")
    left = tmp_path / ".p.parts-0123456789abcdef"
    left.mkdir()
    (left / "shard").write_text("")
    built(tmp_path / "p", "float32")
    assert not left.exists()
