"""Studies made by the parts of an array: whoever makes what, in whatever order."""

import random
from pathlib import Path

import pytest
from part_studies import FILE, STUDIES, content, hidden, shards

from adducir.core.sharding.executors.part import Part
from adducir.experiments.context import Resources
from adducir.experiments.experiment import (
    make_part_of_experiment,
    plan_experiment,
    run_experiment,
)
from adducir.experiments.outcome import PartOutcome

__all__ = ["shards"]
WAVES = 20


def part(folder: Path, number: int, count: int, **options) -> PartOutcome:
    plan = plan_experiment(folder / FILE)
    return make_part_of_experiment(
        plan, Resources(threads=1, device="cpu", part=Part(number, count)), **options
    )


def waves(folder: Path, count: int, chance: random.Random) -> int:
    """Give the parts in any order until all is there; how many times."""
    for wave in range(1, WAVES):
        outcomes = [part(folder, one, count) for one in chance.sample(range(1, count + 1), count)]
        if not outcomes[-1].left:
            return wave
    raise AssertionError(f"there is something left: {outcomes}")


@pytest.fixture(scope="module", params=STUDIES)
def study(request, tmp_path_factory):
    """A kind of study, and what one process makes of it."""
    folder = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        shards.__wrapped__(patch)
        STUDIES[request.param](folder)
        run_experiment(plan_experiment(folder / FILE), threads=1, device="cpu")
    return STUDIES[request.param], content(folder)


def test_parts_make_the_same_study(study, tmp_path, shards):
    make, alone = study
    make(tmp_path)
    waves(tmp_path, 3, random.Random(random.randrange(10**6)))
    assert not (tmp_path / "experiments" / "study" / "table.json").exists()
    assert hidden(tmp_path) == []
    outcome = run_experiment(plan_experiment(tmp_path / FILE), threads=1, device="cpu")
    assert outcome.made == []
    assert content(tmp_path) == alone
