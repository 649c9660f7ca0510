"""Long work in chunks: killed, damaged, failing or elsewhere, the artifact stays the same."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from fake_work import CoresWork, FakeWork, build, digest

from adducir.core.errors import ArtifactError, IncompleteError, MachineError, UsageError
from adducir.core.executors import HERE, Execution
from adducir.core.processes import default_threads

TWO = Execution(workers=2)
EVERYWHERE = pytest.mark.parametrize("execution", [HERE, TWO], ids=["here", "processes"])


def left(folder):
    return [path.name for path in folder.iterdir() if ".parts-" in path.name]


def chunks_of(folder):
    return sorted(folder.glob(".*.parts-*/0*-*"))


def test_processes_give_the_same_artifact(tmp_path):
    one, two = build(tmp_path / "a", FakeWork()), build(tmp_path / "b", FakeWork(), TWO)
    assert digest(one) == digest(two)
    assert left(tmp_path) == []


def test_workers_divide_the_cores_among_them(tmp_path):
    build(tmp_path / "x", CoresWork(count=4), TWO)
    found = (tmp_path / "x" / "shard-000.txt").read_text()
    assert int(found) == max(1, default_threads() // 2)


@EVERYWHERE
def test_data_that_cannot_be_processed_are_named_and_the_rest_is_made(tmp_path, execution):
    work = FakeWork(trouble={"d5": "data", "d9": "data"}, folder=tmp_path)
    with pytest.raises(IncompleteError, match="2 of 6 chunks") as caught:
        build(tmp_path / "x", work, execution)
    assert "chunk 1 (d4, d5, d6, d7): d5 cannot be done." in str(caught.value)
    assert caught.value.exit_code == 6
    assert len(chunks_of(tmp_path)) == 4
    begun = (tmp_path / "begun.txt").read_text().count("\n")
    made = build(tmp_path / "x", replace(work, trouble={}))
    # Only what was missing is made.
    assert (tmp_path / "begun.txt").read_text().count("\n") == begun + 2
    assert digest(made) == digest(build(tmp_path / "y", FakeWork()))


def test_a_worker_that_is_killed_once_costs_nothing_but_time(tmp_path):
    made = build(tmp_path / "x", FakeWork(trouble={"d9": "kill once"}, folder=tmp_path), TWO)
    assert digest(made) == digest(build(tmp_path / "y", FakeWork()))


def test_what_kills_every_worker_is_named_and_the_rest_is_made(tmp_path):
    trouble = {"d9": "kill", "d1": "surprise", "d13": "unreadable"}
    work = FakeWork(trouble=trouble, folder=tmp_path)
    with pytest.raises(IncompleteError) as caught:
        build(tmp_path / "x", work, TWO)
    assert "chunk 2 (d8, d9, d10, d11): its worker died" in str(caught.value)
    assert "chunk 0 (d0, d1, d2, d3): ValueError: surprised by d1" in str(caught.value)
    assert "chunk 3 (d12, d13, d14, d15): Unreadable: d13: odd" in str(caught.value)


def test_many_failures_in_a_row_end_the_work(tmp_path):
    trouble = {f"d{number}": "surprise" for number in range(400)}
    with pytest.raises(MachineError, match="20 chunks failed in a row"):
        build(tmp_path / "x", FakeWork(count=400, trouble=trouble))


@EVERYWHERE
def test_a_full_disk_ends_the_work_and_leaves_nothing_half_written(tmp_path, execution):
    work = FakeWork(trouble={"d9": "disk"}, folder=tmp_path)
    with pytest.raises(MachineError):
        build(tmp_path / "x", work, execution)
    assert not (tmp_path / "x").exists()
    assert digest(build(tmp_path / "x", FakeWork())) == digest(build(tmp_path / "y", FakeWork()))


@EVERYWHERE
def test_work_that_cannot_begin_is_not_taken_for_bad_data(tmp_path, execution):
    with pytest.raises(MachineError, match="there is no model"):
        build(tmp_path / "x", FakeWork(fails_to_load=True), execution)
    with pytest.raises(MachineError, match="no model has this name"):
        build(tmp_path / "x", FakeWork(is_missing=True), execution)


@pytest.mark.parametrize("damage", [lambda one: b"x" * len(one), lambda one: one[:-1]])
def test_a_damaged_chunk_is_made_again(tmp_path, damage):
    with pytest.raises(IncompleteError):
        build(tmp_path / "x", FakeWork(trouble={"d22": "data"}))
    chunk = chunks_of(tmp_path)[1]
    chunk.write_bytes(damage(chunk.read_bytes()))
    made = build(tmp_path / "x", FakeWork())
    assert digest(made) == digest(build(tmp_path / "y", FakeWork()))


def test_chunks_of_other_items_or_another_rule_are_not_taken(tmp_path):
    wanted = digest(build(tmp_path / "y", FakeWork()))
    for other in ({"text": "other"}, {"rule": 2}, {"size": 3}):
        with pytest.raises(IncompleteError):
            build(tmp_path / "x", FakeWork(trouble={"d22": "data"}, **other))
        assert digest(build(tmp_path / "x", FakeWork())) == wanted
        (tmp_path / "x" / "manifest.json").unlink()
        for file in (tmp_path / "x").iterdir():
            file.unlink()


def test_chunks_of_different_device_types_are_refused(tmp_path):
    with pytest.raises(IncompleteError):
        build(tmp_path / "x", FakeWork(trouble={"d22": "data"}, device="GPU"))
    with pytest.raises(ArtifactError, match="GPU, abacus"):
        build(tmp_path / "x", FakeWork())


def test_work_that_cannot_be_sent_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be given to another process"):
        build(tmp_path / "x", FakeWork(trouble={"d0": lambda: None}), TWO)


def test_executors_exclude_each_other():
    for given in ({"workers": 0}, {"workers": 2, "ray": "auto"}, {"ray": "auto", "slurm": ""}):
        with pytest.raises(UsageError):
            Execution(**given)


@pytest.mark.slow
def test_slurm_jobs_give_the_same_artifact(tmp_path, monkeypatch):
    """By submitit's own executor of local jobs."""
    pytest.importorskip("submitit")
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    work = FakeWork(count=9, trouble={"d5": "kill once"}, folder=tmp_path)
    made = build(tmp_path / "x", work, Execution(workers=2, slurm="cluster=local,timeout_min=5"))
    assert digest(made) == digest(build(tmp_path / "y", FakeWork(count=9)))
    with pytest.raises(UsageError):
        build(tmp_path / "z", work, Execution(slurm="partition"))
    assert not list((cache / "adducir").glob("slurm-*"))


