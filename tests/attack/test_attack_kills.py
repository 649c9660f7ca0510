"""SIGKILL at random moments over every command that writes.

After a kill the next call of the same command, without any cleaning up, finishes the work: what is
then there is what an undisturbed call makes, file by file, and nothing hidden is left but locks.
"""

import os
from pathlib import Path

import pytest
from attack_commands import COMMANDS, Command
from attack_counts import count
from attack_settings import draw_for, scaled
from attack_trials import Bench

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL there")

KILLS = 333
"""Kills of the whole run, shared out evenly among the commands."""


def killed(bench: Bench, start: str, number: int) -> tuple[str, list[str]]:
    """One command killed at a moment drawn by chance: when, and what is wrong after the next."""
    draw = draw_for(bench.command.name, start, number)
    wanted = bench.undisturbed(start)
    for _ in range(4):
        work = bench.copy(wanted.start, wanted.kind)
        seconds = draw.uniform(0.02, wanted.ended.seconds)
        running = bench.begin(work)
        running.kill_after(seconds)
        ended = running.ended()
        if ended.code == -9:
            count("kills at random moments")
            return f"killed after {seconds:.3f} s", bench.finished(work, wanted)
        assert ended.code == 0, ended.last
    return "too fast to be killed", []


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_killed_command_is_finished_by_the_next_call(
    study: Path, tmp_path: Path, command: Command
) -> None:
    bench = Bench(study, command, tmp_path)
    errors = []
    for number in range(scaled(-(-KILLS // len(COMMANDS)))):
        start = bench.starts[number % len(bench.starts)]
        when, wrong = killed(bench, start, number)
        errors += [f"{start}, {when}: {each}" for each in wrong]
    assert not errors, "\n".join(errors)
