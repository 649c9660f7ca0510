"""Recipes, manifests and settings can only be small: what is not is refused, in bounded memory."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from adducir.core.artifacts import MANIFEST, build, read_manifest
from adducir.core.config import load
from adducir.core.errors import AdducirError, ArtifactError, InputError
from adducir.models.artifacts import read_settings


def bomb(path: Path, megabytes: int) -> None:
    with gzip.open(path, "wb", 1) as handle:
        for _ in range(megabytes):
            handle.write(b"a: 1\n" * (1 << 18))


@pytest.mark.parametrize("read", [load, read_settings])
def test_a_file_that_unpacks_to_much_is_refused_in_little_memory(tmp_path: Path, read) -> None:
    path = tmp_path / "recipe.yaml.gz"
    bomb(path, 60)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"more than [\d,]+ bytes \(decompressed\)"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 60 << 20
    finally:
        tracemalloc.stop()


def toy(path: Path) -> Path:
    build(path, kind="toy", recipe={"a": 1}, inputs={}, builder_version=1, make=lambda folder: {})
    return path


def changed(path: Path, **changes: object) -> None:
    place = path / MANIFEST
    place.write_text(json.dumps(json.loads(place.read_text()) | changes))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"format": "adducir-artifact/3", "recipe": ' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"format": "adducir-artifact/3", "counts": ' + "9" * 5_000 + "}",
        '{"format": "adducir-artifact/3", "recipe": ' + '{"a":' * 900 + "1" + "}" * 900 + "}",
        "null",
        "{}",
        '{"format": "adducir-artifact/3"}',
        '{"format": 2}',
    ],
)
def test_a_manifest_that_is_none(tmp_path: Path, text: str) -> None:
    path = toy(tmp_path / "toy")
    (path / MANIFEST).write_text(text)
    with pytest.raises(ArtifactError, match=r"manifest\.json"):
        read_manifest(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "toys"},
        {"recipe": {"a": 2}},
        {"counts": {"documents": 3}},
        {"files": {"a" * 5000: {"bytes": 1, "sha256": "0"}}},
        {"seconds": 7.0},
        {"digest": None},
        {"more": 1},
    ],
)
def test_a_manifest_whose_content_was_changed(tmp_path: Path, changes: dict[str, object]) -> None:
    path = toy(tmp_path / "toy")
    changed(path, **changes)
    with pytest.raises(ArtifactError, match=r"manifest\.json is damaged"):
        read_manifest(path)


@pytest.mark.parametrize("text", ["[" * 100_000, "1", "", '{"a": ' + "9" * 5000 + "}", "\ud800"])
def test_settings_that_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(AdducirError, match=r"settings\.json"):
        read_settings(path)
