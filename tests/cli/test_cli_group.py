"""The static list of commands agrees with the commands."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest

from adducir.cli.app import main
from adducir.cli.group import COMMANDS, load_command


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_what_the_list_says(name):
    function = getattr(import_module(f"adducir.cli.{name}"), name)
    first = inspect.cleandoc(function.__doc__).splitlines()[0]
    assert first == COMMANDS[name].help
    assert load_command(name).name == name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name, capsys):
    command = load_command(name)
    assert [param.name for param in command.params if not getattr(param, "help", "")] == []
    assert main([name, "--help"]) == 0
    assert COMMANDS[name].help in " ".join(capsys.readouterr().out.split())


def test_help_lists_every_command_with_its_line(capsys):
    assert main(["-h"]) == 0
    shown = capsys.readouterr().out
    for name, entry in COMMANDS.items():
        assert name in shown
        assert entry.help.split()[0] in shown


def test_the_exit_codes_in_the_help_are_those_of_the_errors(capsys):
    import re

    import adducir.study.errors as errors

    main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    documented = re.findall(r"^(\d+) ", errors.__doc__, re.MULTILINE)
    stated = re.findall(r"\b(\d+) ", shown[shown.index("Exit codes:") :])
    assert set(documented) <= set(stated)


def test_only_the_command_line_prints():
    rooms = Path(__file__).parents[2] / "adducir"
    printing = [
        str(path)
        for path in rooms.rglob("*.py")
        if path.parts[-2] != "cli" and "\n    print(" in path.read_text(encoding="utf-8")
    ]
    assert printing == []