PROGRAM = """
import sys
from fake_work import FakeWork, build
from adducir.core.errors import AdducirError
from adducir.core.executors import Execution
if __name__ == "__main__":
    try:
        build(sys.argv[1], FakeWork(count=400, size=5, seconds=0.03), Execution(workers=2))
    except AdducirError as error:
        sys.exit(f"{error.exit_code} {error}")
"""


def workers_of(driver):
    try:
        children = psutil.Process(driver.pid).children()
        return [one for one in children if "spawn_main" in " ".join(one.cmdline())]
    except psutil.Error:
        return []


@pytest.mark.slow
def test_kills_at_random_moments(tmp_path):
    """Workers and the process that started them are killed; the artifact stays the same."""
    wanted = digest(build(tmp_path / "here", FakeWork(count=400, size=5)))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    draw, kills, rounds = random.Random(7), {"worker": 0, "driver": 0}, 0
    orphans: list[psutil.Process] = []
    while sum(kills.values()) < 25:
        target, rounds = tmp_path / f"x{rounds}", rounds + 1
        while True:
            words = [sys.executable, str(program), str(target)]
            driver = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True)
            while driver.poll() is None:
                time.sleep(draw.uniform(0.2, 1.5))
                workers = workers_of(driver)
                if draw.random() < 0.3:
                    orphans += workers
                    driver.kill()
                    driver.wait()
                    kills["driver"] += 1
                elif workers:
                    try:
                        os.kill(draw.choice(workers).pid, signal.SIGKILL)
                        kills["worker"] += 1
                    except ProcessLookupError:
                        pass
            errors = driver.communicate()[1]
            if driver.returncode == 0:
                break
            # Killed, or a chunk whose workers were hit three times: the same command goes on.
            assert driver.returncode < 0 or "its worker died" in errors, errors
        assert digest(build(target, FakeWork(count=400, size=5))) == wanted
        assert left(tmp_path) == []
    assert min(kills.values()) > 3
    _, alive = psutil.wait_procs(orphans, timeout=20)
    assert not alive
