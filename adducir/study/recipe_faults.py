"""What pydantic found wrong with a recipe, one plain line a fault."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from adducir.study.nearest import nearest
from adducir.study.overrides import dotted
from adducir.study.places import Place, leaves_of, locate
from adducir.study.yaml import KeyPath

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


_SUBJECT = re.compile(r"^\w+ should")


class FaultsAt(ValueError):  # noqa: N818 - many faults, each at its place
    """For a model's own validators: faults at places below the model.

    Args:
        faults: For each, the key path below the model that is being
            validated, and what is wrong there.
    """

    def __init__(self, *faults: tuple[KeyPath, str]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"at `{dotted(path)}`: {what}" for path, what in faults))


@dataclass(frozen=True)
class Fault:
    """One fault of a recipe.

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


def faults_of(error: ValidationError, model: type[BaseModel]) -> list[Fault]:
    """One fault for each thing that is wrong, however many errors pydantic makes of it."""
    found: list[Fault] = []
    for detail in error.errors(include_url=False):
        found += _faults(detail, model)
    return _joined(_best_branches(found, 0))


def slips_in(data: Any, model: type[BaseModel]) -> list[Fault]:
    """A fault for each ``true`` or ``false`` where a number is needed.

    Pydantic takes them for 1 and 0, which in a recipe is a slip of the pen.
    """
    return [
        Fault(path, f"should be a number, not {str(value).lower()}")
        for path, value, kinds in leaves_of(data, (model,))
        if isinstance(value, bool) and kinds and set(kinds) <= {int, float}
    ]


def _faults(detail: Mapping[str, Any], model: type[BaseModel]) -> list[Fault]:
    place = locate(model, detail["loc"])
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, FaultsAt):
        return [
            Fault((*place.path, *path), what, False, place.branches) for path, what in cause.faults
        ]
    kind = detail["type"]
    stem = kind.rsplit("_", 1)[0] if kind.endswith(("_type", "_parsing")) else ""
    mismatch = stem in _WORDS or kind == "literal_error"
    return [Fault(place.path, _told(detail, place, stem), mismatch, place.branches)]


def _told(detail: Mapping[str, Any], place: Place, stem: str) -> str:
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
    if kind in ("literal_error", "enum") and place.choices():
        return one_of(place.choices(), given)
    if stem in _WORDS:
        quotes = stem == "string" and isinstance(given, int | float)
        hint = "; put it in quotes if it is text" if quotes else ""
        return f"should be {_WORDS[stem]}, not {_shown(given)}{hint}"
    if kind == "int_from_float":
        return f"should be a whole number, not {_shown(given)}"
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"should be {words} {context[name]}, not {_shown(given)}"
    if kind == "finite_number":
        return f"should be a finite number, not {_shown(given)}"
    message = str(detail["msg"]).replace(" after validation", "")
    return _SUBJECT.sub("should", message, count=1)


def _unknown(key: str, place: Place) -> str:
    known = place.keys()
    below = [name for name in place.keys_below() if name.endswith(f".{key}")]
    guess = f"; did you mean `{below[0]}`?" if below else nearest(key, known)
    if guess or not known:
        return f"there is no such key here{guess}"
    return f"there is no such key here; the keys are {', '.join(f'`{name}`' for name in known)}"


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


def _best_branches(faults: list[Fault], depth: int) -> list[Fault]:
    """Of each union, the faults of the branch that the value was most likely meant for.

    That is the one that fits the value's kind, and among those the one with
    the fewest faults. Where no branch fits its kind, all are kept.
    """
    rest = [fault for fault in faults if len(fault.branches) <= depth]
    unions: dict[KeyPath, dict[str, list[Fault]]] = defaultdict(lambda: defaultdict(list))
    for fault in faults:
        if len(fault.branches) > depth:
            path, branch = fault.branches[depth]
            unions[path][branch].append(fault)
    for path, branches in unions.items():
        inner = [_best_branches(group, depth + 1) for group in branches.values()]
        fitting = [
            group
            for group in inner
            if not any(fault.is_mismatch and fault.path == path for fault in group)
        ]
        if fitting:
            fitting.sort(key=len)
            rest += fitting[0]
        else:
            rest += [fault for group in inner for fault in group]
    return rest


def _joined(faults: list[Fault]) -> list[Fault]:
    """One fault for each place: ``should be text or a list, not 5``."""
    places: dict[KeyPath, list[str]] = {}
    for fault in faults:
        told = places.setdefault(fault.path, [])
        if fault.what not in told:
            told.append(fault.what)
    return [Fault(path, _either(told)) for path, told in places.items()]


def _either(told: Sequence[str]) -> str:
    if len(told) > 1 and all(what.startswith("should be ") for what in told):
        given = told[-1].rpartition(", not ")[2]
        kinds = [what.removeprefix("should be ").partition(", not ")[0] for what in told]
        return f"should be {' or '.join(dict.fromkeys(kinds))}, not {given}"
    return "; ".join(told)
