"""The studies' groups of commands: of each its name and help, its modules when it is called.

A study's module ``commands`` lists functions as ``COMMANDS``. Parameters are the command's, and the
docstring its help, with the examples that end it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from typer.core import TyperCommand, TyperGroup

from adducir.cli.group import LazyGroup, build_command

PANEL = "The studies"
STUDIES = {
    "exemplification": "Examples in context: their data, ROUGE-L, agreement of raters.",
    "literary-evidence": "Passages that critics quote: data, retrieval, ranks, human choices.",
    "complementary-evidence": "Sets of passages that together answer a question.",
    "grounded-generation": "Texts generated from passages: their data and evaluation.",
}


def commands_of(study: str) -> dict[str, Callable[..., Any]]:
    """The functions of a study's commands by name, such as ``proxy-make``."""
    module = import_module(f"adducir.studies.{study.replace('-', '_')}.commands")
    return {function.__name__.replace("_", "-"): function for function in module.COMMANDS}


def load_command(study: str, name: str) -> TyperCommand:
    """The command of a study's function."""
    function = commands_of(study)[name]
    _, _, examples = (function.__doc__ or "").partition("Examples:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    return build_command(name, function, "\n\n".join(["Examples:", *lines]))


class StudyGroup(LazyGroup):
    """A group whose commands are imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the study's order."""
        return list(commands_of(str(self.name)))

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """One of them."""
        known = cmd_name in commands_of(str(self.name))
        return load_command(str(self.name), cmd_name) if known else None


def add_studies(group: TyperGroup) -> None:
    """Add a group for each study to the program."""
    for name, what in STUDIES.items():
        group.commands[name] = StudyGroup(
            name=name,
            help=what,
            no_args_is_help=True,
            rich_help_panel=PANEL,
            rich_markup_mode="rich",
            context_settings={"help_option_names": ["-h", "--help"]},
        )
