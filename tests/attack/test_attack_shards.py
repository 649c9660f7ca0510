"""Each command with work in shards: by parts and by workers, which are killed at random moments.

What comes of it in the end has the bytes of one process that nobody disturbs, and no shard stays.
"""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from attack_builds import differences, outputs, snapshot
from attack_counts import count
from attack_process import run
from attack_settings import chosen, draw_for, scaled
from attack_shards import KINDS, Sharded, begun, workers_of

from adducir.cli.group import COMMANDS, load_command

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL there")

KILLS = 286
"""Kills of the whole run, shared out evenly among the kinds."""


class Bench:
    """What a kind makes when nobody disturbs it, and folders where it is tried again."""

    def __init__(self, study: Path, kind: Sharded, folder: Path) -> None:
        self.kind, self._folder = kind, folder
        self._start = shutil.copytree(study, folder / "start")
        for line in kind.before:
            assert run(line.split(), self._start).code == 0, line
        self._given = snapshot(self._start)
        alone = self.fresh()
        ended = begun(kind.argv(), alone).ended()
        assert ended.code == 0, ended.last
        self.made = outputs(alone, self._given)

    def fresh(self) -> Path:
        """A folder with the kind's input alone."""
        work = self._folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        return shutil.copytree(self._start, work)

    def wrong(self, work: Path) -> list[str]:
        """What differs from what it makes undisturbed; what is left behind."""
        return differences(outputs(work, self._given), self.made)


@pytest.fixture
def bench(study: Path, tmp_path: Path) -> Callable[[Sharded], Bench]:
    return lambda kind: Bench(study, kind, tmp_path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_parts_at_once_in_processes(bench: Callable[[Sharded], Bench], kind: Sharded) -> None:
    tried = bench(kind)
    for parts in chosen(list(range(1, 8)), "parts", kind.name):
        work = tried.fresh()
        lines = [kind.argv("--part", f"{number}/{parts}") for number in range(1, parts + 1)]
        running = [begun(line, work, tag=f"-{number}") for number, line in enumerate(lines)]
        for ended in [one.ended() for one in running]:
            assert ended.code == 0, ended.last
        count("parts in processes of their own", parts)
        assert not (work / kind.output).exists()
        ended = begun(kind.argv(), work).ended()
        assert ended.code == 0, ended.last
        assert tried.wrong(work) == []


def disturbed(
    kind: Sharded, work: Path, draw: random.Random, wait: float, most: int
) -> tuple[int, list[psutil.Process]]:
    """Run it until it is done, killing workers or the command after up to ``wait`` seconds each.

    Returns:
        How many were killed, ``most`` at most, and the workers of killed commands.
    """
    kills, orphans = 0, list[psutil.Process]()
    while True:
        running, is_killed = begun(kind.argv("--workers", "2"), work), False
        while kills < most and not is_killed:
            running.process.join(draw.uniform(0.0, wait))
            workers = workers_of(running)
            if not running.process.is_alive():
                break
            if draw.random() < 0.4:
                orphans += workers
                running.process.kill()
                running.process.join()
                kills, is_killed = kills + 1, True
                count("kills of commands with workers")
            elif workers:
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(workers).pid, signal.SIGKILL)
                    kills += 1
                    count("kills of workers")
        if is_killed:  # its workers end by themselves, while the next ones begin
            continue
        ended = running.ended()
        if ended.code == 0:
            return kills, orphans
        # A shard that was hit three times: the same command goes on.
        assert "its worker died" in ended.stderr, ended.last


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_kills_at_random_moments(bench: Callable[[Sharded], Bench], kind: Sharded) -> None:
    tried, draw = bench(kind), draw_for("shards", kind.name)
    began = time.monotonic()
    ended = begun(kind.argv("--workers", "2"), work := tried.fresh()).ended()
    assert ended.code == 0, ended.last
    assert tried.wrong(work) == []
    seconds, wanted, kills = time.monotonic() - began, scaled(KILLS // len(KINDS), 2), 0
    while kills < wanted:
        work = tried.fresh()
        more, orphans = disturbed(kind, work, draw, seconds, wanted - kills)
        kills += more
        assert tried.wrong(work) == []
        _, alive = psutil.wait_procs(orphans, timeout=30)
        assert not alive


def test_every_command_with_parts_is_tried() -> None:
    tried = {" ".join(kind.argv()) for kind in KINDS}
    for name in COMMANDS:
        options = {option for param in load_command(name).params for option in param.opts}
        # Parts of experiments are killed in tests/experiments/test_experiment_parts.py.
        if "--part" in options and name != "experiment":
            assert any(words.startswith(f"{name} ") for words in tried), name
