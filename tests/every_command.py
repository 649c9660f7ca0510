"""Every command of the program, the engine's and the studies', by its words."""

from adducir.cli.group import GROUPS, all_commands, load_command

__all__ = ["COMMANDS", "GROUPS", "load_command"]
COMMANDS = all_commands()
