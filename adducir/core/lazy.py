"""Names that a package offers and loads when they are first used."""

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any


def offering(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package.

    It offers its ``__all__``; what it imports below ``if TYPE_CHECKING:`` is loaded on first use.

    Args:
        package: Its ``__name__``.
    """

    @cache
    def modules() -> Mapping[str, str]:
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

    return find, lambda: sorted(sys.modules[package].__all__)
