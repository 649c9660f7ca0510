"""Families of kinds: retrieval models, fusion methods, rerankers and the like.

A family finds its kinds by name: Adducir's own, and those that installed packages declare as entry
points of the group ``adducir.<family>``::

    [project.entry-points."adducir.fusion"]
    borda = "my_package.borda:Borda"

A kind is a recipe whose fields are its hyperparameters: this one definition yields the keys of
experiment files, command-line options and their help, defaults and tuning grids. Names are known
without importing any kind; a kind is imported on first use.

What a kind's method returns is checked where it is used: a wrong value is its package's fault.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast

from pydantic_core import core_schema

from adducir.core.errors import AdducirError, MachineError, UsageError
from adducir.core.packages import imported, package_of, package_with, points_of, unusable
from adducir.core.recipe import Keyed, Recipe, errors_at, one_of, refusing
from adducir.core.texts import closest, nearest, shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K = TypeVar("K")
R = TypeVar("R", bound=Recipe)
T = TypeVar("T")

_OWN = "adducir"  # the studies' kinds are entry points of this package


class Family(Generic[K]):
    """The kinds of one family, each of which extends ``base``.

    ``name`` is the entry-point group without ``adducir.``; ``base`` is a class or, like those in
    ``own``, its path ``module:class``; ``what`` is a kind's name in messages; ``synonyms`` are
    other names of kinds.
    """

    def __init__(
        self,
        name: str,
        base: type[K] | str,
        own: Mapping[str, str],
        *,
        what: str,
        synonyms: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.what, self.synonyms = name, what, dict(synonyms or {})
        self._base, self._own = base, dict(own)

    @cached_property
    def base(self) -> type[K]:
        return cast("type[K]", imported(self._base)) if isinstance(self._base, str) else self._base

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._installed  # read only if none of our own is wanted

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        points: dict[str, EntryPoint] = {}
        for point in sorted(points_of(self.name), key=lambda entry_point: entry_point.name):
            namesake = points.get(point.name)
            if point.name in self._own or (namesake is not None and namesake.value != point.value):
                rival = "Adducir itself" if namesake is None else package_of(namesake)
                raise MachineError(
                    f"{package_of(point)} and {rival} both have a {self.what} {point.name!r}.",
                    hint="Uninstall one of them, or rename the entry point.",
                )
            points[point.name] = point
        return points

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Lets a recipe write ``Annotated[str, FAMILY]`` for the name of a kind.

        ``Annotated[str | Any, FAMILY]`` also takes a kind itself.
        """

        def checked(name: Any) -> Any:
            if not isinstance(name, str):
                if name is None or isinstance(name, self.base):
                    return name
            elif (name := self.synonyms.get(name, name)) in self:
                return name
            raise ValueError(one_of(list(self), name))

        return core_schema.no_info_after_validator_function(checked, handler(source))

    def kind(self, name: str) -> type[K]:
        if name in self._own:
            return cast("type[K]", imported(self._own[name]))
        if name not in self._installed:
            choices = f"Choose one of {', '.join(self)}, or install" if [*self] else "Install"
            raise UsageError(
                f"unknown {self.what} {name!r}{nearest(name, self) or '.'}",
                hint=f"{choices} the package that provides it.",
            )
        point = self._installed[name]
        try:
            kind = point.load()
        except (Exception, SystemExit) as error:
            raise unusable(point, f"the {self.what} {name!r}", error) from error
        if not (isinstance(kind, type) and issubclass(kind, self.base)):
            raise MachineError(
                f"{point.value} of {package_of(point)} is not a kind of {self.what}.",
                hint=f"It must extend {self.base.__module__}.{self.base.__qualname__}.",
            )
        if missing := ", ".join(sorted(getattr(kind, "__abstractmethods__", ()))):
            raise MachineError(
                f"{point.value} of {package_of(point)} is not a whole {self.what}: it does not "
                f"define {missing}.",
                hint="Report it to the authors of that package.",
                **_place_of(kind),
            )
        return kind

    def kinds(self) -> dict[str, type[K]]:
        """The kinds that can be imported."""
        return dict(self.each())

    def each(self) -> Iterator[tuple[str, type[K]]]:
        """The kinds that can be imported, each imported only then."""
        for name in self:
            with suppress(MachineError):
                yield name, self.kind(name)

    def states(self) -> dict[str, type[K] | MachineError]:
        """Every kind, or why it cannot be used."""
        kinds: dict[str, type[K] | MachineError] = {}
        for name in self:
            try:
                kinds[name] = self.kind(name)
            except MachineError as error:
                kinds[name] = error
        return kinds

    def make(self, name: str, hyperparameters: Mapping[str, Any] | None = None) -> K:
        kind = cast("type[Recipe]", self.kind(name))
        with refusing(f"{name}: "):
            return cast("K", recipe_of(kind, name, hyperparameters or {}))

    def chosen(self, kind: object, hyperparameters: Mapping[str, Any] | None = None) -> K:
        """The kind of a name, or a kind itself, with hyperparameters that are given beside it."""
        if isinstance(kind, str):
            return self.make(kind, hyperparameters)
        if not isinstance(kind, self.base):
            raise UsageError(
                f"{shortened(repr(kind))} is not the name or an object of any {self.what}.",
                hint=f"The names are {', '.join(self)}.",
            )
        if not hyperparameters:
            return kind
        stated = cast("Recipe", kind).model_dump(mode="json")
        return self.make(self.name_of(type(kind)), {**stated, **hyperparameters})

    def origin(self, name: str) -> dict[str, str]:
        point = self._installed.get(name)
        if point is None or point.dist is None or point.dist.name == _OWN:
            return {}
        return {"package": point.dist.name, "version": point.dist.version}

    def name_of(self, kind: type[K]) -> str:
        home = f"{kind.__module__}:{kind.__qualname__}"
        for name in self:
            if home == (self._own.get(name) or self._installed[name].value):
                return name
        return home

    def settings(self, instance: K, key: str) -> dict[str, Any]:
        name = self.name_of(type(instance))
        return {key: name, **self.origin(name), **cast("Recipe", instance).model_dump(mode="json")}


