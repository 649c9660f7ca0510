"""What pydantic found wrong with a recipe, one plain line per error."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from adducir.core.overrides import dotted
from adducir.core.places import Place, locate, slips
from adducir.core.texts import nearest
from adducir.core.yaml import KeyPath

_WORDS = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "dict": "'key: value' lines",
    "mapping": "'key: value' lines",
    "model": "'key: value' lines",
    "model_attributes": "'key: value' lines",
    "path": "a path",
}
_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


M = TypeVar("M", bound=BaseModel)

_SUBJECT = re.compile(r"^\w+ should")


class ErrorsAt(ValueError):  # noqa: N818 - many errors, each at its place
    """For a model's own validators: errors at places below the model.

    Args:
        errors: For each, the key path below the model that is being
            validated, and what is wrong there.
    """

    def __init__(self, *errors: tuple[KeyPath, str]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"at `{dotted(path)}`: {what}" for path, what in errors))


@dataclass(frozen=True)
class ErrorDetail:
    """One error of a recipe.

    Attributes:
        path: Where it is in the data; empty for the whole.
        what: What is wrong there, without the place.
        is_mismatch: Whether a value of another kind is needed.
        branches: The unions that pydantic entered on the way.
    """

    path: KeyPath
    what: str
    is_mismatch: bool = False
    branches: tuple[tuple[KeyPath, str], ...] = ()

    def __str__(self) -> str:
        return f"at `{dotted(self.path)}`: {self.what}" if self.path else self.what


def validated(model: type[M], data: Any) -> tuple[M | None, list[ErrorDetail]]:
    """Plain values as a model, and what is wrong with them; None where anything is."""
    found, errors = None, list[ErrorDetail]()
    try:
        found = model.model_validate(data)
    except ValidationError as error:
        errors = errors_of(error, model)
    errors += [
        ErrorDetail(path, f"should be a number, not {str(value).lower()}")
        for path, value in slips(data, [model])
    ]
    return (None if errors else found), errors


def errors_of(error: ValidationError, model: type[BaseModel]) -> list[ErrorDetail]:
    """One error for each thing that is wrong, however many errors pydantic makes of it."""
    found: list[ErrorDetail] = []
    for detail in error.errors(include_url=False):
        found += _errors(detail, model)
    return _joined(_best_branches(found, 0))


def value_error(error: ValidationError) -> str:
    """What is wrong with a single value outside a recipe, such as that of an option."""
    details = _errors(error.errors(include_url=False)[0], _Alone)
    return " ".join(one.what for one in details)


class _Alone(BaseModel):
    """The model of what stands in none."""


def _errors(detail: Mapping[str, Any], model: type[BaseModel]) -> list[ErrorDetail]:
    place = locate(model, detail["loc"])
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, ErrorsAt):
        return [
            ErrorDetail((*place.path, *path), what, False, place.branches)
            for path, what in cause.errors
        ]
    kind = detail["type"]
    stem = kind.rsplit("_", 1)[0] if kind.endswith(("_type", "_parsing")) else ""
    mismatch = stem in _WORDS or kind == "literal_error"
    return [ErrorDetail(place.path, _described(detail, place, stem), mismatch, place.branches)]


def _described(detail: Mapping[str, Any], place: Place, stem: str) -> str:
    """What is wrong, in the words of recipes."""
    kind, given, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(str(place.path[-1]), place)
    if kind == "missing":
        return "this key is needed and missing"
    if kind in ("value_error", "assertion_error"):
        return str(context.get("error", detail["msg"]))
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        key = str(context["discriminator"]).strip("'")
        if kind == "union_tag_not_found":
            return f"the key `{key}` is needed and missing"
        tags = [tag.strip(" '") for tag in context["expected_tags"].split(",")]
        return f"`{key}` {one_of(tags, context['tag'])}"
    if kind in ("literal_error", "enum") and place.choices:
        return one_of(place.choices, given)
    if stem in _WORDS:
        quotes = stem == "string" and isinstance(given, int | float)
        hint = "; put it in quotes if it is text" if quotes else ""
        return f"should be {_WORDS[stem]}, not {_shown(given)}{hint}"
    if kind == "int_from_float":
        return f"should be a whole number, not {_shown(given)}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        shown = given if isinstance(given, str) else _shown(given)  # a number as it was typed
        return f"should be {words} {context[name]}, not {shown}"
    if kind == "finite_number":
        return f"should be a finite number, not {_shown(given)}"
    message = str(detail["msg"]).replace(" after validation", "")
    return _SUBJECT.sub("should", message, count=1)


def _unknown(key: str, place: Place) -> str:
    below = [name for name in place.keys_below if name.endswith(f".{key}")]
    guess = f"; did you mean `{below[0]}`?" if below else nearest(key, place.keys)
    known = ", ".join(f"`{name}`" for name in place.keys)
    return "there is no such key here" + (guess or (f"; the keys are {known}" if known else ""))


def one_of(choices: Sequence[str], given: Any) -> str:
    """What is wrong with a value that is none of the choices, with the nearest."""
    listed = (
        f"should be one of {', '.join(choices)}" if len(choices) > 1 else f"should be {choices[0]}"
    )
    guess = nearest(given, choices) if isinstance(given, str) else ""
    return f"{listed}, not {_shown(given)}{guess}"


def _shown(value: Any) -> str:
    """A value as a recipe's author knows it, shortened."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "'key: value' lines"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _best_branches(errors: list[ErrorDetail], depth: int) -> list[ErrorDetail]:
    """Of each union, the errors of the branch that the value was most likely meant for.

    That is the one that fits the value's kind, and among those the one with
    the fewest errors. Where no branch fits its kind, all are kept.
    """
    rest = [problem for problem in errors if len(problem.branches) <= depth]
    unions: dict[KeyPath, dict[str, list[ErrorDetail]]] = defaultdict(lambda: defaultdict(list))
    for problem in errors:
        if len(problem.branches) > depth:
            path, branch = problem.branches[depth]
            unions[path][branch].append(problem)
    for path, branches in unions.items():
        inner = [_best_branches(group, depth + 1) for group in branches.values()]
        fitting = [
            group
            for group in inner
            if not any(problem.is_mismatch and problem.path == path for problem in group)
        ]
        if fitting:
            fitting.sort(key=len)
            rest += fitting[0]
        else:
            rest += [problem for group in inner for problem in group]
    return rest


def _joined(errors: list[ErrorDetail]) -> list[ErrorDetail]:
    """One error for each place: ``should be text or a list, not 5``."""
    places: dict[KeyPath, list[str]] = {}
    for problem in errors:
        messages = places.setdefault(problem.path, [])
        if problem.what not in messages:
            messages.append(problem.what)
    return [ErrorDetail(path, _either(messages)) for path, messages in places.items()]


def _either(messages: Sequence[str]) -> str:
    if len(messages) > 1 and all(what.startswith("should be ") for what in messages):
        given = messages[-1].rpartition(", not ")[2]
        kinds = [what.removeprefix("should be ").partition(", not ")[0] for what in messages]
        return f"should be {' or '.join(dict.fromkeys(kinds))}, not {given}"
    return "; ".join(messages)
