"""Work in shards: whoever makes them, in whatever order and after whatever failures."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from fake_work import CoresWork, FakeWork, build, digest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from troubled import Troubled, in_the_end

from adducir.core.cores import cores, default_threads
from adducir.core.errors import (
    ArtifactError,
    IncompleteError,
    InputError,
    MachineError,
    UsageError,
)
from adducir.core.progress import Silent
from adducir.core.sharding.execution import Execution
from adducir.core.sharding.executors.here import Here
from adducir.core.sharding.executors.part import Part
from adducir.core.sharding.gathering import PartMade
from adducir.core.sharding.parts import Lost


class Notes(Silent):
    def __init__(self):
        self.lines = []

    def note(self, message):
        self.lines.append(message)


def finished(path, work, execution):
    return in_the_end(partial(build, path, work), execution)


def with_examples(number):
    healthy = [HealthCheck.function_scoped_fixture]
    return settings(max_examples=number, deadline=None, suppress_health_check=healthy)


any_order = given(st.integers(1, 30), st.integers(1, 9), st.integers(0, 10**6))
any_parts = given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 7), st.randoms())


@with_examples(6)
@any_order
def test_any_order_and_any_failures_give_the_same_artifact(tmp_path_factory, count, size, seed):
    check_any_order(tmp_path_factory, count, size, seed)


@pytest.mark.slow
@with_examples(100)
@any_order
def test_many_orders_and_failures(tmp_path_factory, count, size, seed):
    check_any_order(tmp_path_factory, count, size, seed)


def check_any_order(tmp_path_factory, count, size, seed):
    folder, work = tmp_path_factory.mktemp("any"), FakeWork(count=count, size=size)
    wanted = digest(build(folder / "here", work))
    assert digest(finished(folder / "there", work, Troubled(seed=seed))) == wanted
    assert [path.name for path in folder.iterdir() if "parts" in path.name] == []


@with_examples(6)
@any_parts
def test_any_partition_gives_the_same_artifact(tmp_path_factory, count, size, parts, random):
    check_any_partition(tmp_path_factory, count, size, parts, random)


@pytest.mark.slow
@with_examples(100)
@any_parts
def test_many_partitions(tmp_path_factory, count, size, parts, random):
    check_any_partition(tmp_path_factory, count, size, parts, random)


def check_any_partition(tmp_path_factory, count, size, parts, random):
    folder, work = tmp_path_factory.mktemp("parts"), FakeWork(count=count, size=size)
    wanted = digest(build(folder / "here", work))
    for number in random.sample(range(1, parts + 1), parts):
        with pytest.raises(PartMade):
            build(folder / "x", work, Execution(part=Part(number, parts)))
    assert not (folder / "x").exists()
    assert digest(build(folder / "x", work, Execution(only_finish=True))) == wanted


PROGRAM = """
import sys
from pathlib import Path
from fake_work import FakeWork, build
from adducir.core.sharding.gathering import PartMade
from adducir.core.sharding.parts import Lost
from adducir.core.sharding.execution import Execution
from adducir.core.sharding.executors.here import Here
from adducir.core.sharding.executors.part import Part
try:
    build(sys.argv[1], FakeWork(), Execution(part=Part.parse(sys.argv[2])))
except PartMade as made:
    print(made)
