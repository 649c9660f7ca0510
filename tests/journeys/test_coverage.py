"""Every command and every documented option has a journey, or a reason why it has none."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import journey_render
import pytest
from journey_runner import HERE, all_journeys, read

DOCS = HERE.parents[1] / "docs"
WITHOUT = {
    "--device": "decides where networks run; other devices are not at hand",
    "--batch-tokens": "moves no figure by more than its last digits",
    "--workers": "what is made does not depend on it",
    "--ray": "needs a cluster",
    "--slurm": "needs a cluster",
    "--set": "what follows it is looked for",
    "--set batch_tokens": "moves no figure by more than its last digits",
    "--set ray": "needs a cluster",
    "--set slurm": "needs a cluster",
    "--set device": "decides where networks run; other devices are not at hand",
    "--threads": "no figure depends on it",
    "--force": "the same for all commands: index has it",
    "--rebuild": "the same for all commands: index has it",
}
OPTIONS_WITHOUT = {
    ("reproduce", "--set critical_difference"): "two systems have no diagram",
    ("exemplification agreement", "--set critical_difference"): "there are no tests of all pairs",
    (
        "literary-evidence proxy-score",
        "--set critical_difference",
    ): "there are no tests of all pairs",
}


def documented() -> dict[str, list[set[str]]]:
    """The names of each option in docs/commands.md, by command."""
    found: dict[str, list[set[str]]] = {}
    command = ""
    for line in (DOCS / "commands.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## ([a-z][a-z0-9 -]*)$", line):
            command = heading[1]
            found[command] = []
        elif command and line.startswith("| `-"):
            names = re.findall(r"`(--?[\w-]+(?: \w+)?)`", line.split(" | ")[0])
            found[command].append(set(names))
    return found


def typed() -> dict[str, set[str]]:
    """The options that journeys type, by command."""
    found: dict[str, set[str]] = {}
    for journey in [*all_journeys(), *read(HERE / "parts.yaml")]:
        for step in journey.run:
            words = [word for word in step.argv if word != "--verify"]
            if words[0] == "adducir":
                for length in (1, 2):
                    options = {word for word in words if word.startswith("-")}
                    options |= {
                        f"--set {value.partition('=')[0]}"
                        for word, value in pairwise(words)
                        if word == "--set"
                    }
                    found.setdefault(" ".join(words[1 : 1 + length]), set()).update(options)
    return found


def test_every_command_has_a_journey() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "adducir", "--help"], capture_output=True, text=True, check=True
    )
    listed = set(re.findall(r"^│ ([a-z][a-z-]+) {2,}", done.stdout, re.M))
    assert len(listed) > 15, done.stdout
    assert listed | set(documented()) <= set(typed()) | {"deepct"}


def test_every_documented_option_has_a_journey() -> None:
    journeys = typed()
    missing = [
        f"{command} {min(names, key=len)}"
        for command, options in documented().items()
        for names in options
        if not names & journeys.get(command, set())
        and not names & set(WITHOUT)
        and not any((command, name) in OPTIONS_WITHOUT for name in names)
    ]
    assert not missing, "\n".join(missing)


def test_no_reason_is_given_for_what_is_not_documented() -> None:
    options = documented()
    known = {name for rows in options.values() for names in rows for name in names}
    assert set(WITHOUT) <= known
    assert not [pair for pair in OPTIONS_WITHOUT if {pair[1]} & typed().get(pair[0], set())]


def test_the_api_page_runs(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """The examples of docs/api.md, one after the other, and the numbers that they print."""
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    (tmp_path / "page.py").write_text("\n".join(re.findall(r"```python\n(.*?)```", text, re.S)))
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [journey_render.numbers(line) for line in done.stdout.splitlines()[:-1]]
    told = "\n".join(line for line in lines if line) + "\n"
    golden = HERE / "golden" / "api.txt"
    if pytestconfig.getoption("--regenerate", default=False):
        golden.write_text(told, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == told


def test_no_golden_file_is_left_over() -> None:
    names = {f"{journey.name}.txt" for journey in all_journeys()} | {"api.txt"}
    assert {path.name for path in (HERE / "golden").iterdir()} == names
    assert sum(path.stat().st_size for path in (HERE / "golden").iterdir()) < 1_500_000
