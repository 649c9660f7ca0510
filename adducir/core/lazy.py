"""Names that a package offers and loads when they are first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def offering(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``.

    Args:
        package: The package's ``__name__``.
        homes: For each name the module below the package that defines it.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find
