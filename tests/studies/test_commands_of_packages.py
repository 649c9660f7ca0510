"""Groups of commands by entry points: the studies', and those of another package."""

import os
import subprocess
import sys

from adducir.cli.group import all_commands

READ = {"capture_output": True, "text": True, "check": True}
STUDIES = ("complementary-evidence", "exemplification", "grounded-generation", "literary-evidence")


def test_the_studies_have_commands():
    assert {name.split()[0] for name in all_commands()} >= set(STUDIES)


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
