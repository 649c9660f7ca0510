"""Where a pydantic error points: in the recipe's own data, and in its model.

Pydantic's ``loc`` mixes keys of the data with names of its own: the branch of
a union (``str``, a class's name, a discriminator's value) and ``[key]`` for a
mapping's key. To name the place as its author wrote it, and to know which keys
would be right there, the model is walked along ``loc``.
"""

import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from adducir.core.yaml import KeyPath


@dataclass(frozen=True)
class Place:
    """A place in a recipe.

    Attributes:
        path: The keys and indexes that lead there in the data.
        around: The types of what holds it, one step above.
        kinds: The types that may stand there.
        branches: For each union on the way, its path and the branch taken.
    """

    path: KeyPath
    around: tuple[Any, ...]
    kinds: tuple[Any, ...]
    branches: tuple[tuple[KeyPath, str], ...]

    def keys(self) -> list[str]:
        """The keys that may stand beside this place's own, none where any may."""
        models = [kind for kind in self.around if _is_model(kind)]
        return sorted({key for model in models for key in _fields(model)})

    def keys_below(self) -> list[str]:
        """The keys one level further down from where this place's own stands, with dots."""
        models = [kind for kind in self.around if _is_model(kind)]
        return sorted(
            f"{key}.{inner}"
            for model in models
            for key, field in _fields(model).items()
            for kind in _leaves([field.annotation])
            if _is_model(kind)
            for inner in _fields(kind)
        )

    def choices(self) -> list[str]:
        """The texts that may stand here, where only certain ones may."""
        found: list[str] = []
        for kind in self.kinds:
            if get_origin(kind) is Literal:
                found += [str(value) for value in get_args(kind)]
            elif isinstance(kind, type) and issubclass(kind, Enum):
                found += [str(member.value) for member in kind]
        return found


def locate(model: type[BaseModel], loc: KeyPath) -> Place:
    """Walk ``model`` along pydantic's ``loc``."""
    path: KeyPath = ()
    around: tuple[Any, ...] = ()
    here: list[Any] = [model]
    branches: list[tuple[KeyPath, str]] = []
    for part in loc:
        if part == "[key]":
            break
        if len(here) == 1 and len(_alternatives(here[0])) > 1:
            branches.append((path, str(part)))
            here = _branch(here[0], str(part))
            continue
        around = _leaves(here)
        here = [inner for kind in around for inner in _below(kind, part)]
        path = (*path, part)
    return Place(path, around, _leaves(here), tuple(branches))


def leaves_of(
    data: Any, kinds: tuple[Any, ...], path: KeyPath = ()
) -> Iterator[tuple[KeyPath, Any, tuple[Any, ...]]]:
    """Every single value in ``data``: its path, itself, the types that may stand there."""
    items: Iterable[tuple[str | int, Any]]
    if isinstance(data, dict):
        items = data.items()
    elif isinstance(data, list):
        items = enumerate(data)
    else:
        yield path, data, kinds
        return
    for part, value in items:
        below = [inner for kind in kinds for inner in _below(kind, part)]
        yield from leaves_of(value, _leaves(below), (*path, part))


def _alternatives(kind: Any) -> list[Any]:
    """The members of a union other than None; a single type for all else."""
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        members = [member for member in get_args(kind) if member is not type(None)]
        return _alternatives(members[0]) if len(members) == 1 else members
    return [kind]


def _leaves(kinds: list[Any]) -> tuple[Any, ...]:
    """All types that are no unions among and inside ``kinds``."""
    found: list[Any] = []
    for kind in kinds:
        members = _alternatives(kind)
        found += members if members == [kind] else _leaves(members)
    return tuple(found)


def _branch(kind: Any, tag: str) -> list[Any]:
    """The members of a union that pydantic's ``tag`` may mean."""
    members = _alternatives(kind)
    fitting = [member for member in members if _is_called(member, tag)]
    return fitting or members


def _is_called(member: Any, tag: str) -> bool:
    """Whether a member of a union goes by ``tag`` in an error's loc."""
    if get_origin(member) is Annotated and len(_alternatives(member)) > 1:
        return tag.startswith("tagged-union[")
    (kind,) = _leaves([member])[:1]
    if _is_model(kind):
        tags = {kind.__name__}
        for field in kind.model_fields.values():
            if get_origin(field.annotation) is Literal:
                tags |= {str(value) for value in get_args(field.annotation)}
        return tag in tags
    name = getattr(get_origin(kind) or kind, "__name__", "")
    return tag.split("[")[0] == name.lower()


def _below(kind: Any, part: str | int) -> list[Any]:
    """The types that may stand at key or index ``part`` of ``kind``."""
    if _is_model(kind):
        field = _fields(kind).get(str(part))
        return [] if field is None else [field.annotation]
    arguments = get_args(kind)
    origin = get_origin(kind)
    if not arguments or not isinstance(origin, type):
        return []
    if issubclass(origin, Mapping):
        return [arguments[1]]
    if origin is tuple and Ellipsis not in arguments:
        return [arguments[part]] if isinstance(part, int) and part < len(arguments) else []
    return [arguments[0]]


def _fields(model: Any) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