"""


@pytest.mark.slow
@pytest.mark.parametrize("count", range(1, 8))
def test_parts_in_processes_at_once(tmp_path, count):
    wanted = digest(build(tmp_path / "here", FakeWork()))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, tmp_path / "x", f"{number}/{count}"],
            cwd=Path(__file__).parent,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(1, count + 1)
    ]
    for number, process in enumerate(processes, 1):
        of_part = "is made" if number <= 6 else "has nothing to make"
        assert f"part {number}/{count} {of_part}" in process.communicate()[0]
    assert digest(build(tmp_path / "x", FakeWork(), Execution(only_finish=True))) == wanted


def test_processes_give_the_same_artifact(tmp_path):
    wanted = digest(build(tmp_path / "here", FakeWork()))
    assert digest(build(tmp_path / "x", FakeWork(), Execution(workers=2))) == wanted


def test_workers_divide_the_cores_among_them(tmp_path):
    many = 2 * cores()
    for workers, threads in ((1, cores()), (2, max(1, cores() // 2)), (many, 1)):
        path = tmp_path / f"x{workers}"
        build(path, CoresWork(count=4 * many), Execution(workers=workers))
        assert {one.read_text() for one in path.glob("shard-*")} == {f"{threads}"}
    assert default_threads() == cores()


def test_the_worker_of_a_shard_is_killed_once(tmp_path):
    wanted = digest(build(tmp_path / "here", FakeWork()))
    work = FakeWork(trouble={"d9": "kill once", "d17": "surprise once"}, folder=tmp_path)
    assert digest(build(tmp_path / "x", work, Execution(workers=2))) == wanted
    begun = [line.split()[0] for line in (tmp_path / "begun.txt").read_text().splitlines()]
    assert sorted(begun) == sorted([f"d{n}" for n in range(0, 23, 4)] + ["d8", "d16"])


def test_what_kills_every_worker_is_named_and_the_rest_is_made(tmp_path):
    work = FakeWork(trouble={"d9": "kill"}, folder=tmp_path)
    with pytest.raises(IncompleteError, match=r"1 of 6 .*\n  shard 2 \(d8, d9, d10, d11\): its w"):
        build(tmp_path / "x", work, Execution(workers=2))
    assert len(list(tmp_path.glob(".x.parts-*/00000?.json"))) == 5
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_data_that_cannot_be_done_are_named_and_the_rest_is_made(tmp_path, workers):
    work = FakeWork(trouble={"d9": "data", "d22": "surprise"}, folder=tmp_path)
    with pytest.raises(IncompleteError, match="2 of 6 shards could not be made") as caught:
        build(tmp_path / "x", work, Execution(workers=workers))
    assert "shard 2 (d8, d9, d10, d11): d9 cannot be done." in str(caught.value)
    assert "shard 5 (d20, d21, d22): ValueError: surprised by d22" in str(caught.value)
    assert caught.value.exit_code == 6
    (kept,) = tmp_path.glob(".x.parts-*/000005.failed.json")
    failed = json.loads(kept.read_text())
    assert failed["names"] == ["d20", "d21", "d22"]
    assert "fake_work.py" in failed["traceback"]
    begun = (tmp_path / "begun.txt").read_text()
    assert (begun.count("d8 "), begun.count("d20 ")) == (1, 3)  # data are not tried again
    healed = replace(work, trouble={})
    build(tmp_path / "x", healed, Execution(workers=workers))
    begun = (tmp_path / "begun.txt").read_text()
    assert (begun.count("d8 "), begun.count("d20 "), begun.count("d0 ")) == (2, 4, 1)


def test_many_failures_in_a_row_end_the_work(tmp_path):
    work = FakeWork(count=200, trouble={f"d{n}": "surprise" for n in range(200)}, folder=tmp_path)
    with pytest.raises(MachineError, match="20 attempts to make a shard failed one after another"):
        build(tmp_path / "x", work)
    assert len((tmp_path / "begun.txt").read_text().splitlines()) == 20
    failed = sorted(tmp_path.glob(".x.parts-*/*.failed.json"))
    assert len(failed) == 20
    assert json.loads(failed[19].read_text())["names"] == ["d76", "d77", "d78", "d79"]


def test_many_shards_whose_data_cannot_be_done_are_named_and_the_rest_is_made(tmp_path):
    """More than may fail in a row: scattered, then all in a row behind others."""
    scattered = {f"d{n}": "surprise" for n in range(0, 200, 8)}
    in_a_row = {f"d{n}": "surprise" for n in range(120, 220)}
    for name, trouble, bad in (("x", scattered, 25), ("y", in_a_row, 25)):
        work = FakeWork(count=240, trouble=trouble)
        with pytest.raises(IncompleteError, match=rf"{bad} of 60 shards could not be made"):
            build(tmp_path / name, work)
        assert len(list(tmp_path.glob(f".{name}.parts-*/*.failed.json"))) == bad
        assert len(list(tmp_path.glob(f".{name}.parts-*/0*[0-9].json"))) == 60 - bad


def test_a_node_that_is_lost_with_many_shards_does_not_end_the_work(tmp_path):
    """It takes all that it was making, before anything was made."""
    wanted = digest(build(tmp_path / "here", FakeWork(count=400)))
    assert digest(build(tmp_path / "x", FakeWork(count=400), LosesANode())) == wanted


class LosesANode(Execution):
    """64 shards at a time, all of which are lost once."""

    def executor(self, shards):
        return _LosesANode()


class _LosesANode(Here):
    at_once = 65

    def __init__(self):
        self.lost = 64

    def run(self, job, shards):
        for shard in shards:
            if self.lost:
                self.lost -= 1
                yield Lost(shard)
            else:
                yield from super().run(job, [shard])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_work_and_leaves_nothing_half_written(tmp_path, workers):
    work = FakeWork(trouble={"d9": "disk"}, folder=tmp_path)
    with pytest.raises(MachineError, match="no space left"):
        build(tmp_path / "x", work, Execution(workers=workers))
    assert not list(tmp_path.glob(".x.parts-*/000002*"))
    for whole in tmp_path.glob(".x.parts-*/00000?-*"):
        assert "half" not in whole.read_text()
    assert not (tmp_path / "x").exists()
    build(tmp_path / "x", replace(work, trouble={}), Execution(workers=workers))


@pytest.mark.parametrize("workers", [1, 2])
def test_work_that_cannot_begin_is_not_taken_for_bad_data(tmp_path, workers):
    with pytest.raises(MachineError, match="there is no model"):
        build(tmp_path / "x", FakeWork(fails_to_load=True), Execution(workers=workers))
    with pytest.raises(InputError, match="an item cannot be read"):
        build(tmp_path / "y", FakeWork(trouble={"plan": "x"}), Execution(workers=workers))


def test_a_damaged_shard_is_noticed_and_made_again(tmp_path):
    wanted, work = digest(build(tmp_path / "here", FakeWork())), FakeWork(folder=tmp_path)
    with pytest.raises(PartMade):
        build(tmp_path / "x", work, Execution(part=Part(1, 1)))
    (path,) = tmp_path.glob(".x.parts-*/000003-*")
    path.write_text(path.read_text().replace("text", "tent"))
    notes = Notes()
    assert digest(build(tmp_path / "x", work, progress=notes)) == wanted
    assert [line for line in notes.lines if "damaged; shard 3 is dropped" in line]
    assert len((tmp_path / "begun.txt").read_text().splitlines()) == 7


def test_shards_that_are_missing_or_damaged_are_counted(tmp_path):
    for number in (1, 3):
        with pytest.raises(PartMade):
            build(tmp_path / "x", FakeWork(), Execution(part=Part(number, 3)))
    (path,) = tmp_path.glob(".x.parts-*/000002-*")
    path.write_text(path.read_text().replace("text", "tent"))
    with pytest.raises(IncompleteError, match="3 of 6 shards"):
        build(tmp_path / "x", FakeWork(), Execution(only_finish=True))
    assert not (tmp_path / "x").exists()


def test_a_part_does_not_wait_for_the_lock_and_stops_where_all_is_done(tmp_path):
    from adducir.core.locks import locked

    with locked(tmp_path / "x"), pytest.raises(PartMade, match=r"part 2/2 is made, 3 of 6"):
        build(tmp_path / "x", FakeWork(), Execution(part=Part(2, 2)))
    build(tmp_path / "x", FakeWork())
    with pytest.raises(PartMade, match="is there already"):
        build(tmp_path / "x", FakeWork(), Execution(part=Part(1, 2)))
    assert not list(tmp_path.glob(".x.parts*"))


def test_a_part_refuses_a_place_that_is_not_its_own(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine.txt").write_text("")
    with pytest.raises(ArtifactError, match="did not create"):
        build(tmp_path / "x", FakeWork(), Execution(part=Part(1, 2)))


def test_unlike_devices_are_refused_unless_they_are_asked_for(tmp_path):
    with pytest.raises(PartMade):
        build(tmp_path / "x", FakeWork(), Execution(part=Part(1, 2)))
    other = FakeWork(device="slide rule")
    with pytest.raises(ArtifactError, match="unlike devices made the shards: abacus, slide rule"):
        build(tmp_path / "x", other)
    with pytest.raises(PartMade):  # what a part cannot see, the end does
        build(tmp_path / "y", FakeWork(), Execution(part=Part(1, 2)))
    with pytest.raises(PartMade):
        build(tmp_path / "y", other, Execution(part=Part(2, 2)))
    with pytest.raises(ArtifactError, match="unlike devices"):
        build(tmp_path / "y", other, Execution(only_finish=True))
    made = build(tmp_path / "y", other, Execution(only_finish=True, mixed_devices=True))
    assert made.counts["devices"] == {"abacus": 3, "slide rule": 3}


def test_shards_of_another_rule_or_cut_are_not_taken(tmp_path):
    work = FakeWork(folder=tmp_path)
    for changed in (work, replace(work, rule=2), replace(work, size=5)):
        with pytest.raises(PartMade):
            build(tmp_path / "x", changed, Execution(part=Part(1, 1)))
    assert len((tmp_path / "begun.txt").read_text().splitlines()) == 6 + 6 + 5
    build(tmp_path / "x", work)
    assert not list(tmp_path.glob(".x.parts*"))


def test_items_that_change_after_they_were_planned_are_noticed(tmp_path):
    with pytest.raises(PartMade):
        build(tmp_path / "x", FakeWork(), Execution(part=Part(1, 2)))
    (plan,) = tmp_path.glob(".x.parts-*/plan.jsonl")
    kept = plan.read_text()
    changed = FakeWork(trouble={})
    object.__setattr__(changed, "items", lambda check: ((f"d{n}", "new") for n in range(23)))
    with pytest.raises(InputError, match="were changed since they were planned: shard 1"):
        build(tmp_path / "x", changed)
    assert plan.read_text() == kept


def test_a_damaged_plan_is_made_again(tmp_path):
    wanted = digest(build(tmp_path / "here", FakeWork()))
    with pytest.raises(PartMade):
        build(tmp_path / "x", FakeWork(), Execution(part=Part(1, 2)))
    (plan,) = tmp_path.glob(".x.parts-*/plan.jsonl")
    for damage in (plan.read_text().replace("d7", "e7"), plan.read_text()[:-90], "", "[]"):
        plan.write_text(damage)
        with pytest.raises(PartMade):
            build(tmp_path / "x", FakeWork(), Execution(part=Part(1, 2)))
    assert digest(build(tmp_path / "x", FakeWork())) == wanted


def test_work_that_cannot_be_sent_is_refused(tmp_path):
    work = FakeWork()
    object.__setattr__(work, "describe", lambda item: (item[0], item[1].encode()))
    with pytest.raises(UsageError, match="cannot be given to another process"):
        build(tmp_path / "x", work, Execution(workers=2))


@pytest.mark.parametrize("execution", [Execution(), Execution(part=Part(9, 9))])
def test_a_missing_model_is_refused_before_anything_is_noted(tmp_path, execution):
    with pytest.raises(MachineError, match="no model has this name"):
        build(tmp_path / "x", FakeWork(is_missing=True), execution)
    assert not list(tmp_path.glob(".x.parts-*"))


def test_a_part_that_no_shard_falls_to(tmp_path):
    with pytest.raises(PartMade, match="9/9 has nothing to make: there are 6 shards, and none "):
        build(tmp_path / "x", FakeWork(), Execution(part=Part(9, 9)))


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1.0/3"])
def test_what_is_no_part(text):
    with pytest.raises(UsageError, match="is no part"):
        Part.parse(text)