def chosen_by_key(family: Family[Any]) -> Callable[[Any], Any]:
    """A validator: an entry's kind is the one named by a key, as in ``{fuse: [A, B]}``."""

    def choose(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        names = [key for key in value if key in family]
        if len(names) != 1:
            keys = ", ".join(f"`{name}`" for name in family)
            raise ValueError(f"exactly one of these keys is needed: {keys}")
        return _recipe(family, names[0]).model_validate(dict(value))

    return choose


def chosen_beside(family: Family[Any], key: str) -> Callable[[Any], Any]:
    """A validator: a kind by its name, or by ``{key: NAME}`` with its hyperparameters beside."""

    def choose(value: Any) -> Any:
        if value is None or isinstance(value, family.base):
            return value
        stated = dict(value) if isinstance(value, Mapping) else {key: value}
        name = stated.pop(key, None)
        if not isinstance(name, str):
            message = f"should be the name of a {family.what}, or `{key}: NAME` and its keys"
            raise ValueError(message)  # noqa: TRY004
        kind = _recipe(family, name, *([key] if name is not value else []))
        return recipe_of(kind, name, stated, (key,))

    return choose


def _recipe(family: Family[Any], name: str, *place: str) -> type[Recipe]:
    try:
        return cast("type[Recipe]", family.kind(name))
    except AdducirError as error:
        raise errors_at((place, error.paragraph().rstrip("."))) from error


def keys_of(family: Family[Any], name: str) -> Collection[str]:
    """The keys that an entry of a kind can have; none if the kind is not available."""
    try:
        kind = family.kind(name)
    except AdducirError:
        return ()
    return kind.model_fields


def recipe_of(
    kind: type[R], name: str, stated: Mapping[str, Any], others: Collection[str] = ()
) -> R:
    unknown = [key for key in stated if key not in kind.model_fields]
    if unknown:
        raise errors_at(*(((key,), _unknown(kind, name, key, others)) for key in unknown))
    return kind.model_validate(dict(stated))


def _unknown(kind: type[Recipe], name: str, key: str, others: Collection[str] = ()) -> Keyed:
    keys = [*kind.model_fields]
    message = f"is not a hyperparameter of {name}, which has "
    message += ", ".join(["{}"] * len(keys)) or "none"
    match = closest(key, [*keys, *others])
    if match:
        message += "; did you mean {}?"
        keys.append(match)
    return Keyed(message, *keys, follows_key=True)


def _place_of(kind: Any) -> dict[str, Any]:
    try:
        return {"path": Path(inspect.getfile(kind)), "line": inspect.getsourcelines(kind)[1]}
    except (OSError, TypeError):
        return {}


def numbers(
    kind: object, method: str, value: Any, *shape: int, meaning: str, finite: bool = True
) -> "NDArray[np.float64]":
    """The value as numbers of a shape, of which -1 is any length.

    Raises:
        MachineError: It is something else; names the package, its file, and what was expected.
    """
    import numpy as np

    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        refuse(kind, method, value, meaning)
    fits = found.ndim == len(shape) and all(
        wanted in (-1, length) for wanted, length in zip(shape, found.shape, strict=True)
    )
    if not fits:
        refuse(kind, method, f"an array of shape {found.shape}", f"{meaning}, of shape {shape}")
    if finite and not np.isfinite(found).all():
        refuse(kind, method, float(found[~np.isfinite(found)][0]), f"{meaning}, all finite")
    return found


def instance(kind: object, method: str, value: Any, wanted: type[T]) -> T:
    """The value, which must be of a type; errors as of :func:`numbers`."""
    if not isinstance(value, wanted):
        refuse(kind, method, value, f"a {wanted.__name__}")
    return value


def refuse(kind: object, method: str, value: Any, meaning: str) -> NoReturn:
    """Raise the error of a method that returned ``value`` where ``meaning`` was expected."""
    owner = type(kind)
    place = _place_of(getattr(owner, method, None)) or _place_of(owner)
    package = package_with(place["path"]) if place else ""
    whose = f" of {package}" if package else ""
    shown = value if isinstance(value, str) and value.startswith("an array") else repr(value)
    raise MachineError(
        f"{owner.__name__}.{method}(){whose} returned {shortened(shown)}, not {meaning}.",
        hint="Report it to the authors of that package." if whose else None,
        **place,
    )
