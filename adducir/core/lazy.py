"""Names that a package offers and loads when they are first used."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any


def offering(package: str, homes: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """A package's ``__getattr__``.

    Args:
        package: The package's ``__name__``.
        homes: For each name the module below the package that defines it; by default what the
            package imports below ``if TYPE_CHECKING:``.
    """

    @cache
    def modules() -> Mapping[str, str]:
        if homes is not None:
            return {name: f"{package}.{home}" for name, home in homes.items()}
        from adducir.core.checking import imports_for_types

        return {
            one.name: str(getattr(node, "module", ""))
            for node in imports_for_types(package)
            for one in node.names
        }

    def find(name: str) -> Any:
        if name.startswith("__") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules()[name]), name)

    return find
