"""``adducir kinds``."""

from adducir.cli.command import option
from adducir.core.recipe import Recipe
from adducir.families import FAMILIES


class Kinds(Recipe):
    families: tuple[str, ...] = option(
        f"Families: {', '.join(FAMILIES)}.",
        metavar="[FAMILY]...",
        argument=True,
        default=(),
        shown="all of them",
    )


def kinds(settings: Kinds) -> None:
    """List formats, methods, measures and models with their hyperparameters.

    Those of installed packages are listed too, each with its package and version.

    Examples:
        adducir kinds
        adducir kinds fusion feedback
    """
    from adducir.cli.console import show
    from adducir.families import listing

    show(listing(settings.families or tuple(FAMILIES)))
