"""Every command that writes, on a disk with less space than it needs.

The disk is a tmpfs, which only root can mount: without it the tests are skipped, except for those
with a limit on the size of files, which anyone can set. On a full disk a command ends with code 4;
what is there then is whole, old or new, and with space the same command finishes.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from attack_builds import outputs
from attack_commands import COMMANDS, Command
from attack_counts import count
from attack_process import Ended, Order, Running
from attack_settings import draw_for, scaled
from attack_trials import FRESH, REPLACING, Bench, Undisturbed
from test_attack_renames import mixtures, unreported

from adducir.core.errors import MachineError

TRIALS = 110
"""Full disks of the whole run, shared out among the commands."""
"""Full disks of workers, shared out among the kinds."""
SIZE = 64 << 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty small disk."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if shutil.which("mount") is None:
        pytest.skip("there is no mount here")
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path, left: int) -> Path:
    """Leave so many bytes of space."""
    filler = disk / "filler"
    free = shutil.disk_usage(disk).free - left
    with filler.open("wb") as handle:
        os.posix_fallocate(handle.fileno(), 0, max(1, free))
    return filler


def wrong_after(
    bench: Bench, work: Path, ended: Ended, wanted: Undisturbed, start: str
) -> list[str]:
    """What is wrong where a command found too little space."""
    if ended.code == 0:
        return []
    errors = []
    if ended.code != MachineError.exit_code:
        errors.append(f"ended with {ended.code}: {ended.last}")
    found = outputs(work, bench.given)
    for name, data in found.items():
        is_hidden = name.startswith(".") or "/." in name
        if not is_hidden and data not in (wanted.first.get(name), wanted.made.get(name)):
            errors.append(f"neither old nor new: {name}")
    errors += [f"lost: {name}" for name in wanted.first.keys() - found.keys()]
    if start == REPLACING and mixtures(found, wanted.first, wanted.made):
        errors += unreported(bench, work)
    return errors


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_full_disk(study: Path, disk: Path, command: Command) -> None:
    room = disk / "room"
    room.mkdir()
    bench = Bench(study, command, room)
    errors = []
    try:
        for number in range(scaled(-(-TRIALS // len(COMMANDS)))):
            start = bench.starts[(number + 1) % len(bench.starts)]
            wanted = bench.undisturbed(start)
            needed = sum(map(len, wanted.made.values()))
            left = int(draw_for("disk", command.name, number).uniform(0, 0.9) * needed)
            work = bench.copy(wanted.start, wanted.kind)
            filler = fill(disk, left)
            ended = bench.begin(work).ended()
            filler.unlink()
            count("full disks")
            count("full disks that ended a command", ended.code != 0)
            wrong = wrong_after(bench, work, ended, wanted, start) + bench.finished(work, wanted)
            errors += [f"{start}, {left:,} bytes left: {each}" for each in wrong]
    finally:
        shutil.rmtree(room)
    assert not errors, "\n".join(errors)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_limit_on_the_size_of_files(study: Path, tmp_path: Path, command: Command) -> None:
    bench = Bench(study, command, tmp_path)
    start = REPLACING if command.other else FRESH
    wanted = bench.undisturbed(start)
    largest = max(map(len, wanted.made.values()))
    limit = draw_for("limit", command.name).randrange(largest)
    work = bench.copy(wanted.start, wanted.kind)
    order = Order(command.argv(), work, limits={"RLIMIT_FSIZE": limit})
    ended = Running(order).ended()
    count("limits on the size of files")
    errors = wrong_after(bench, work, ended, wanted, start) + bench.finished(work, wanted)
    assert not errors, f"{limit:,} bytes a file\n" + "\n".join(errors)
