"""A step's fingerprint is known before anything is made, and covers those of its inputs."""

import shutil
from pathlib import Path

import pytest

from adducir.core.artifacts import read_manifest
from adducir.core.errors import ArtifactError
from adducir.experiments.context import Context
from adducir.experiments.plan import _make_one
from adducir.experiments.step import ArtifactStep, Step


class Toy(ArtifactStep):
    kind = "toy"
    version = 1
    verb = "make"

    def __init__(self, path: Path, size: int = 1, *inputs: Step) -> None:
        self.path, self.size, self.inputs = path, size, inputs

    def recipe(self):
        return {"size": self.size}

    def identities(self):
        return {one.path.name: one.fingerprint for one in self.inputs}

    def fill(self, folder, context):
        (folder / "data").write_text("x" * self.size)
        return {}


def chain(folder: Path, size: int = 1) -> tuple[Toy, Toy]:
    first = Toy(folder / "first", size)
    return first, Toy(folder / "second", 1, first)


def test_what_changes_an_input_changes_what_is_made_from_it(tmp_path: Path) -> None:
    first, second = chain(tmp_path)
    planned = second.fingerprint
    for step in (first, second):
        assert step.why() is not None
        _make_one(step, Context())
        assert step.why() is None
    assert read_manifest(second.path).fingerprint == planned
    shutil.rmtree(first.path)  # it is no longer needed
    assert chain(tmp_path)[1].why() is None
    assert chain(tmp_path, 2)[1].why() is not None
    assert not first.path.exists()


def test_nothing_is_made_from_an_input_that_is_not_the_planned_one(tmp_path: Path) -> None:
    _, second = chain(tmp_path, 1)
    other, _ = chain(tmp_path, 2)
    _make_one(other, Context())
    with pytest.raises(ArtifactError) as refused:
        _make_one(second, Context())
    assert refused.value.path == other.path
    assert not second.path.exists()
