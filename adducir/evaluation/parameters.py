"""Check the parameters of a measure, with errors a person can act on.

ir_measures checks them too, but late (at evaluation) and by assertions.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from ir_measures import Measure
from ir_measures.measures import registry

from adducir.core.errors import UsageError
from adducir.evaluation.formulas import MEASURES


def check_measure(measure: Measure) -> Measure:
    """Check a measure's parameters, and turn whole numbers to floats where wanted.

    Returns:
        The measure, equal to the one given but for ``IPrec@1`` -> ``IPrec@1.0``.

    Raises:
        UsageError: A parameter is unknown, missing, of a wrong type or out of
            range.
    """
    if not isinstance(measure, Measure):
        raise UsageError(f"{measure!r} is not a measure.")
    parameters: dict[str, Any] = {}
    for key, value in measure.params.items():
        if key not in measure.SUPPORTED_PARAMS:
            near = nearest(key, measure.SUPPORTED_PARAMS)
            takes = ", ".join(measure.SUPPORTED_PARAMS) or "no parameters"
            raise UsageError(
                f"The measure {measure.NAME} has no parameter {key!r}.",
                hint=f"Did you mean {near}?" if near else f"It takes {takes}.",
            )
        parameters[key] = _checked(measure, key, value)
    for key, info in measure.SUPPORTED_PARAMS.items():
        if info.required and key not in parameters:
            example = "0.5" if key == "recall" else "10"
            short = f"{measure.NAME}@{example}" if key == measure.AT_PARAM else f"{key}=..."
            raise UsageError(f"The measure {measure.NAME} needs a {key}: write {short}.")
    if measure.NAME in MEASURES and measure.NAME not in registry:
        MEASURES.make(str(measure.NAME), parameters)  # a package's, which says what it allows
    return measure(**parameters) if parameters else measure


def _checked(measure: Measure, key: str, value: Any) -> Any:
    info = measure.SUPPORTED_PARAMS[key]
    if info.dtype is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    wrong_type = info.dtype is not None and (
        not isinstance(value, info.dtype) or (isinstance(value, bool) and info.dtype is not bool)
    )
    wanted = _wanted(key, info.dtype)
    if wrong_type or not _in_range(key, value):
        raise UsageError(f"The measure {measure.NAME} has {key}={value!r}; {key} must be {wanted}.")
    if isinstance(info.choices, (list, tuple)) and value not in info.choices:
        choices = ", ".join(map(repr, info.choices))
        raise UsageError(
            f"The measure {measure.NAME} has {key}={value!r}; {key} must be one of {choices}."
        )
    return value


def _wanted(key: str, dtype: type | None) -> str:
    if key in {"cutoff", "rel"}:
        return "a whole number, 1 or more"
    if key in {"recall", "p"}:
        return "a number from 0 to 1"
    names = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}
    return (
        names.get(dtype, "a mapping of grades to gains, both whole numbers") if dtype else "other"
    )


def _in_range(key: str, value: Any) -> bool:
    if key in {"cutoff", "rel"}:
        return bool(value >= 1)
    if key in {"recall", "p"}:
        return bool(0 <= value <= 1)
    if isinstance(value, Mapping):
        return all(type(part) is int for pair in value.items() for part in pair)
    return True


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Name the candidate most like ``name``, whatever the case, or None."""
    by_lower: dict[str, str] = {}
    for candidate in candidates:
        by_lower.setdefault(candidate.lower(), candidate)
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.4)
    return by_lower[close[0]] if close else None
