"""Workers and drivers of sharded work are killed at random moments; the artifact stays the same."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from fake_work import FakeWork, build, digest

WORK = FakeWork(count=2000, size=5, seconds=0.03)
PROGRAM = """
import sys
from fake_work import FakeWork, build
from adducir.core.errors import AdducirError
from adducir.core.sharding.execution import Execution
try:
    build(sys.argv[1], FakeWork(count=2000, size=5, seconds=0.03), Execution(workers=3))
except AdducirError as error:
    sys.exit(f"{error.exit_code} {error}")
"""


def started(path):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, path],
        cwd=Path(__file__).parent,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers_of(driver):
    try:
        return [one for one in psutil.Process(driver.pid).children() if _is_worker(one)]
    except psutil.Error:
        return []


def _is_worker(process):
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:
        return False


@pytest.mark.slow
def test_kills_at_random_moments(tmp_path):
    wanted = digest(build(tmp_path / "here", FakeWork(count=2000, size=5)))
    draw, kills, rounds = random.Random(7), {"worker": 0, "driver": 0}, 0
    orphans: list[psutil.Process] = []
    while sum(kills.values()) < 210:
        path = tmp_path / f"x{rounds}"
        rounds += 1
        while True:
            driver = started(path)
            while driver.poll() is None:
                time.sleep(draw.uniform(0.0, 0.6))
                workers = workers_of(driver)
                if draw.random() < 0.25:
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
            if driver.returncode == 0:
                break
            # Killed, or a shard that was hit three times: the same command goes on.
            words = driver.stderr.read()
            assert driver.returncode < 0 or "its worker died" in words, words
        assert (path / "manifest.json").exists()
        files = {one.name: one.read_bytes() for one in path.iterdir() if "manifest" not in one.name}
        assert len(files) == 400
        assert digest(build(path, FakeWork(count=2000, size=5))) == wanted
        left = [one.name for one in tmp_path.iterdir() if path.name in one.name]
        assert sorted(left) == sorted([f".{path.name}.lock", path.name])
    assert min(kills.values()) > 20
    _, alive = psutil.wait_procs(orphans, timeout=20)
    assert not alive
