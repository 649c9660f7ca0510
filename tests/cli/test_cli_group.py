"""The static list of commands agrees with the commands."""

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from every_command import COMMANDS as ALL
from every_command import GROUPS, load_command

from adducir.cli.app import main
from adducir.cli.group import COMMANDS

READ = {"capture_output": True, "text": True, "check": True}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_what_the_list_says(name):
    place = name.replace(" ", "_")
    function = getattr(import_module(f"adducir.cli.{COMMANDS[name].module or place}"), place)
    first = inspect.cleandoc(function.__doc__).splitlines()[0]
    assert first == COMMANDS[name].help
    assert load_command(name).name == name.split()[-1]


@pytest.mark.parametrize("name", ALL)
def test_every_option_is_explained(name, capsys):
    command = load_command(name)
    assert [param.name for param in command.params if not getattr(param, "help", "")] == []
    assert main([*name.split(), "--help"]) == 0
    assert name.split()[-1] in capsys.readouterr().out


def test_help_lists_every_command_with_its_line(capsys):
    assert main(["-h"]) == 0
    shown = capsys.readouterr().out
    for name in [*GROUPS, *(name for name in COMMANDS if " " not in name)]:
        assert f"│ {name} " in shown
    for name, entry in COMMANDS.items():
        assert " " in name or entry.help.split()[0] in shown


@pytest.mark.parametrize("words", [[], *([group] for group in GROUPS)])
def test_the_help_of_a_group_shows_no_type_of_python(words, capsys):
    assert main([*words, "--help"]) == 0
    assert "<" not in capsys.readouterr().out


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_its_commands(group, capsys):
    assert main([group, "--help"]) == 0
    shown = capsys.readouterr().out
    inside = [name.split()[1] for name in ALL if name.startswith(f"{group} ")]
    assert inside
    assert [name for name in inside if name not in shown] == []


@pytest.mark.parametrize("group", GROUPS)
def test_an_unknown_command_of_a_group_is_reported_the_nearest(group, capsys):
    (first, *_) = [name.split()[1] for name in ALL if name.startswith(f"{group} ")]
    assert main([group, first + "x"]) == 2
    assert f"Did you mean '{first}'" in capsys.readouterr().err


def test_the_exit_codes_in_the_help_are_those_of_the_errors(capsys):
    import re

    import adducir.core.errors as errors

    main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    documented = re.findall(r"^(\d+) ", errors.__doc__, re.MULTILINE)
    stated = re.findall(r"\b(\d+) ", shown[shown.index("Exit codes:") :])
    assert set(documented) <= set(stated)


def test_only_the_command_line_prints():
    packages = Path(__file__).parents[2] / "adducir"
    printing = [
        str(path)
        for path in packages.rglob("*.py")
        if path.parts[-2] != "cli" and "\n    print(" in path.read_text(encoding="utf-8")
    ]
    assert printing == []


def test_another_package_has_commands_of_its_own(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/__init__.py").write_text('"""Greets."""\n')
    (tmp_path / "mine/commands.py").write_text(
        "from adducir.cli.command import option\n"
        "from adducir.core.recipe import Recipe\n\n\n"
        "class Greet(Recipe):\n    name: str = option('Whom.', argument=True)\n\n\n"
        "def greet(settings: Greet) -> None:\n"
        '    """Greet somebody."""\n    print("hello", settings.name)\n\n\n'
        "COMMANDS = (greet,)\n"
    )
    info = tmp_path / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[adducir.commands]\nmine = mine.commands\n")
    program = [sys.executable, "-m", "adducir"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    shown = subprocess.run([*program, "mine", "greet", "Ann"], env=environment, **READ)
    assert shown.stdout == "hello Ann\n"
    assert "Greets." in subprocess.run([*program, "-h"], env=environment, **READ).stdout
