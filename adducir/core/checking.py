"""The types of arguments, checked where a public function is called.

Python lets a text pass where texts are wanted, and then reads its letters. :func:`checked` compares
arguments with a function's annotations and says what was wanted. Annotations are read at the first
call, values are neither copied nor converted, one-shot iterators are not read, and of a sequence
the types of its items are looked at, all in one pass in C.
"""

import collections.abc
import functools
import inspect
import numbers
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from adducir.core.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
_TEXTS = (str, bytes, bytearray)
_OF_ITEMS = (list, tuple, set, frozenset, dict)
"""What has to be looked into each time."""
_NUMBERS: dict[Any, type] = {int: numbers.Integral, float: numbers.Real, complex: numbers.Complex}


def checked(thing: F) -> F:
    """Check the types of a function's arguments, or of those that make an object of a class.

    Args:
        thing: A function, a method, or a class (whose ``__init__`` is checked, in place).

    Raises:
        UsageError: When it is called: an argument is of another type than its annotation says.
    """
    if isinstance(thing, type):
        own = vars(thing)["__init__"]
        checked_init = functools.wraps(own)(_checking(own, thing.__qualname__))
        type.__setattr__(thing, "__init__", checked_init)
        return thing
    return typing.cast("F", functools.wraps(thing)(_checking(thing, thing.__qualname__)))


def _checking(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    parameters = tuple(inspect.signature(function).parameters.values())
    by_place = [one.name for one in parameters if one.kind <= one.POSITIONAL_OR_KEYWORD]
    hints: dict[str, Any] = {}
    fine: set[tuple[str, type]] = set()

    def call(*values: Any, **named: Any) -> Any:
        if not hints:
            hints.update(_hints(function, parameters))
        for key, value in (*zip(by_place, values, strict=False), *named.items()):
            if (key, type(value)) in fine:
                continue
            if key in hints and not fits(value, hints[key]):
                raise wrong_type(name, key, hints[key], value)
            if type(value) not in _OF_ITEMS:
                fine.add((key, type(value)))
        return function(*values, **named)

    return call


def _hints(function: Any, parameters: Iterable[inspect.Parameter]) -> dict[str, Any]:
    """The annotations of single parameters, but for types that only type checkers import."""
    found: dict[str, Any] = {"": None}  # never empty: read once
    for one in parameters:
        if one.annotation is one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        holder = types.SimpleNamespace(__annotations__={one.name: one.annotation})
        with suppress(NameError):
            names = getattr(function, "__globals__", {})
            found[one.name] = typing.get_type_hints(holder, names)[one.name]
    return found


def fits(value: Any, hint: Any) -> bool:
    """Whether a value may stand where ``hint`` is the annotation."""
    if hint is None or hint is type(None):
        return value is None
    if hint is Any or isinstance(hint, TypeVar):
        return True
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return fits(value, arguments[0])
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is Literal:  # which of them it is, the function itself says better
        return isinstance(value, tuple({type(one) for one in arguments}))
    if origin in (type, collections.abc.Callable):
        return callable(value)
    if isinstance(origin, type):
        return _fits_container(value, origin, arguments)
    return _is_a(value, hint)


def _is_a(value: Any, kind: Any) -> bool:
    if not isinstance(kind, type):
        return True
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and not isinstance(value, bool)
    if kind is bool:
        return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
    if getattr(kind, "_is_protocol", False):
        return _offers(value, kind)
    if _is_sequence(kind):
        return _fits_container(value, kind, ())
    return isinstance(value, kind)


def _offers(value: Any, protocol: Any) -> bool:
    """Whether a value has some method or attribute of a protocol; no property is computed."""
    names = {*dir(protocol), *getattr(protocol, "__annotations__", {})}
    own = {*dir(type(value)), *getattr(value, "__dict__", {})}
    is_plain = value is None or isinstance(value, (*_TEXTS, numbers.Number))
    shared = {name for name in names & own if not name.startswith("_") or name == "__iter__"}
    return not is_plain and bool(shared or hasattr(type(value), "__getattr__"))


def _fits_container(value: Any, origin: type, arguments: tuple[Any, ...]) -> bool:
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and (not arguments or _all(value, arguments[0]))
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        return isinstance(value, tuple)
    if not _is_sequence(origin):
        return isinstance(value, origin)
    if isinstance(value, (*_TEXTS, Mapping, PurePath)) or not hasattr(value, "__iter__"):
        return False
    if issubclass(origin, collections.abc.Sequence) and not hasattr(value, "__len__"):
        return False
    is_kept = isinstance(value, list | tuple | set | frozenset)
    return not (is_kept and arguments) or _all(value, arguments[0])


def _is_sequence(kind: type) -> bool:
    return issubclass(kind, collections.abc.Iterable) and (
        kind.__module__ in ("collections.abc", "typing") or kind in (list, tuple, set, frozenset)
    )


def _all(values: Iterable[Any], hint: Any) -> bool:
    """Whether every item may stand there, by one item of each type."""
    examples = dict(zip(map(type, values), values, strict=True))
    return all(fits(one, hint) for one in examples.values())


def wrong_type(function: str, parameter: str, hint: Any, value: Any) -> UsageError:
    """The error for an argument that does not fit its annotation."""
    shown = repr(value) if isinstance(value, (str, int, float, type(None))) else ""
    shown = f" ({shown[:60]}{'…' if len(shown) > 60 else ''})" if shown else ""
    is_text = isinstance(value, str) and _takes_texts(hint)
    return UsageError(
        f"{function.removesuffix('.__init__')}: {parameter} must be {described(hint)}, not "
        f"{described(type(value))}{_items(value)}{shown}.",
        hint="Put a single one into a list: [...]." if is_text else None,
    )


def _takes_texts(hint: Any) -> bool:
    return any(fits(some, hint) for some in ([""], ("",))) and not fits({"": 1.0}, hint)


def _items(value: Any) -> str:
    """The types of a sequence's items."""
    if not isinstance(value, list | tuple | set | frozenset) or not value:
        return ""
    return f" of {' and '.join(sorted({described(type(one)) for one in value}))}"


def described(hint: Any) -> str:
    """An annotation as people read it: ``str or Path``, ``a sequence of str``."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is None or hint is type(None):
        return "None"
    if origin is Annotated:
        return described(arguments[0])
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(described(one) for one in arguments))
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a mapping of {described(arguments[0])} to {described(arguments[1])}"
    if isinstance(origin, type) and _is_sequence(origin) and arguments:
        return f"a sequence of {described(arguments[0])}"
    return str(getattr(hint, "__name__", hint))
