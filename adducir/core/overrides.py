"""Changes to a recipe from the command line: ``a.b.0.c=value``.

The parts of a key path are separated by dots. A number picks an item of a
list, counted from 0. A key that itself holds a dot is taken as it is if the
recipe has it; a key with ``=`` in it, or a new one with a dot, is put in double
quotes: ``systems."BM25 k1=1.2".depth=10``. The value is read as YAML, as in the
file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adducir.core.errors import InputError
from adducir.core.numbers import whole_number
from adducir.core.yaml import KeyPath, parse_value

_ASSIGNMENT = re.compile(r'((?:"[^"]*"|[^"=])+)=(.*)', re.DOTALL)
_PART = re.compile(r'"([^"]*)"|([^".]+)')


class OverrideError(ValueError):
    """An override that cannot be applied; its text says why."""


@dataclass(frozen=True)
class Override:
    """One change.

    Attributes:
        text: What the user wrote.
        path: The keys and indexes that it sets.
    """

    text: str
    path: KeyPath


def apply(data: dict[str, Any], text: str) -> tuple[dict[str, Any], Override]:
    """A copy of ``data`` in which one override is carried out.

    Only what lies on the way is copied, so a value that an alias shares
    elsewhere in the recipe stays there what it was.

    Raises:
        OverrideError: The text is no ``key=value``, the value no YAML, or the
            path leads through a single value or past the end of a list.
    """
    match = _ASSIGNMENT.fullmatch(text)
    parts = None if match is None else _parts(match[1])
    if match is None or parts is None:
        raise OverrideError("an override is written key=value, with dots between keys")
    try:
        value = parse_value(match[2])
    except InputError as error:
        raise OverrideError(f"{error.what.rstrip('.')}; put the value in quotes") from error
    changed, path = _changed(data, parts, value, ())
    return changed, Override(text, path)


def _parts(text: str) -> list[str] | None:
    """The key path's parts; None if it is not well formed."""
    matches = list(_PART.finditer(text))
    if ".".join(match[0] for match in matches) != text:
        return None
    return [match[1] if match[1] is not None else match[2] for match in matches]


def _changed(here: Any, parts: Sequence[str], value: Any, done: KeyPath) -> tuple[Any, KeyPath]:
    """``here`` with ``value`` at ``parts``, and the whole path that was set."""
    if not parts:
        return value, done
    if isinstance(here, list):
        index = _index(here, parts[0], done)
        inner, path = _changed(here[index], parts[1:], value, (*done, index))
        return [*here[:index], inner, *here[index + 1 :]], path
    if here is None:
        here = {}
    if not isinstance(here, dict):
        raise OverrideError(f"`{dotted(done)}` is {here!r}, which has no keys")
    count = _length_of_key(here, parts)
    key = ".".join(parts[:count])
    inner, path = _changed(here.get(key), parts[count:], value, (*done, key))
    return {**here, key: inner}, path


def _index(items: list[Any], part: str, done: KeyPath) -> int:
    index = whole_number(part)
    if index is not None and index < len(items):
        return index
    last = f"up to {len(items) - 1}" if items else "but it is empty"
    raise OverrideError(f"`{dotted(done)}` is a list: its items are numbered from 0 {last}")


def _length_of_key(here: dict[str, Any], parts: Sequence[str]) -> int:
    """How many parts make the next key: the most that name one that is there."""
    for count in range(len(parts), 1, -1):
        if ".".join(parts[:count]) in here:
            return count
    return 1


def dotted(path: KeyPath) -> str:
    """A key path as a user writes it."""
    return ".".join(_quoted(str(part)) for part in path)


def _quoted(part: str) -> str:
    return f'"{part}"' if "." in part or "=" in part or not part else part
