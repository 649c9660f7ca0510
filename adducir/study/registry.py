"""Families of kinds: retrieval models, fusion methods, rerankers and the like.

A family knows its kinds by name: those that come with Adducir, and those that installed packages
declare as entry points of the group ``adducir.<family>``::

    [project.entry-points."adducir.fusion"]
    borda = "my_package.borda:Borda"

A kind is a recipe whose fields are its hyperparameters: from that one definition come the keys of
an experiment file, the options of a command and their help, the defaults and what can be tuned.
Names are known without importing any kind; a kind is imported when it is first used.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, cast

from pydantic import ValidationError

from adducir.study.errors import MachineError, UsageError
from adducir.study.nearest import nearest
from adducir.study.recipe import Recipe
from adducir.study.recipe_faults import faults_of

K = TypeVar("K")


class Family(Generic[K]):
    """The kinds of one family.

    Args:
        name: What the group of entry points is called, behind ``adducir.``.
        base: The class that every kind of it extends.
        own: The home of each kind that comes with Adducir, as ``module:class``, in the order in
            which they are listed.
        what: What a kind is, for messages: "fusion method".
    """

    def __init__(self, name: str, base: type[K], own: Mapping[str, str], *, what: str) -> None:
        self.name = name
        self.what = what
        self._base = base
        self._own = dict(own)

    def __iter__(self) -> Iterator[str]:
        return iter((*self._own, *self._installed))

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._installed

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        """The kinds of other packages, by name.

        Raises:
            MachineError: Two packages, or a package and Adducir, have kinds of one name.
        """
        found: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=f"adducir.{self.name}"), key=lambda one: one.name):
            other = found.get(point.name)
            if point.name in self._own or (other is not None and other.value != point.value):
                rival = "Adducir itself" if other is None else _package(other)
                raise MachineError(
                    f"{_package(point)} and {rival} both have a {self.what} {point.name!r}.",
                    mend="Uninstall one of them, or rename the entry point.",
                )
            found[point.name] = point
        return found

    def kind(self, name: str) -> type[K]:
        """The class of a name.

        Raises:
            UsageError: There is no such kind.
            MachineError: Another package's kind cannot be imported, or is none of this family.
        """
        if name in self._own:
            module, _, attribute = self._own[name].partition(":")
            own: type[K] = getattr(import_module(module), attribute)
            return own
        if name not in self._installed:
            raise UsageError(
                f"there is no {self.what} {name!r}{nearest(name, self) or '.'}",
                mend=f"Choose one of {', '.join(self)}.",
            )
        point = self._installed[name]
        try:
            found = point.load()
        except Exception as error:
            raise MachineError(
                f"the {self.what} {name!r} of {_package(point)} cannot be imported: {error!r}.",
                mend="Mend or uninstall that package.",
            ) from error
        if not (isinstance(found, type) and issubclass(found, self._base)):
            raise MachineError(
                f"{point.value} of {_package(point)} is no {self.what}.",
                mend=f"It must extend {self._base.__module__}.{self._base.__qualname__}.",
            )
        return found

    def make(self, name: str, hyperparameters: Mapping[str, Any] | None = None) -> K:
        """A kind with hyperparameters; those not given have their defaults.

        Raises:
            UsageError: There is no such kind, it has no such hyperparameter, or a value is not
                allowed.
            MachineError: As :meth:`kind`.
        """
        kind, given = cast("type[Recipe]", self.kind(name)), dict(hyperparameters or {})
        unknown = [key for key in given if key not in kind.model_fields]
        if unknown:
            known = ", ".join(f"`{key}`" for key in kind.model_fields) or "none"
            raise UsageError(f"`{unknown[0]}` is no hyperparameter of {name}, which has {known}.")
        try:
            return cast("K", kind.model_validate(given))
        except ValidationError as error:
            faults = "; ".join(str(fault) for fault in faults_of(error, kind))
            raise UsageError(f"{name}: {faults}.") from error

    def origin(self, name: str) -> dict[str, str]:
        """Which package and version a kind of another package comes from; empty for our own.

        It belongs to the fingerprint of all that the kind makes.
        """
        point = self._installed.get(name)
        if point is None or point.dist is None:
            return {}
        return {"package": point.dist.name, "version": point.dist.version}


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
