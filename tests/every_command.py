"""Every command of the program, the engine's and the studies', by its words."""

from typing import Any

from adducir.cli import group, study_groups

GROUPS = (*group.GROUPS, *study_groups.STUDIES)
COMMANDS = [
    *group.COMMANDS,
    *(f"{one} {name}" for one in study_groups.STUDIES for name in study_groups.commands_of(one)),
]


def load_command(name: str) -> Any:
    """The command of one word or two."""
    first, _, second = name.partition(" ")
    if first in study_groups.STUDIES:
        return study_groups.load_command(first, second)
    return group.load_command(name)
