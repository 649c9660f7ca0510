"""Each kind of sharded work: whoever makes the shards, in whatever order, after any failures."""

from pathlib import Path

import pytest
from sharded_kinds import KINDS, Kind, Models

from adducir.core.chunks import TEMPORARY, Chunking
from adducir.core.errors import IncompleteError
from adducir.core.executors import Execution


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(tmp_path_factory.mktemp("models"))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, models: Models, monkeypatch, tmp_path) -> Kind:
    return KINDS[request.param](models, monkeypatch, tmp_path)


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(".*.parts-*")]


def test_an_item_whose_work_fails_is_named_and_the_rest_is_made(kind, tmp_path):
    output = tmp_path / "x.out"
    with pytest.MonkeyPatch.context() as patch:
        kind.spoil(patch)
        with pytest.raises(IncompleteError, match=kind.named) as caught:
            kind.make(Chunking(output))
        assert caught.value.exit_code == 6
        made = list(tmp_path.glob(".*.parts-*/0*[0-9].json"))
        assert len(made) == kind.shards - 1
    assert kind.make(Chunking(output)) == kind.make(TEMPORARY)


@pytest.mark.slow
def test_processes_give_the_same(kind, tmp_path):
    assert kind.make(Chunking(tmp_path / "x.out", Execution(workers=2))) == kind.make(TEMPORARY)
