"""Every command and every option has a journey, or a reason why it has none."""

import re
from itertools import pairwise

import pytest
from journey_runner import HERE, all_journeys, here, read

WITHOUT = {
    "--device": "decides where networks run; other devices are not at hand",
    "--workers": "what is made does not depend on it",
    "--set batch_tokens": "moves no figure by more than its last digits",
    "--set ray": "needs a cluster",
    "--set slurm": "needs a cluster",
    "--set device": "decides where networks run; other devices are not at hand",
    "--threads": "no figure depends on it",
    "--force": "the same for all commands: index has it",
    "--rebuild": "the same for all commands: index has it",
    "--passages": "the same for all commands: index has it",
    "--set fold": "the same for all commands: the journey foreign has it",
    "--set word_weights": "the same for all commands: the journey foreign has it",
    "--set docno_field": "the same for all commands: index has --docno-field",
    "--set quotes": "the same for all commands: the journey foreign has it",
    "--set qid_field": "the same for all commands: the journey foreign has it",
    "--set query_field": "the same for all commands: the journey foreign has it",
    "--set columns": "the same for all commands: the journey foreign has it",
    "--set qrels_columns": "the same for all commands: the journey foreign has it",
    "--set duplicates": "the same for all commands: the journey foreign has it",
}
TESTS = {
    "--equivalence",
    *(f"--set {key}" for key in ("against", "equivalence_test", "interval", "non_inferiority")),
    *(f"--set {key}" for key in ("samples", "topics_for")),
}
"""What all tables are tested by alike: the journeys of `evaluate` have it."""


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[set[str]]]:
    folder = tmp_path_factory.mktemp("help") / "study"
    folder.mkdir()

    def shown(*words: str) -> str:
        return here([*words], folder).out

    def listed(text: str) -> list[str]:
        return re.findall(r"^  ([a-z][a-z0-9-]+) {2,}", text, re.M)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "300")
        commands: list[str] = []
        for name in listed(shown("--help")):
            inner = listed(shown(name, "--help").partition("Commands:")[2])
            commands += [f"{name} {one}" for one in inner] or [name]
        helps = {name: shown(*name.split(), "--help") for name in commands}
        settings = shown("kinds", "settings")
    found: dict[str, list[set[str]]] = {}
    for command, shown in helps.items():
        rows = re.findall(r"^  (?:(-\w), )?(--[a-z][\w-]*)", shown.partition("\nOptions:")[2], re.M)
        found[command] = [set(filter(None, row)) for row in rows]
    for key, commands in re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", settings, re.M):
        for command in re.findall("`(.*?)`", commands):
            found[command].append({f"--set {key}"})
    return {
        command: [names for names in rows if not names & {"--help", "--set"}]
        for command, rows in found.items()
    }


def typed() -> dict[str, set[str]]:
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


def test_every_command_has_a_journey(options: dict[str, list[set[str]]]) -> None:
    assert len(options) > 15
    assert set(options) <= set(typed())


def test_every_option_has_a_journey(options: dict[str, list[set[str]]]) -> None:
    journeys = typed()
    missing = [
        f"{command} {min(names, key=len)}"
        for command, rows in options.items()
        for names in rows
        if not names & journeys.get(command, set())
        and not names & set(WITHOUT)
        and not names & TESTS & journeys["evaluate"]
    ]
    assert not missing, "\n".join(missing)


def test_no_reason_is_given_for_what_is_not_there(options: dict[str, list[set[str]]]) -> None:
    known = {name for rows in options.values() for names in rows for name in names}
    assert set(WITHOUT) <= known
    assert typed()["evaluate"] >= TESTS


def test_no_golden_file_is_left_over() -> None:
    names = {f"{journey.name}.txt" for journey in all_journeys()}
    assert {path.name for path in (HERE / "golden").iterdir()} == names
    assert sum(path.stat().st_size for path in (HERE / "golden").iterdir()) < 1_500_000
