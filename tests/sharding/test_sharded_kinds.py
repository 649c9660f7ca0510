"""Each kind of sharded work: whoever makes the shards, in whatever order, after any failures."""

import random
from pathlib import Path

import pytest
from sharded_kinds import KINDS, Kind, Models
from troubled import Troubled, in_the_end

from adducir.core.errors import IncompleteError
from adducir.core.sharding.execution import Execution
from adducir.core.sharding.executors.part import Part
from adducir.core.sharding.gathering import PartMade, Sharding


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    return Models(tmp_path_factory.mktemp("models"))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, models: Models, monkeypatch, tmp_path) -> Kind:
    return KINDS[request.param](models, monkeypatch, tmp_path)


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.glob(".*.parts-*")]


def check_failures(kind: Kind, folder: Path, seeds: list[int]) -> None:
    alone = kind.make(None)
    for seed in seeds:
        output = folder / f"{seed}.out"
        made = in_the_end(lambda how, to=output: kind.make(Sharding(to, how)), Troubled(seed=seed))
        assert made == alone
        assert left(folder) == []


def test_any_order_and_any_failures_give_the_same(kind, tmp_path):
    check_failures(kind, tmp_path, random.sample(range(10**6), 1))


@pytest.mark.slow
def test_many_orders_and_failures_give_the_same(kind, tmp_path):
    check_failures(kind, tmp_path, random.sample(range(10**6), 30))


@pytest.mark.parametrize("count", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 7))])
def test_any_partition_gives_the_same(kind, tmp_path, count):
    output = tmp_path / "x.out"
    alone = kind.make(None)
    for number in random.sample(range(1, count + 1), count):
        with pytest.raises(PartMade, match=f"part {number}/{count}"):
            kind.make(Sharding(output, Execution(part=Part(number, count))))
    assert len(list(tmp_path.glob(".*.parts-*/0*.json"))) == kind.shards
    assert kind.make(Sharding(output, Execution(only_finish=True))) == alone
    assert left(tmp_path) == []


def test_what_is_missing_is_named_by_its_part(kind, tmp_path):
    output = tmp_path / "x.out"
    with pytest.raises(PartMade):
        kind.make(Sharding(output, Execution(part=Part(1, 2))))
    missing = kind.shards // 2
    with pytest.raises(IncompleteError, match=rf"are missing: {missing} of part 2/2") as caught:
        kind.make(Sharding(output, Execution(only_finish=True)))
    assert caught.value.exit_code == 6


def test_an_item_whose_work_fails_is_named_and_the_rest_is_made(kind, tmp_path):
    output = tmp_path / "x.out"
    with pytest.MonkeyPatch.context() as patch:
        kind.spoil(patch)
        with pytest.raises(IncompleteError, match=kind.named) as caught:
            kind.make(Sharding(output))
        assert caught.value.exit_code == 6
        made = list(tmp_path.glob(".*.parts-*/0*[0-9].json"))
        assert len(made) == kind.shards - 1
    assert kind.make(Sharding(output)) == kind.make(None)


@pytest.mark.slow
def test_processes_give_the_same(kind, tmp_path):
    assert kind.make(Sharding(tmp_path / "x.out", Execution(workers=2))) == kind.make(None)
