"""The same command gives the same bytes wherever and however it runs.

What is varied: the seed of Python's hashes, the language and its encoding, the time zone, the width
of the terminal, the working folder, and, of `index`, `search` and `tune`, the number of threads:
what a network computes is promised for one number of threads.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from attack_builds import differences, outputs
from attack_commands import COMMANDS, Command
from attack_counts import count
from attack_settings import chosen
from attack_trials import FRESH, Bench

SURROUNDINGS = {
    "hashes": {"PYTHONHASHSEED": "1"},
    "other-hashes": {"PYTHONHASHSEED": "4294967295", "COLUMNS": "40"},
    "turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "LANGUAGE": "tr", "COLUMNS": "200"},
    "plain": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "east": {"TZ": "Pacific/Kiritimati", "LC_ALL": "de_DE.UTF-8"},
}
FOLDERS = {"hashes": "one", "turkish": "İki klasör", "plain": "a/b c/d", "east": "Ordner (ü)"}
CASES = [(command, name) for command in COMMANDS for name in SURROUNDINGS]


def with_threads(argv: list[str], number: int) -> list[str]:
    """The words with another number of threads, except where a network computes."""
    takes_them = argv[0] in ("index", "search", "tune") and "--fuse" not in argv
    return [*argv, "--threads", str(number)] if takes_them else argv


def name_of(case: object) -> str:
    return case.name if isinstance(case, Command) else str(case)


@pytest.mark.parametrize(("command", "name"), chosen(CASES, "surroundings"), ids=name_of)
def test_the_same_bytes_in_other_surroundings(
    study: Path, tmp_path: Path, command: Command, name: str
) -> None:
    bench = Bench(study, command, tmp_path)
    wanted = bench.undisturbed(FRESH)
    work = tmp_path / FOLDERS.get(name, "two") / "study"
    work.parent.mkdir(parents=True)
    shutil.copytree(wanted.start, work)
    argv = command.argv()
    if "--threads" not in argv:
        argv = with_threads(argv, 1 + len(name) % 3)
    done = subprocess.run(
        [sys.executable, "-m", "adducir.cli.app", *argv],
        cwd=work,
        env=os.environ | SURROUNDINGS[name],
        capture_output=True,
        check=False,
    )
    count("runs in other surroundings")
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-1500:]
    wrong = differences(outputs(work, bench.given), wanted.made)
    assert not wrong, f"{name}: " + "; ".join(wrong)
