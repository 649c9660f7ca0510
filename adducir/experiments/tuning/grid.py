"""The settings to try: every combination of the parameters' values, in a fixed order.

A parameter's values are sorted, whatever the order they were written in, and the parameter named
last varies fastest. So "the first of equal settings" is the one with the smallest value of the
parameter named first, among these of the second, and so on. Values are exact in decimals: 0.2, 0.4,
0.6 and not 0.6000000000000001.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from math import inf, prod
from typing import Any

import numpy as np
from pydantic import BaseModel

from adducir.core.errors import UsageError
from adducir.core.texts import nearest, shortened

Number = int | float
Setting = dict[str, Number]
"""A value for each parameter, in the order of the grid."""

_MOST_VALUES = 100_000


def decimal(value: Number | str | Decimal) -> Decimal:
    """The decimal number that a person wrote; floats as they are printed."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation as error:
        raise UsageError(f"{value!r} is not a number.") from error
    if not number.is_finite() or abs(number.adjusted()) > 100:
        raise UsageError(f"{shortened(str(value))} is not a finite number of at most 100 places.")
    return number


def plain(value: Number | Decimal) -> str:
    """A value as people write it: ``4``, ``0.4``, ``1000``."""
    text = format(decimal(value), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def span(first: Decimal, last: Decimal, step: Decimal) -> list[Decimal]:
    """The values from ``first`` to ``last``, both included, ``step`` apart.

    Steps that do not end on the last value are refused: nobody would see that it is not tried.
    """
    what = f"from {plain(first)} to {plain(last)}"
    if step <= 0 or last < first:
        raise UsageError(f"a range goes up by a step above 0, not {what} by {plain(step)}.")
    if (last - first) / step >= _MOST_VALUES:
        raise UsageError(f"{what} by {plain(step)} are more than {_MOST_VALUES:,} values.")
    steps, rest = divmod(last - first, step)
    if rest:
        below = first + steps * step
        raise UsageError(
            f"steps of {plain(step)} from {plain(first)} do not end on {plain(last)}.",
            hint=f"End on {plain(below)} or {plain(below + step)}.",
        )
    return [first + number * step for number in range(int(steps) + 1)]


def from_recipe(given: Number | Iterable[Number] | Mapping[Any, Number]) -> list[Decimal]:
    """The values of a number, of a list, or of the keys ``from``, ``to`` and ``step``."""
    if isinstance(given, Mapping):
        if missing := [key for key in ("from", "to", "step") if key not in given]:
            raise UsageError(f"a range has the keys from, to and step; {missing[0]} is missing.")
        return span(decimal(given["from"]), decimal(given["to"]), decimal(given["step"]))
    return [decimal(value) for value in ([given] if isinstance(given, Number) else given)]


@dataclass(frozen=True)
class Hyperparameter:
    """What values a parameter can have at all: integers only, from ``low`` to ``high``."""

    whole: bool = False
    low: float = -inf
    high: float = inf


def hyperparameters_of(kind: type[BaseModel]) -> dict[str, Hyperparameter]:
    """The numeric fields of a recipe, which can be tuned, with the bounds that they state."""
    found = {}
    for name, field in kind.model_fields.items():
        if field.annotation in (int, float):
            low = next((float(one.ge) for one in field.metadata if hasattr(one, "ge")), -inf)
            high = next((float(one.le) for one in field.metadata if hasattr(one, "le")), inf)
            found[name] = Hyperparameter(field.annotation is int, low, high)
    return found


@dataclass(frozen=True)
class Parameter:
    name: str
    values: tuple[Number, ...]
    allowed: Hyperparameter

    def is_edge(self, value: Number) -> bool:
        """Whether a value is the first or last one tried, and one beyond it could be tried."""
        first, last = self.values[0], self.values[-1]
        low, high = first > self.allowed.low, last < self.allowed.high
        return first != last and ((value == first and low) or (value == last and high))


def parameter(
    name: str,
    given: Sequence[Number | Decimal],
    hyperparameters: Mapping[str, Hyperparameter],
) -> Parameter:
    """Check the values of a parameter and sort them."""
    if name not in hyperparameters:
        known = f" Parameters are {', '.join(hyperparameters)}." if hyperparameters else ""
        guess = nearest(name, hyperparameters) or "."
        raise UsageError(f"unknown parameter `{name}`{guess}{known}")
    allowed, values = hyperparameters[name], sorted(decimal(value) for value in given)
    if not values:
        raise UsageError(f"{name} has no values.")
    for value, after in pairwise(values):
        if value == after:
            raise UsageError(f"{name} has the value {plain(value)} twice.")
    for value in values:
        if allowed.whole and value != value.to_integral_value():
            raise UsageError(f"{name} takes integers, not {plain(value)}.")
        if not allowed.low <= value <= allowed.high:
            end = "up" if allowed.high == inf else f"to {allowed.high:g}"
            what = f"{name} takes values from {allowed.low:g} {end}, not {plain(value)}."
            raise UsageError(what)
    kind = int if allowed.whole else float
    return Parameter(name, tuple(kind(value) for value in values), allowed)


@dataclass(frozen=True)
class Grid:
    parameters: tuple[Parameter, ...]

    @classmethod
    def of(
        cls,
        values: Mapping[str, Sequence[Number | Decimal]],
        hyperparameters: Mapping[str, Hyperparameter],
    ) -> "Grid":
        if not values:
            raise UsageError("there is nothing to tune.", hint="Name a parameter and its values.")
        return cls(tuple(parameter(name, v, hyperparameters) for name, v in values.items()))

    def __len__(self) -> int:
        return prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(one.values) for one in self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.parameters)

    def places(self, number: int) -> tuple[int, ...]:
        """For each parameter, the place of its value in a setting."""
        return tuple(int(place) for place in np.unravel_index(number, self.shape))

    def setting(self, number: int) -> Setting:
        places = zip(self.parameters, self.places(number), strict=True)
        return {one.name: one.values[place] for one, place in places}
