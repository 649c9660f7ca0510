"""Where a pydantic error points: in the recipe's own data, and in its model.

Pydantic's ``loc`` mixes keys of the data with names of its own: the branch of
a union (``str``, a class's name, a discriminator's value) and ``[key]`` for a
mapping's key. To name the place as its author wrote it, and to know which keys
would be right there, the model is walked along ``loc``.
"""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
        keys: The keys that may stand beside its own; none where any may.
        keys_below: Those one level further down, with dots.
        choices: The texts that may stand there, where only certain ones may.
        branches: For each union on the way, its path and the branch taken.
    """

    path: KeyPath
    keys: Sequence[str]
    keys_below: Sequence[str]
    choices: Sequence[str]
    branches: tuple[tuple[KeyPath, str], ...]


def locate(model: type[BaseModel], loc: KeyPath) -> Place:
    """Walk ``model`` along pydantic's ``loc``."""
    path: KeyPath = ()
    around: list[Any] = []
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
    keys = _keys(around)
    below = [f"{key}.{inner}" for key, kinds in keys.items() for inner in _keys(_leaves(kinds))]
    return Place(path, sorted(keys), sorted(below), _choices(_leaves(here)), tuple(branches))


def _keys(kinds: Iterable[Any]) -> dict[str, list[Any]]:
    """The keys of those kinds that are models, and the types that may stand there."""
    found: dict[str, list[Any]] = {}
    for model in filter(_is_model, kinds):
        for key, field in _fields(model).items():
            found.setdefault(key, []).append(field.annotation)
    return found


def _choices(kinds: Iterable[Any]) -> list[str]:
    found: list[str] = []
    for kind in kinds:
        if get_origin(kind) is Literal:
            found += [str(value) for value in get_args(kind)]
        elif isinstance(kind, type) and issubclass(kind, Enum):
            found += [str(member.value) for member in kind]
    return found


def slips(data: Any, kinds: Sequence[Any], path: KeyPath = ()) -> Iterator[tuple[KeyPath, bool]]:
    """Each ``true`` or ``false`` where a number is needed, with its path.

    Pydantic takes them for 1 and 0, which in a recipe is a slip of the pen.
    """
    items: Iterable[tuple[str | int, Any]]
    if isinstance(data, dict):
        items = data.items()
    elif isinstance(data, list):
        items = enumerate(data)
    else:
        if isinstance(data, bool) and kinds and set(kinds) <= {int, float}:
            yield path, data
        return
    for part, value in items:
        below = [inner for kind in kinds for inner in _below(kind, part)]
        yield from slips(value, _leaves(below), (*path, part))


def _alternatives(kind: Any) -> list[Any]:
    """The members of a union other than None; a single type for all else."""
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        members = [member for member in get_args(kind) if member is not type(None)]
        return _alternatives(members[0]) if len(members) == 1 else members
    return [kind]


def _leaves(kinds: list[Any]) -> list[Any]:
    """All types that are no unions among and inside ``kinds``."""
    found: list[Any] = []
    for kind in kinds:
        members = _alternatives(kind)
        found += members if members == [kind] else _leaves(members)
    return found


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
