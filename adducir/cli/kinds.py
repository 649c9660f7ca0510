"""``adducir kinds``."""

from typing import Annotated

from adducir.cli.parameters import argument
from adducir.families import FAMILIES


def kinds(
    families: Annotated[
        list[str] | None,
        argument(f"Families: {', '.join(FAMILIES)}.", "[FAMILY]...", shown="all of them"),
    ] = None,
) -> None:
    """List formats, methods, measures and models with their hyperparameters.

    Those of installed packages are listed too, each with its package and version.
    """
    from adducir.cli.console import show
    from adducir.families import listing

    show(listing(tuple(families or ())))
