"""``adducir kinds``."""

from adducir.cli.command import Command, option, rare_fields
from adducir.core.recipe import Recipe
from adducir.families import FAMILIES

SETTINGS = "settings"


class KindsOptions(Recipe):
    families: tuple[str, ...] = option(
        f"Families: {', '.join(FAMILIES)}; or {SETTINGS}.",
        metavar="[FAMILY]...",
        argument=True,
        default=(),
        shown="all of them",
    )


def kinds(settings: KindsOptions) -> None:
    """List formats, methods, measures and models with their hyperparameters.

    Kinds of installed packages are listed with package and version. Settings are what commands take
    as --set KEY=VALUE.

    Examples:
        adducir kinds
        adducir kinds fusion feedback
    """
    from adducir.cli.console import show
    from adducir.families import listing

    names = tuple(name for name in settings.families or FAMILIES if name != SETTINGS)
    texts = [listing(names)] if names else []
    if not settings.families or SETTINGS in settings.families:
        texts.append(_settings())
    show("\n".join(texts))


def _settings() -> str:
    """The keys of ``--set``, and the commands that take them."""
    from adducir.cli.group import all_commands, load_command
    from adducir.families import cell

    settings: dict[tuple[str, str], list[str]] = {}
    for name in all_commands():
        command = load_command(name)
        if isinstance(command, Command):
            for key, field in rare_fields(command.recipe).items():
                settings.setdefault((key, str(field.description)), []).append(f"`{name}`")
    rows = (
        f"| `{key}` | {cell(meaning)} | {', '.join(commands)} |"
        for (key, meaning), commands in sorted(settings.items())
    )
    head = ("## Settings of commands", "", "| Key | What it is | Commands |", "| --- | --- | --- |")
    return "\n".join([*head, *rows])
