"""Recipes, the users' specifications, and their errors in words."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from inspect import Parameter, Signature
from operator import is_
from pathlib import Path, PurePath
from types import NoneType, SimpleNamespace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from adducir.core.errors import Keyed as Keyed
from adducir.core.errors import UsageError, said, speaks_python
from adducir.core.texts import closest, is_list, nearest, sentence, shortened

KeyPath = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)
Several = str | tuple[str, ...]
RARE: Any = {"rare": True}  # in the shell, set by --set

_TOLD = "told"  # the type of an error whose path and message are final
_LINES = "'key: value' lines"
_WORDS = {
    "string": "text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    **dict.fromkeys(("list", "tuple", "set", "frozen_set"), "a list"),
    **dict.fromkeys(("dict", "mapping", "model", "model_attributes"), _LINES),
    "path": "a path",
}
_IN_PYTHON = {
    "string": "a string",
    "bool": "True or False",
    **dict.fromkeys(("dict", "mapping", "model", "model_attributes"), "a dict"),
}
_BOUNDS = {
    "greater_than": "greater than",
    "greater_than_equal": "at least",
    "less_than": "less than",
    "less_than_equal": "at most",
}
_NUMBERS = {int, float, bool, NoneType}
_OCTAL_OR_HEXADECIMAL = re.compile(r"\s*[-+]?0(?:x[0-9a-fA-F]+|o[0-7]+)\s*", re.ASCII)
_DECIMAL = re.compile(r"\s*[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\s*", re.ASCII)


def as_tuple(value: Several) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


class ErrorDetail(NamedTuple):
    path: KeyPath
    what: str  # or Keyed

    def __str__(self) -> str:
        return f"at `{dotted(self.path)}`: {self.what}" if self.path else self.what


def errors_at(*errors: tuple[KeyPath, str]) -> ValidationError:
    """For a model's own validators to raise: errors at paths below what they validate."""
    details = [
        InitErrorDetails(
            type=PydanticCustomError(_TOLD, "{what}", {"what": message}), loc=path, input=None
        )
        for path, message in errors
    ]
    return ValidationError.from_exception_data("recipe", details)


@dataclass(frozen=True)
class Needs:
    """When a recipe's field has an effect; a given field without effect is refused."""

    condition: str  # follows "has no effect", with {} for each key
    holds: Callable[[Any], bool]  # whether it has an effect, given the recipe
    keys: tuple[str | tuple[str, str], ...] = ()


def no_effect(condition: str, *keys: str | tuple[str, str]) -> Keyed:
    return Keyed(f"has no effect {condition}", *keys, follows_key=True)


def needs(*keys: str, **values: Any) -> Needs:
    allowed = {key: some if isinstance(some, tuple) else (some,) for key, some in values.items()}
    stated = [(key, value) for key, some in allowed.items() for value in some if value]
    named: tuple[str | tuple[str, str], ...] = (*keys, *stated)

    def holds(recipe: Any) -> bool:
        is_given = any(getattr(recipe, key) not in (None, False, (), []) for key in keys)
        return is_given or any(getattr(recipe, key) in some for key, some in allowed.items())

    return Needs(f"without {' or '.join('{}' for _ in named)}", holds, named)


def without(key: str) -> Needs:
    return Needs("with {}", lambda recipe: not getattr(recipe, key), (key,))


class Recipe(BaseModel):
    """The base of every recipe: refuses unknown keys; immutable.

    A subclass's own validators raise ValueError for what they validate, or :func:`errors_at` for
    errors at paths below it.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,  # most loaded kinds are not used
    )
    conditions: ClassVar[Mapping[str, Needs]] = {}
    """When fields of a base class have an effect, by key, besides what the base says of others."""

    @model_validator(mode="wrap")
    @classmethod
    def _with_errors_told(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        wrong: list[tuple[KeyPath, str]] = []
        for name, field in cls.model_fields.items() if isinstance(value, Mapping) else ():
            key = field.alias or name
            stated = value.get(key)
            if isinstance(stated, bool | list | dict):
                wrong += _slips(stated, set(_leaves(field.annotation)), (name,))
            if isinstance(stated, str | PurePath | list | tuple):
                value = {**value, key: _as_in_files(stated, {*_leaves(field.annotation)})}
        try:
            recipe = handler(value)
        except ValidationError as error:
            wrong += errors_of(error, value, cls)
        for key in sorted(recipe.model_fields_set & cls.model_fields.keys()) if not wrong else ():
            field = cls.model_fields[key]
            by_base = (vars(base).get("conditions", {}).get(key) for base in cls.__mro__)
            for mark in [*field.metadata, next(filter(None, by_base), None)]:
                is_given = isinstance(mark, Needs) and getattr(recipe, key) is not None
                if is_given and not mark.holds(recipe):
                    wrong.append(((field.alias or key,), no_effect(mark.condition, *mark.keys)))
        if wrong:
            raise errors_at(*wrong)
        return recipe


class _PlainSignature:
    """A kind's signature, with types alone: without the marks by which they are validated."""

    def __get__(self, _: Any, kind: type[Recipe]) -> Signature:
        marked = {name: field.annotation for name, field in kind.model_fields.items()}
        types, parameters = get_type_hints(SimpleNamespace(__annotations__=marked)), []
        for name, field in kind.model_fields.items():
            default = Parameter.empty if field.is_required() else field.default
            parameters.append(
                Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=types[name])
            )
        return Signature(parameters)


