"""What the help of each command shows: examples that parse, options that fit 80 columns."""

import re
import shlex

import pytest
from every_command import COMMANDS, load_command

from adducir.cli.app import main
from adducir.cli.group import CORE

LINES = [(name, line) for name in COMMANDS for line in load_command(name).epilog.split("\n\n")[1:]]


def test_every_command_has_examples():
    assert {name for name, _ in LINES} == set(COMMANDS)


@pytest.mark.parametrize(("name", "line"), LINES, ids=[line for _, line in LINES])
def test_an_example_parses(name, line):
    program, *words = shlex.split(line)
    assert [program, *words[: len(name.split())]] == ["adducir", *name.split()]
    command = load_command(name)
    command.make_context(name, words[len(name.split()) :])  # typer's own error says what


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_and_ends_with_the_examples(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if "…" in line or len(line) > 80] == []
    visible = [one for one in load_command(name).params if not getattr(one, "hidden", False)]
    assert sum(one.param_type_name == "option" for one in visible) <= 15
    options = [one for param in visible for one in param.opts]
    assert [option for option in options if option.startswith("--") and option not in shown] == []
    assert " ".join(shown.split()).endswith(" ".join(load_command(name).epilog.split()))


def test_core_commands_come_first(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main(["--help"])
    shown = capsys.readouterr().out
    assert "…" not in shown
    panels = [line.strip("╭─╮ ") for line in shown.splitlines() if line.startswith("╭")]
    assert panels[:2] == ["Options", CORE]
    assert shown.index("│ index ") < shown.index("│ search ") < shown.index("│ exemplification ")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_shows_a_type_of_python(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    main([*name.split(), "--help"])
    shown = capsys.readouterr().out.partition("─ Options ")[2]
    assert re.findall(r"<(?:bool|int|float|str|list|Path|file|dir)\b", shown) == []
