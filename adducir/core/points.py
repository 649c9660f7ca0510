"""Entry points of installed packages, Adducir itself among them; read without pydantic."""

import sys
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from adducir.core.errors import MachineError

_points: dict[tuple[str, ...], EntryPoints] = {}
"""All of them by Python's path: reading them takes long."""


def points_of(name: str) -> EntryPoints:
    """Those of one of Adducir's groups."""
    return _all_points().select(group=f"adducir.{name}")


def _all_points() -> EntryPoints:
    path = tuple(sys.path)
    if path not in _points:  # before Python 3.12 a class of its own
        _points[path] = cast("EntryPoints", entry_points())
    return _points[path]


def raised_in(error: BaseException, root: Path) -> dict[str, Any]:
    """The innermost ``path`` and ``line`` of an error in some file or folder; {} if none is."""
    import traceback

    places = [(Path(one.filename), one.lineno) for one in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((Path(error.filename), error.lineno))
    for path, line in reversed(places):
        if path.is_relative_to(root) and "site-packages" not in path.relative_to(root).parts:
            return {"path": path, "line": line}
    return {}


def blamed(error: BaseException) -> MachineError | None:
    """The error that an installed package with kinds or commands raised; None where none did."""
    groups = [one for one in _all_points().groups if one.startswith("adducir.")]
    for point in (point for group in groups for point in _all_points().select(group=group)):
        if point.dist is None or point.dist.name == "adducir" or not (root := root_of(point)):
            continue
        if place := raised_in(error, root):
            what = f"the package {point.dist.name} {point.dist.version} raised {error!r}."
            hint = "The error is in that package, not in Adducir: report it to its authors."
            return MachineError(what, hint=hint, **place)
    return None


def root_of(point: EntryPoint) -> Path | None:
    """The folder of an entry point's package, or the file of its module; nothing is imported."""
    spec = find_spec(point.module.partition(".")[0])
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)


def imported(home: str) -> Any:
    """What stands at ``module:name``; a MachineError says which extra it needs and is lacking."""
    module, _, name = home.partition(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        from adducir.core.packages import lacking

        raise lacking(error) or error from error