class Kind(Recipe):
    """A kind that Python code constructs directly; its fields are its hyperparameters."""

    model_config = ConfigDict(defer_build=False)  # so that its signature names the fields

    if not TYPE_CHECKING:  # type checkers infer the arguments from the fields

        @classmethod
        def __pydantic_init_subclass__(cls, **_: Any) -> None:
            cls.__signature__ = _PlainSignature()

        def __new__(cls, *positional: Any, **values: Any) -> Self:
            if positional:
                names = ", ".join(f"{name}=..." for name in cls.model_fields)
                raise UsageError(f"{cls.__name__} takes its arguments by name: {names}.")
            return super().__new__(cls)

        def __init__(self, **values: Any) -> None:
            with refusing(f"{type(self).__name__}: "):
                super().__init__(**values)

        __init__.__pydantic_base_init__ = True  # validation does not call it


def validated(model: type[M], data: Any) -> tuple[M | None, list[ErrorDetail]]:
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return None, errors_of(error, data)


@contextmanager
def refusing(subject: str = "") -> Iterator[None]:
    """Turn errors of validation into a UsageError in the words of the current door."""
    try:
        yield
    except ValidationError as error:
        raise UsageError(sentence(f"{subject}{told(error)}")) from error


def told(error: ValidationError) -> str:
    """The errors in the words of the current door."""
    return "; ".join(map(in_words, errors_of(error)))


def in_words(problem: ErrorDetail) -> str:
    if not problem.path:
        return said(problem.what)
    key, *below = problem.path
    place = said(Keyed("{}", str(key)))
    follows = isinstance(problem.what, Keyed) and problem.what.follows_key
    if place.startswith("`") and (below or not follows):
        return f"at `{dotted(problem.path)}`: {said(problem.what)}"
    place += f" {below[0]}" if below and place == "--set" else ""
    return f"{place}{'' if follows else ':'} {said(problem.what)}"


def errors_of(
    error: ValidationError, data: Any = None, model: type[BaseModel] | None = None
) -> list[ErrorDetail]:
    """One error per wrong path: pydantic's, without the names of a union's branches."""
    details, merged = list[tuple[KeyPath, _Wrong, Any]](), dict[KeyPath, list[_Wrong]]()
    for detail in error.errors(include_url=False):
        value, place, is_told = data, list[str | int](), detail["type"] in (_TOLD, "missing")
        for number, part in enumerate(detail["loc"], start=1):
            if part == "[key]":
                break
            try:
                value = None if data is None else value[part]
            except Exception:  # noqa: BLE001  (of a user's object)
                if not is_told or number < len(detail["loc"]) or "[" in str(part):
                    continue
            place.append(part)
        details.append((tuple(place), _described(detail, model), detail))
    for path, wrong, detail in details:
        is_branch = len(path) < len(detail["loc"])
        led_on = any(len(p) > len(path) and p[: len(path)] == path for p, *_ in details)
        if not (is_branch and led_on) and wrong not in merged.setdefault(path, []):
            merged[path].append(wrong)
    errors = list[ErrorDetail]()
    for path, wrongs in merged.items():
        if len(wrongs) > 1 and all(wrong.expected for wrong in wrongs):  # text or a list
            either = " or ".join(wrong.expected for wrong in wrongs)
            errors.append(ErrorDetail(path, f"should be {either}, not {wrongs[-1].shown}"))
        else:
            errors += [ErrorDetail(path, wrong.message) for wrong in wrongs]
    return errors


class _Wrong(NamedTuple):
    message: str
    expected: str = ""
    shown: str = ""


