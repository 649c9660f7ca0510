"""Entry points of installed packages, Adducir itself among them."""

import sys
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from typing import Any, cast

_points: dict[tuple[str, ...], EntryPoints] = {}
"""All of them by Python's path: reading them takes long."""


def points_of(name: str) -> EntryPoints:
    """Those of one of Adducir's groups."""
    path = tuple(sys.path)
    if path not in _points:  # before Python 3.12 a class of its own
        _points[path] = cast("EntryPoints", entry_points())
    return _points[path].select(group=f"adducir.{name}")


def imported(home: str) -> Any:
    """What stands at ``module:name``; a MachineError says which extra it needs and is lacking."""
    module, _, name = home.partition(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        from adducir.core.packages import lacking

        raise lacking(error) or error from error
