"""Precision that is left to the machine, and parts that are cleared away."""

import pytest
import torch

from adducir.core.artifacts import artifact_fingerprint
from adducir.models import artifacts
from adducir.models.artifacts import build_by_parts, model_versions, settled_precision

KIND = "thing"


def fingerprint_in(precision):
    return artifact_fingerprint(KIND, {"precision": precision}, {}, 1)


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


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(artifacts, "fastest_precision", lambda device, progress: "bfloat16")


def test_what_is_asked_for_is_taken(tmp_path, fast):
    assert settled_precision("float32", "cpu", tmp_path / "p", fingerprint_in) == "float32"


def test_auto_is_the_fastest_or_what_is_there(tmp_path, fast):
    assert settled_precision("auto", "cpu", tmp_path / "p", fingerprint_in) == "bfloat16"
    built(tmp_path / "p", "float32")
    assert settled_precision("auto", "cpu", tmp_path / "p", fingerprint_in) == "float32"
    built(tmp_path / "p", "bfloat16")
    assert settled_precision("auto", "cpu", tmp_path / "p", fingerprint_in) == "bfloat16"


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
