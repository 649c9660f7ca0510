"""Recipes, fingerprints, artifacts and locks; this package knows nothing about retrieval."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T")


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[T]:
    """Give a variable a value inside the block."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def offering(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that loads its names when first used."""

    def find(name: str) -> Any:
        for module, names in modules.items():
            if name in names.split():
                from adducir.core.packages import required

                return getattr(required(module), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: sorted(import_module(package).__all__)