def _described(detail: Mapping[str, Any], model: type[BaseModel] | None) -> _Wrong:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    fields = {f.alias or name: f for name, f in model.model_fields.items()} if model else {}
    shown, hint, expected = _shown(value), "", ""
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return _Wrong(unknown_key(str(detail["loc"][-1]), [*fields]))
    if kind == "missing":
        return _Wrong("this key is required")
    if kind == "value_error":
        (message,) = context["error"].args or ("is wrong",)
        return _Wrong(message if isinstance(message, Keyed) else str(context["error"]))
    if kind == _TOLD:
        return _Wrong(context["what"])
    stem = re.sub("(_type|_parsing|_from_float)$", "", kind)
    if kind in ("literal_error", "enum") and detail["loc"] and detail["loc"][0] in fields:
        choices = [*_choices(fields[str(detail["loc"][0])].annotation)]
        return _Wrong(one_of(choices, value), _listed(choices), shown)
    if stem in _WORDS and stem != kind:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        hint = "; put it in quotes if it is text" if stem == "string" and is_number else ""
        expected = (speaks_python() and _IN_PYTHON.get(stem)) or _WORDS[stem]
    elif kind in _BOUNDS:
        (bound,) = context.values()
        expected = f"{_BOUNDS[kind]} {bound:g}" if isinstance(bound, float) else ""
        expected = expected or f"{_BOUNDS[kind]} {bound}"
    elif message := str(detail["msg"]).removeprefix("Input should be "):
        if message == detail["msg"]:
            return _Wrong(message)
        expected = message
    return _Wrong(f"should be {expected}, not {shown}{hint}", expected, shown)


def _choices(hint: Any) -> Iterator[str]:
    """The texts of a hint's literals and enumerations."""
    if isinstance(hint, type) and issubclass(hint, Enum):
        yield from (str(member.value) for member in hint)
    for inner in get_args(hint):
        if get_origin(hint) is Literal:
            yield str(inner)
        else:
            yield from _choices(inner)


def _listed(choices: Sequence[str]) -> str:
    return f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]


def unknown_key(key: str, fields: Sequence[str]) -> Keyed:
    noun = "argument" if speaks_python() else "key"
    match = closest(key, fields)
    if match:
        return Keyed(f"unknown {noun}; did you mean {{}}?", match)
    if not fields:
        return Keyed(f"unknown {noun}")
    keys = ", ".join("{}" for _ in fields)
    return Keyed(f"unknown {noun}; the {noun}s are {keys}", *sorted(fields))


def one_of(choices: Sequence[str], value: Any) -> str:
    guess = nearest(value, choices) if isinstance(value, str) else ""
    return f"should be {_listed(choices)}, not {_shown(value)}{guess}"


def _shown(value: Any) -> str:
    if speaks_python():
        return shortened(repr(value))
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return _LINES
    if isinstance(value, list | tuple):
        return "a list"
    return shortened(repr(value))


def without_blanks(value: Any) -> tuple[Any, ...]:
    if hasattr(value, "columns") or not is_list(value):
        raise ValueError(f"must be a list, not {_shown(value)}")
    names = sorted(value) if isinstance(value, set | frozenset) else value  # in any process
    return tuple(name.strip() if isinstance(name, str) else name for name in names)


Names = Annotated[Sequence[str], BeforeValidator(without_blanks)]
"""A list of names, such as fields; kept as a tuple."""


def _leaves(hint: Any) -> Iterator[Any]:
    arguments = get_args(hint)
    for inner in arguments[:1] if get_origin(hint) is Annotated else arguments:
        yield from _leaves(inner)
    if not arguments and hint is not Ellipsis:
        yield hint


def _as_in_files(value: Any, types: Collection[Any]) -> Any:
    """Text, as the shell has it, as the number that it is in a file, and a path as text."""
    if isinstance(value, list | tuple):
        items = [_as_in_files(item, types) for item in value]
        return value if all(map(is_, items, value)) else items
    if isinstance(value, PurePath):
        return str(value) if str in types and Path not in types else value
    number = number_in(value) if isinstance(value, str) and _NUMBERS.issuperset(types) else None
    return value if number is None else number


def number_in(text: str) -> float | None:
    """The number that a text would be in a file, such as 12, 0x10 or 1e3; None for other texts."""
    if _OCTAL_OR_HEXADECIMAL.fullmatch(text):
        return int(text, 0)
    if not _DECIMAL.fullmatch(text):
        return None
    return float(text) if {*".eE"}.intersection(text) else int(text)


def _slips(value: Any, types: Collection[Any], path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Each ``true`` or ``false`` that pydantic would read as 1 or 0, with its path."""
    if not {int, float} & set(types) or {bool, Any, object} & set(types):
        return
    if isinstance(value, bool):
        yield path, f"should be a number, not {_shown(value)}"
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _slips(item, types, (*path, number))
    elif isinstance(value, dict) and not any(
        isinstance(kind, type) and issubclass(kind, BaseModel) for kind in types
    ):
        for key, item in value.items():
            yield from _slips(item, types, (*path, key))


def dotted(path: KeyPath) -> str:
    parts = map(str, path)
    return ".".join(
        f'"{part}"' if "." in part or "=" in part or not part else part for part in parts
    )
