"""Entry points of installed packages, Adducir itself among them."""

import sys
from importlib.metadata import EntryPoints, entry_points
from typing import cast

_points: dict[tuple[str, ...], EntryPoints] = {}
"""All of them by Python's path: reading them takes long."""


def points_of(name: str) -> EntryPoints:
    """Those of one of Adducir's groups."""
    path = tuple(sys.path)
    if path not in _points:  # before Python 3.12 a class of its own
        _points[path] = cast("EntryPoints", entry_points())
    return _points[path].select(group=f"adducir.{name}")
