"""SIGKILL before and after each rename, for every command that writes.

Right after the kill, the files of one artifact are all old, all new, or some of them missing; a
mixture of old and new ones must be reported by the command that reads them. The next call finishes.
"""

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
from attack_builds import outputs
from attack_commands import COMMANDS, Command
from attack_counts import count
from attack_process import run
from attack_settings import chosen
from attack_trials import REPLACING, Bench

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL there")

_METADATA = ".ir-metadata.yml"


def artifact_of(name: str, artifacts: set[str]) -> str:
    """What a file is a part of: its artifact's folder, its run, or what the command makes."""
    for folder in map(str, PurePosixPath(name).parents):
        if folder in artifacts:
            return folder
    if name.endswith(_METADATA) or ".trec" in name:
        return name.removesuffix(_METADATA)
    return f"the rest of {PurePosixPath(name).parts[0]}"


def mixtures(found: dict[str, bytes], old: dict[str, bytes], new: dict[str, bytes]) -> list[str]:
    """The artifacts of which some files are old and others new, where the two differ."""
    artifacts = {
        str(PurePosixPath(name).parent)
        for name in old.keys() | new.keys()
        if PurePosixPath(name).name == "manifest.json"
    }
    sides = defaultdict(set)
    for name, data in found.items():
        if name.startswith(".") or "/." in name or old.get(name) == new.get(name):
            continue
        if data in (old.get(name), new.get(name)):
            side = "old" if data == old.get(name) else "new"
            sides[artifact_of(name, artifacts)].add(side)
    return [name for name, both in sides.items() if len(both) == 2]


def run_is_reported(work: Path, artifact: str) -> bool:
    """Whether ``check`` says that a run's metadata are not the run's."""
    ended = run(["check", artifact], work)
    return "metadata" in ended.stdout + ended.stderr


def key_is_reported(work: Path, _: str) -> bool:
    """Whether choices of a task are refused with the key of another."""
    ended = run(["literary-evidence", "proxy-score", "--key", "out/key.csv", "out/task.csv"], work)
    return ended.code == 3


REPORTED: dict[str, Callable[[Path, str], bool]] = {"proxy-make": key_is_reported}


def unreported(bench: Bench, work: Path) -> list[str]:
    """Mixtures that nothing reports, right after a kill."""
    wanted = bench.undisturbed(REPLACING)
    errors = []
    for artifact in mixtures(outputs(work, bench.given), wanted.first, wanted.made):
        report = REPORTED.get(bench.command.name)
        if report is None and ".trec" in artifact:
            report = run_is_reported
        if report is None or not report(work, artifact):
            errors.append(f"old and new files of {artifact}, and nothing reports it")
    return errors


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_killed_at_each_rename(study: Path, tmp_path: Path, command: Command) -> None:
    bench = Bench(study, command, tmp_path)
    points = [
        (start, stop, is_before)
        for start in bench.starts
        for stop in range(1, len(bench.undisturbed(start).ended.renames) + 1)
        for is_before in (True, False)
    ]
    errors = []
    for start, stop, is_before in chosen(points, command.name):
        wanted = bench.undisturbed(start)
        work = bench.copy(wanted.start, wanted.kind)
        ended = bench.begin(work, stop, is_before).ended()
        if ended.code == 0:  # fewer renames than before: what was cached need not be written
            continue
        count("kills at renames")
        assert ended.code == -9, ended.last
        wrong = unreported(bench, work) if start == REPLACING else []
        wrong += bench.finished(work, wanted)
        place = wanted.ended.renames[stop - 1].replace(f"{work}/", "")
        when = f"{start}, {'before' if is_before else 'after'} rename {stop} ({place})"
        errors += [f"{when}: {each}" for each in wrong]
    assert not errors, "\n".join(errors)
