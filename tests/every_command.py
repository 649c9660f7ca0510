"""Every command of the program, the engine's and the studies', by its words."""

from functools import cache

from adducir.cli.group import GROUPS, all_commands
from adducir.cli.group import load_command as load

__all__ = ["COMMANDS", "GROUPS", "load_command"]
COMMANDS = all_commands()
load_command = cache(load)
