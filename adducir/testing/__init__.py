"""What every kind of every family must pass, ours and other packages' alike.

>>> from adducir.testing import check_kind
>>> check_kind("fusion", "rrf")

Nothing here needs pytest: what a kind lacks is an ``AssertionError`` that says so.
"""

import inspect
import sys
from collections.abc import Mapping
from typing import Any, get_args

from pydantic.fields import FieldInfo

from adducir.core.errors import UsageError
from adducir.core.recipe import Recipe
from adducir.core.registry import Family
from adducir.families import family as family_of
from adducir.families import meaning
from adducir.testing.samples import SAMPLES

__all__ = ["check_kind"]


def check_kind(
    family: str,
    name: str,
    *,
    settings: Mapping[str, Any] | None = None,
    sample: str | None = None,
) -> None:
    """Check one kind: documents, types, keys, values, round trip, and what it does on a sample.

    Args:
        family: The family's name, such as ``fusion``.
        name: The kind's name.
        settings: Values of its fields, where it cannot be made without; required numbers and
            texts are made up.
        sample: Of a corpus format: the text of a file with two documents or more.

    Raises:
        AssertionError: The kind lacks something.
        MachineError: It cannot be imported, or is none of that family.
        UsageError: There is no such family or kind.
    """
    known = family_of(family)
    kind = known.kind(name)
    given = {**_made_up(kind), **(settings or {})}
    _is_documented(kind, name)
    _is_typed(kind, name)
    made = known.make(name, given)
    _refuses_keys(known, name, kind, given)
    _refuses_values(known, name, kind, given)
    _comes_back(known, name, made)
    run = SAMPLES.get(family)
    if run is not None:
        run(lambda: known.make(name, given), name, sample)


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _made_up(kind: type[Recipe]) -> dict[str, Any]:
    """Values for the fields that have no default."""
    examples = {int: 10, float: 0.5, str: "x"}
    fields = {key: field for key, field in kind.model_fields.items() if field.is_required()}
    return {
        key: next((examples[one] for one in _types(field) if one in examples), None)
        for key, field in fields.items()
    }


def _types(field: FieldInfo) -> tuple[Any, ...]:
    return get_args(field.annotation) or (field.annotation,)


def _is_documented(kind: type[Recipe], name: str) -> None:
    own = vars(kind).get("__doc__") or ""
    _must(bool(own.strip()), f"{name}: its class has no docstring.")
    _must(own.strip().splitlines()[0].endswith("."), f"{name}: its docstring begins no sentence.")
    module = sys.modules[kind.__module__]
    _must(bool(module.__doc__), f"{name}: its module {kind.__module__} has no docstring.")
    for key in kind.model_fields:
        _must(bool(meaning(kind, key)), f"{name}: {key} has no description.")


def _is_typed(kind: type[Recipe], name: str) -> None:
    for key, field in kind.model_fields.items():
        _must(field.annotation not in (None, Any), f"{name}: {key} has no type.")
    left = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
    _must(not left, f"{name}: {left} must be defined.")
    for key, method in inspect.getmembers(kind, inspect.isfunction):
        for base in kind.__mro__[1:]:
            if key in vars(base) and inspect.isfunction(vars(base)[key]) and key[0] != "_":
                wanted = list(inspect.signature(vars(base)[key]).parameters)
                found = list(inspect.signature(method).parameters)
                _must(
                    found[: len(wanted)] == wanted or key.startswith("model_"),
                    f"{name}: {key} takes {found}, where its family's takes {wanted}.",
                )


def _refused(known: Family[Any], name: str, given: Mapping[str, Any]) -> str:
    try:
        known.make(name, given)
    except UsageError as error:
        return str(error)
    return ""


def _refuses_keys(
    known: Family[Any], name: str, kind: type[Recipe], given: Mapping[str, Any]
) -> None:
    for key in kind.model_fields:
        details = _refused(known, name, {**given, f"{key}_x": 1})
        _must(f"{key}_x" in details, f"{name}: the unknown key {key}_x is not refused.")
        _must(f"`{key}`" in details, f"{name}: the error on {key}_x does not name {key}: {details}")


def _refuses_values(
    known: Family[Any], name: str, kind: type[Recipe], given: Mapping[str, Any]
) -> None:
    for key, field in kind.model_fields.items():
        types = _types(field)
        if str not in types and (int in types or float in types or bool in types):
            details = _refused(known, name, {**given, key: "no such value"})
            _must(key in details, f"{name}: {key} takes 'no such value', or does not say why not.")


def _comes_back(known: Family[Any], name: str, made: Recipe) -> None:
    """A recipe that was written and read is the same one, also from a command line's texts."""
    written = made.model_dump(mode="json")
    _must(known.make(name, written) == made, f"{name}: its recipe comes back as another.")
    numbers = {
        key for key, field in type(made).model_fields.items() if {int, float} & {*_types(field)}
    }
    texts = {key: str(written[key]) for key in numbers if isinstance(written[key], int | float)}
    _must(known.make(name, {**written, **texts}) == made, f"{name}: its texts become another.")
