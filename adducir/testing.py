"""What every kind of every family must pass, ours and other packages' alike.

>>> from adducir.testing import check_kind
>>> check_kind("fusion", "rrf")

Nothing here needs pytest: what a kind lacks is an ``AssertionError`` that says so.
"""

import sys
from collections.abc import Mapping
from typing import Any, get_args

from adducir.core.errors import UsageError
from adducir.core.registry import Family
from adducir.families import family as family_of
from adducir.families import meaning

__all__ = ["check_kind"]


def check_kind(family: str, name: str, *, settings: Mapping[str, Any] | None = None) -> None:
    """Check that a kind is documented, refuses wrong keys and values, and survives being written.

    Args:
        family: The family's name, such as ``fusion``.
        name: The kind's name.
        settings: Values of its fields, where it cannot be made without; required numbers and
            texts are made up.

    Raises:
        AssertionError: The kind lacks something.
        MachineError: It cannot be imported, or is not of that family.
        UsageError: There is no such family or kind.
    """
    known = family_of(family)
    kind = known.kind(name)
    fields = kind.model_fields
    types = {
        key: get_args(field.annotation) or (field.annotation,) for key, field in fields.items()
    }
    examples = {int: 10, float: 0.5, str: "x"}
    given = {
        key: next((examples[one] for one in types[key] if one in examples), None)
        for key, field in fields.items()
        if field.is_required()
    }
    given |= settings or {}

    own = str(vars(kind).get("__doc__") or "").strip()
    _must(own.partition("\n")[0].endswith("."), f"{name}: its docstring has no sentence.")
    _must(bool(sys.modules[kind.__module__].__doc__), f"{name}: its module has no docstring.")
    left = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
    _must(not left, f"{name}: {left} must be defined.")
    made = known.make(name, given)
    for key in fields:
        _must(bool(meaning(kind, key)), f"{name}: {key} has no description.")
        _must(types[key] not in ((None,), (Any,)), f"{name}: {key} has no type.")
        told = _refusal(known, name, {**given, f"{key}_x": 1})
        _must(f"{key}_x" in told and f"`{key}`" in told, f"{name}: the key {key}_x is not refused.")
        if str not in types[key] and {int, float, bool} & {*types[key]}:
            told = _refusal(known, name, {**given, key: "no such value"})
            _must(key in told, f"{name}: {key} takes 'no such value', or does not say why not.")
    written = made.model_dump(mode="json")
    _must(known.make(name, written) == made, f"{name}: its recipe comes back as another.")
    texts = {
        key: str(written[key])
        for key in fields
        if {int, float} & {*types[key]} and isinstance(written[key], int | float)
    }
    _must(known.make(name, {**written, **texts}) == made, f"{name}: its texts become another.")


def _must(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def _refusal(known: Family[Any], name: str, given: Mapping[str, Any]) -> str:
    try:
        known.make(name, given)
    except UsageError as error:
        return str(error)
    return ""
