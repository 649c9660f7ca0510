"""``adducir kinds``."""

from typing import Annotated

from adducir.cli.parameters import argument
from adducir.families import FAMILIES

SETTINGS = "settings"


def kinds(
    families: Annotated[
        list[str] | None,
        argument(
            f"Families: {', '.join(FAMILIES)}; or {SETTINGS}.", "[FAMILY]...", shown="all of them"
        ),
    ] = None,
) -> None:
    """List formats, methods, measures and models with their hyperparameters.

    Those of installed packages are listed too, each with its package and version. The settings are
    what commands take by --set KEY=VALUE.
    """
    from adducir.cli.console import show
    from adducir.families import listing

    names = [name for name in families or FAMILIES if name != SETTINGS]
    text = listing(tuple(names)) if names else ""
    show(text if families and SETTINGS not in families else f"{text}\n{_settings()}".strip())


def _settings() -> str:
    """What is given by ``--set``, and the commands that take it."""
    from adducir.cli.group import all_commands, load_command

    found: dict[tuple[str, str], list[str]] = {}
    for command in all_commands():
        for one in load_command(command).params:
            if getattr(one, "hidden", False):
                found.setdefault((str(one.name), str(getattr(one, "help", ""))), []).append(
                    f"`{command}`"
                )
    rows = (
        f"| `{key}` | {what} | {', '.join(commands)} |"
        for (key, what), commands in sorted(found.items())
    )
    head = ("## Settings of commands", "", "| Key | What it is | Commands |", "| --- | --- | --- |")
    return "\n".join([*head, *rows])
